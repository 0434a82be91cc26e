/**
 * One turn of the agent: it is sent an input, watched, stopped, and asked what became of its calls.
 */
import { Session, SessionLog, type Turn } from "@quiesce/agent"
import { ToolRegistry } from "@quiesce/core"
import { Cause, Clock, Deferred, Effect, Exit, Fiber, Stream } from "effect"
import * as Board from "./Board.ts"
import * as Killed from "./Killed.ts"
import { model } from "./script.ts"
import { patience } from "./tools.ts"
import * as Verdict from "./Verdict.ts"
import type { View } from "./View.ts"
import * as Witness from "./Witness.ts"

export interface Setting {
  readonly view: View
  readonly server: Witness.Server
  /** The folder the agent works in. */
  readonly root: string
  /** The folder of its log. */
  readonly directory: string
  readonly kill: boolean
}

/** What became of a call: when it was quiet, and what its witness says. */
export interface End {
  readonly row: Board.Row
  readonly quietMillis: number | undefined
  readonly verdict: Verdict.Verdict
}

export interface Ended {
  readonly ends: ReadonlyArray<End>
  readonly stoppedMillis: number | undefined
  readonly report: SessionLog.Report
  readonly faults: ReadonlyArray<string>
}

export const story = Effect.fnUntraced(function*({ directory, kill, root, server, view }: Setting) {
  const registry = yield* ToolRegistry.ToolRegistry
  const log = yield* SessionLog.SessionLog
  const faults = log.recovered.length > 0 ? yield* Killed.recount(directory, log.recovered, view.say) : []

  const session = yield* Session.make(Session.loop(model(server.url)))
  let board = Board.empty
  let stoppedMillis: number | undefined
  /** Somebody pressed stop before the script did: how each call ends depends on when that was. */
  let isEarly = false

  // What a person is shown: the events of the turn.
  const busy = yield* Deferred.make<void>()
  const show = Effect.fnUntraced(function*(event: Turn.Event) {
    board = Board.after(board, event, yield* Clock.currentTimeMillis)
    view.show(board)
    if (event._tag === "Settled") view.note(`${event.name}: ${Board.codeOf(event.result)}`)
    if (isBusy(board)) yield* Deferred.succeed(busy, undefined)
  })
  const showing = yield* session.turns.pipe(
    Stream.take(1),
    Stream.flatMap(({ events }) => events),
    Stream.runForEach(show),
    Effect.forkScoped({ startImmediately: true })
  )

  // Whether it is true: witnesses are asked at the moment at which a call is said to be quiet, and not at the end.
  const quiet = new Map<number, { readonly atMillis: number; readonly verdict: Fiber.Fiber<Verdict.Verdict> }>()
  const question = { server, root, isEarly: () => isEarly }
  const scope = yield* Effect.scope
  yield* registry.observe((call, result) =>
    Effect.gen(function*() {
      const row = board.find((row) => row.call === SessionLog.callOf(call))
      if (row === undefined) return
      const atMillis = yield* Clock.currentTimeMillis
      const verdict = yield* Effect.forkIn(Verdict.reach(row, result, question), scope, { startImmediately: true })
      quiet.set(row.call, { atMillis, verdict })
    })
  )

  const stop = Effect.gen(function*() {
    stoppedMillis = yield* Clock.currentTimeMillis
    view.note("you press stop")
    yield* session.cancel()
  })

  const explain = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const left = yield* registry.inFlight
    view.say(`Not quiet yet, ${((now - stoppedMillis!) / 1000).toFixed(1)} s after you pressed stop:`)
    for (const { name } of left) {
      const alive = board.filter((row) => row.name === name).flatMap(Verdict.processesOf).filter(Witness.isAlive)
      const who = alive.length > 0 ? `${alive.length} of its processes alive (${alive.join(", ")}); ` : ""
      view.say(`  ${name}: ${who}${patience[name] ?? "it is being released"}`)
    }
  })

  yield* Effect.forkScoped(
    Stream.runForEach(interrupts, () => {
      if (stoppedMillis !== undefined) return explain
      isEarly = true
      return stop
    }),
    { startImmediately: true }
  )

  // Whoever presses nothing sees it pressed, at the moment at which the most is under way.
  const script = Effect.gen(function*() {
    yield* Effect.all([Deferred.await(busy), server.asked])
    if (kill) {
      view.say("Now this process kills itself. Start it again, without --kill, to see what its log says.")
      view.close()
      Killed.now(directory, { processes: board.flatMap(Verdict.processesOf), root })
    }
    if (process.stdout.isTTY) yield* Effect.sleep("8 seconds")
    if (stoppedMillis === undefined) yield* stop
  })
  yield* Effect.forkScoped(script)

  const { ended } = yield* session.send("Do whatever it takes.")
  const { exit } = yield* ended
  // That it was interrupted is what stopping a turn means.
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
  yield* Fiber.join(showing)
  const ends = yield* Effect.forEach(board, (row) => {
    const known = quiet.get(row.call)
    // One that was never started is not known to the registry.
    const verdict = known ? Fiber.join(known.verdict) : Verdict.reach(row, row.settled!, question)
    return Effect.map(verdict, (verdict): End => ({ row, quietMillis: known?.atMillis, verdict }))
  })
  return { ends, stoppedMillis, report: yield* log.verify, faults } satisfies Ended
})

/** Each call is over, waits for an answer, or is in its body and has said so; and one is over its budget. */
const isBusy = (board: Board.Board): boolean =>
  board.some(({ name, settled }) => name === "fetch_quote" && settled !== undefined) &&
  board.every(({ message, name, settled, stage }) =>
    settled !== undefined || stage === "approval" || (stage === "body" && (message !== "" || name === "http_get"))
  )

/** Each Ctrl-C. While somebody listens it does not end the process. */
const interrupts = Stream.fromEventListener<void>({
  addEventListener: (_, listener) => process.on("SIGINT", listener as () => void),
  removeEventListener: (_, listener) => process.off("SIGINT", listener as () => void)
}, "SIGINT")
