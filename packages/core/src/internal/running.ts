/**
 * What a body gets of its call. Most bodies look at little of it, so each method is made when it is first asked for; it
 * can be taken apart like an object of functions. After the run of the body is over the methods do nothing.
 */
import type { Json } from "../Json.ts"
import type * as ToolCall from "../ToolCall.ts"
import type { Residue, ToolCallFailed } from "../ToolResult.ts"
import type { Call } from "./call.ts"
import { snapshot } from "./json.ts"
import type { Work } from "./work.ts"

export class Running implements ToolCall.Running {
  readonly callId: string
  readonly rootCallId: string
  readonly name: string
  readonly arguments: Json
  readonly token: ToolCall.Token
  readonly metadata: { readonly [key: string]: Json }
  readonly #call: Call
  readonly #work: Work<unknown, ToolCallFailed>

  constructor(call: Call, work: Work<unknown, ToolCallFailed>) {
    const { arguments: args, callId, metadata, name, rootCallId, token } = call.pending
    this.callId = callId
    this.rootCallId = rootCallId
    this.name = name
    this.arguments = args
    this.token = token
    this.metadata = metadata
    this.#call = call
    this.#work = work
  }

  get signal(): AbortSignal {
    return this.#work.signal
  }

  get deferContext(): (context: Json) => void {
    return (context) => {
      if (this.#isRunning) this.#call.bodyContexts.push(snapshot(context))
    }
  }

  get concludeTurn(): () => void {
    return () => {
      if (this.#isRunning) this.#call.concludesTurn = true
    }
  }

  get declareResidue(): (residue: Residue) => void {
    return ({ detail, kind }) => {
      if (this.#isRunning) this.#call.residue.push(Object.freeze({ kind, detail }))
    }
  }

  get progress(): (progress: ToolCall.Progress) => void {
    return (progress) => {
      if (this.#isRunning) this.#call.registry.observers.progress(this.#call, progress)
    }
  }

  get #isRunning(): boolean {
    return this.#work.exit === undefined
  }
}
