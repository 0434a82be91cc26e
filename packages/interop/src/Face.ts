/**
 * What a host needs of a registry: a way to make a call, the schemas, and to know when all is quiet.
 *
 * A `Toolbox` is a face as it stands, and `of` makes one of a registry. Faces are combined before they are exported:
 * `inside` ties calls to the call in whose body the host runs, and a `Ledger` is a face that remembers.
 */
import type * as Toolbox from "@quiesce/core/Toolbox"
import type * as ToolCall from "@quiesce/core/ToolCall"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Effect from "effect/Effect"
import * as Running from "./internal/running.ts"
import { textOf } from "./internal/shown.ts"

export interface Face {
  /** Makes a call. It does not reject: outcomes are data. Aborting `signal` cancels it; the result comes at quiescence. */
  readonly execute: Toolbox.Toolbox["execute"]
  readonly schemas: Toolbox.Toolbox["schemas"]
  /** Resolves when nothing is in flight, also where the host has stopped waiting. */
  readonly whenIdle: () => Promise<void>
}

/**
 * A call that did not succeed, thrown to hosts that want an error. Its message is what the model is shown: what
 * policies withheld is not in it. `result` is the whole outcome, and `dispatched: false` says that the body never ran.
 */
export class CallFailed extends Error {
  override readonly name = "CallFailed"
  readonly code: ToolResult.Code
  readonly dispatched: boolean
  readonly result: ToolResult.Failure

  constructor(result: ToolResult.Failure) {
    super(textOf(result))
    this.code = result.error.code
    this.dispatched = result.dispatched
    this.result = result
  }

  /** The message alone: some hosts show a model their errors as text. */
  override toString(): string {
    return this.message
  }
}

/** The face of a registry. */
export const of = (registry: ToolRegistry.Shape): Face => ({
  execute: registry.executePromise,
  schemas: () => Effect.runSync(registry.schemas),
  whenIdle: () => Effect.runPromise(registry.whenIdle)
})

/**
 * A face whose calls are made inside of `call`: they end with it, whatever the host does with the signal it was given. Its
 * `whenIdle` waits for them and for nothing else, so that the body of `call` may wait for it. For a body that runs a host
 * of its own, such as an agent that is a tool.
 */
export const inside = (face: Face, call: ToolCall.Token): Face => {
  const running = Running.make()
  return {
    execute: (input) => {
      const result = face.execute({ ...input, parent: call })
      running.add(result)
      return result
    },
    schemas: face.schemas,
    whenIdle: running.ended
  }
}

type HostCall = ToolCall.Input & { readonly signal: AbortSignal | undefined }

/** The result of a call that a host makes. */
export const settle = (face: Face, { signal, ...input }: HostCall): Promise<ToolResult.ToolResult> =>
  // A host that gives no signal has said that nobody cancels this call; closing the registry still does.
  face.execute({ ...input, signal: signal ?? new AbortController().signal })

/** The success of a call that a host makes, or `CallFailed`. */
export const succeed = (face: Face, call: HostCall): Promise<ToolResult.Success> => {
  const success = successOf(face, call)
  // A host that has stopped waiting may have let go of it, and a late failure must not end the process.
  success.catch(() => {})
  return success
}

const successOf = async (face: Face, call: HostCall): Promise<ToolResult.Success> => {
  const result = await settle(face, call)
  if (result._tag === "Failure") throw new CallFailed(result)
  return result
}
