/**
 * Commands in the client's terminals, where their user sees them.
 *
 * A terminal is released when its scope closes, which ends what runs in it; a command that is interrupted is killed first.
 * What the client does not confirm within the grace is reported, and is residue of the call: it may still run.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { PeerGone, RequestFailed } from "./AcpError.ts"
import * as AcpSession from "./AcpSession.ts"
import { type Failed, InvalidAnswer, NotSupported } from "./ClientFiles.ts"
import * as Limits from "./Limits.ts"

export interface Command {
  readonly command: string
  readonly args?: ReadonlyArray<string> | undefined
  readonly env?: { readonly [name: string]: string } | undefined
  /** Absolute. Default: the session's. */
  readonly cwd?: string | undefined
  /** Default: 1 MiB, more than a model reads. */
  readonly outputByteLimit?: number | undefined
}

export interface Exited {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
}

export interface Output {
  readonly output: string
  /** Its beginning was dropped for the limit. */
  readonly truncated: boolean
}

/** A terminal with a command in it. */
export interface Terminal {
  readonly terminalId: string
  /** Waits for the command. Interrupting the wait cancels the request, and leaves the command alone. */
  readonly exited: Effect.Effect<Exited, RequestFailed | PeerGone | InvalidAnswer>
  /** The output so far. */
  readonly output: Effect.Effect<Output, RequestFailed | PeerGone | InvalidAnswer>
  /** Ends the command, and leaves the terminal. Waits for the client's answer, as long as the grace lasts. */
  readonly kill: Effect.Effect<void>
}

/** The call that a command belongs to: it is told of what may outlive it. */
export type Call = Pick<ToolCall.Running, "declareResidue">

const Created = Schema.Struct({ terminalId: Schema.String })
const Status = Schema.Struct({
  exitCode: Schema.optional(Schema.NullOr(Schema.Finite)),
  signal: Schema.optional(Schema.NullOr(Schema.String))
})
const Shown = Schema.Struct({ output: Schema.String, truncated: Schema.Boolean })

/**
 * Starts a command in a terminal of the client, which is released when the scope closes.
 *
 * **Interruption**: cancels the request. A client that makes the terminal all the same has it taken away again.
 */
export const make = (
  { args = [], command, cwd, env = {}, outputByteLimit = 1024 * 1024 }: Command,
  call?: Call
): Effect.Effect<Terminal, Failed | InvalidAnswer, AcpSession.AcpSession | Scope.Scope> =>
  Effect.gen(function*() {
    const session = yield* AcpSession.AcpSession
    const { capabilities, client, sessionId } = session
    const grace = yield* Limits.Current
    if (capabilities.terminal !== true) return yield* new NotSupported({ method: "terminal/create" })

    /** Asks for what ends something, whoever is interrupted. What is not confirmed in time is told. */
    const end = (method: "terminal/kill" | "terminal/release", terminalId: string): Effect.Effect<void> =>
      Effect.uninterruptible(
        Effect.flatMap(client.start(method, { sessionId, terminalId }, { whenCancelled: "finish" }), ({ answer }) =>
          // Interrupting the wait leaves the request: it is only this wait that the grace bounds.
          Effect.timeoutOption(Effect.interruptible(answer), grace.grace))
      ).pipe(
        Effect.exit,
        Effect.flatMap((exit) =>
          Exit.isSuccess(exit) && Option.isSome(exit.value)
            ? Effect.void
            : Effect.andThen(
              Effect.sync(() =>
                call?.declareResidue({ kind: "remote", detail: `terminal ${terminalId}: ${method} was not confirmed` })
              ),
              Effect.logWarning("The client did not confirm the end of a terminal", { method, terminalId })
            )
        )
      )

    const create = (restore: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        const { answer, cancel } = yield* client.start("terminal/create", {
          sessionId,
          command,
          args: Array.from(args),
          env: Object.entries(env).map(([name, value]): Sdk.EnvVariable => ({ name, value })),
          cwd: cwd ?? session.cwd,
          outputByteLimit
        })
        const lost = Effect.sync(() =>
          call?.declareResidue({ kind: "remote", detail: "terminal/create was cancelled and not answered" })
        )
        const late = Effect.andThen(cancel, Effect.timeoutOption(Effect.interruptible(answer), grace.grace)).pipe(
          Effect.flatMap(Option.match({
            onNone: () => lost,
            onSome: (made) => Schema.is(Created)(made) ? end("terminal/release", made.terminalId) : Effect.void
          })),
          Effect.catchTags({ RequestFailed: () => Effect.void, PeerGone: () => lost })
        )
        const made = yield* Effect.onInterrupt(restore(answer), () => late)
        if (!Schema.is(Created)(made)) return yield* new InvalidAnswer({ method: "terminal/create" })
        return made.terminalId
      })
    // Nothing can come between the terminal and its release: only the wait for the answer is interruptible.
    const terminalId = yield* Effect.uninterruptibleMask((restore) =>
      Effect.acquireRelease(create(restore), (terminalId) => end("terminal/release", terminalId))
    )

    const checked = <A>(method: string, is: (value: unknown) => value is A) => (answer: unknown) =>
      is(answer) ? Effect.succeed(answer) : Effect.fail(new InvalidAnswer({ method }))
    return {
      terminalId,
      exited: client.request("terminal/wait_for_exit", { sessionId, terminalId }).pipe(
        Effect.flatMap(checked("terminal/wait_for_exit", Schema.is(Status))),
        Effect.map(({ exitCode, signal }) => ({ exitCode: exitCode ?? undefined, signal: signal ?? undefined }))
      ),
      output: Effect.flatMap(
        client.request("terminal/output", { sessionId, terminalId }),
        checked("terminal/output", Schema.is(Shown))
      ),
      kill: end("terminal/kill", terminalId)
    }
  })

/**
 * Runs a command to its end.
 *
 * **Interruption**: kills it, releases the terminal, and waits for both as long as the grace lasts.
 */
export const run = (
  command: Command,
  call?: Call
): Effect.Effect<Exited & Output, Failed | InvalidAnswer, AcpSession.AcpSession> =>
  Effect.scoped(Effect.gen(function*() {
    const terminal = yield* make(command, call)
    const exited = yield* Effect.onInterrupt(terminal.exited, () => terminal.kill)
    return { ...exited, ...yield* terminal.output }
  }))
