/**
 * Ends the commands of this process when it dies without having done so.
 *
 * A command has a session of its own, so what befalls this process does not befall it: when this process is killed with
 * SIGKILL, or crashes, its commands run on. A guardian is a second process that is told which commands run. It hears of
 * them through a pipe, and the pipe ends when this process does, however that comes about. Then it ends what is left, by
 * the same rules.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as ChildProcess from "node:child_process"
import { fileURLToPath } from "node:url"
import { inheritedFrom } from "./internal/environment.ts"
import * as Watch from "./internal/guardian/watch.ts"
import * as Programs from "./internal/programs.ts"

/**
 * Has the commands that run under it watched. Closing its scope lets the guardian go, and waits for it.
 *
 * **Limits**: one more process of Node. If it cannot be started, or is killed, nobody watches, as without it. It looks only
 * once this process is gone, so it does not find a descendant that by then has left its session, lost its parent and
 * cleared its environment.
 */
export const layer: Layer.Layer<never> = Layer.effect(
  Watch.Watch,
  Effect.suspend(() => Effect.map(guardian, watchBy))
)

interface Guardian extends ChildProcess.ChildProcess {
  readonly stdin: NonNullable<ChildProcess.ChildProcess["stdin"]>
}

/**
 * A guardian that is let go ends at once, or, where commands still run, within their grace and the wait behind SIGKILL
 * (seven seconds). One that does not is stopped or stuck, and is not worth waiting for.
 */
const patience = Duration.seconds(10)

const exited = (child: ChildProcess.ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    const exit = () => resume(Effect.void)
    child.on("exit", exit)
    return Effect.sync(() => child.off("exit", exit))
  })

const guardian: Effect.Effect<Guardian, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const child = ChildProcess.spawn(process.execPath, [fileURLToPath(Programs.guardian)], {
      // A session of its own: what ends this process from outside does not end it.
      detached: true,
      env: { ...inheritedFrom(process.env, []) },
      stdio: ["pipe", "ignore", "ignore"]
    }) as Guardian
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    // It must not keep alive whom it waits for the end of. Its pipe has the same say, which the types do not know.
    child.unref()
    if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref()
    return child
  }),
  Effect.fnUntraced(function*(child) {
    child.ref()
    child.stdin.end()
    const ended = yield* Effect.timeoutOption(Effect.interruptible(exited(child)), patience)
    if (Option.isSome(ended)) return
    child.kill("SIGKILL")
    yield* exited(child)
  })
)

const watchBy = ({ stdin }: Guardian): Watch.Watch => ({
  announce: (mark) => void stdin.write(Watch.encode({ _tag: "Announce", mark })),
  begin: ({ leader, mark }) => void stdin.write(Watch.encode({ _tag: "Begin", mark, leader })),
  end: (mark) => void stdin.write(Watch.encode({ _tag: "End", mark }))
})
