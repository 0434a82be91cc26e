/** The bridge and the deadlines, with promises, timers, aborts and interruptions in every order. */
import { Abortable, CancelReason, Deadline } from "@quiesce/core"
import { Edge } from "@quiesce/testing"
import { Cause, Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import type { Race, Subject } from "./Race.ts"

class Broken extends Error {
  override readonly name = "Broken"
}

type Ending = "succeeds" | "fails" | "aborts"

/** What one body did, in the order in which it did. */
interface Body {
  entered: number
  settled: "not" | "succeeded" | "failed" | "aborted"
  /** How its signal stood when it settled. */
  asked: boolean
  signal: AbortSignal | undefined
}

const newBody = (): Body => ({ entered: 0, settled: "not", asked: false, signal: undefined })

/** A promise function that settles when the outside world says so, and hears its abort only where it `aborts`. */
const promiseBody = (edge: Edge.Shape, body: Body, ending: Ending) => async (signal: AbortSignal): Promise<string> => {
  body.entered++
  body.signal = signal
  const settle = (how: Body["settled"]) => {
    if (body.settled !== "not") return
    body.settled = how
    body.asked = signal.aborted
  }
  return new Promise((resolve, reject) => {
    if (ending === "aborts") {
      signal.addEventListener("abort", () => {
        settle("aborted")
        reject(signal.reason)
      })
    }
    void edge.promise("settle", () => {
      if (ending === "fails") {
        settle("failed")
        reject(new Broken())
      } else {
        settle("succeeded")
        resolve("value")
      }
    })
  })
}

const thrownIn = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ? [] : exit.cause.reasons.flatMap((reason) => {
    if (reason._tag === "Interrupt") return []
    const thrown = reason._tag === "Fail" ? reason.error : reason.defect
    return [Cause.isUnknownError(thrown) ? thrown.cause : thrown]
  })

const must = (holds: boolean, statement: string): void => {
  if (!holds) throw new Error(statement)
}

/** What holds of the exit of whoever ran `body`, however it was stopped. */
const judge = (body: Body, exit: Exit.Exit<unknown, unknown>): string => {
  const thrown = thrownIn(exit)
  must(body.entered <= 1, "started twice")
  must(body.entered === 0 || body.settled !== "not", "over, and its promise is pending")
  if (Exit.isSuccess(exit)) {
    must(exit.value === "value", "another value")
    must(body.settled === "succeeded" && !body.asked, "a success that came late, or from nowhere")
    return "Success"
  }
  must(thrown.length <= 1, "more than one failure")
  const [first] = thrown
  if (first instanceof Deadline.DeadlineExceeded) {
    must(
      body.signal?.aborted !== true || body.signal.reason instanceof Deadline.DeadlineExceeded,
      "it was told otherwise"
    )
    must((body.settled === "failed") === (first.cause !== undefined), "the late failure is not the cause")
    return first.code
  }
  must((body.settled === "failed") === (first instanceof Broken), "a failure was lost, or made up")
  return `${Exit.hasInterrupts(exit) ? "Interrupt" : ""}${first === undefined ? "" : "+Broken"}`
}

/** Interrupts the fiber that runs the bridge at any moment. */
const interrupted = (ending: Ending, region: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const body = newBody()
    const fiber = yield* Effect.forkChild(region(Abortable.promise(promiseBody(edge, body, ending))))
    yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
    return judge(body, yield* Fiber.await(fiber))
  })

/** Two different fibers interrupt it, and a third waits for it. */
const interruptedTwice = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const body = newBody()
  const fiber = yield* Effect.forkChild(Abortable.promise(promiseBody(edge, body, "aborts")))
  yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
  const other = yield* Effect.forkChild(Fiber.interrupt(fiber))
  const exit = yield* Fiber.await(fiber)
  yield* Fiber.join(other)
  return judge(body, exit)
})

/** A promise function that throws in the very operation that starts it. */
const throwsAtOnce = (interrupts: boolean) =>
  Effect.gen(function*() {
    const body = newBody()
    const work = Effect.withFiber((fiber) =>
      Abortable.promise((signal): Promise<string> => {
        body.entered++
        body.signal = signal
        body.settled = "failed"
        if (interrupts) fiber.interruptUnsafe()
        throw new Broken()
      })
    )
    const fiber = yield* Effect.forkChild(work)
    yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
    return judge(body, yield* Fiber.await(fiber))
  })

/** Aborts the signal that an effect is bound to, and interrupts whoever bound it. */
const bound = (ending: Ending, interrupts: boolean) =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const body = newBody()
    const controller = edge.controller("ABORT", "why")
    let finalized = 0
    const work = Effect.ensuring(
      Effect.andThen(Effect.void, Abortable.promise(promiseBody(edge, body, ending))),
      Effect.sync(() => finalized++)
    )
    const fiber = yield* Effect.forkChild(Abortable.interruptOn(work, controller.signal))
    if (interrupts) yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
    const exit = yield* Fiber.await(fiber)
    must(controller.listeners() === 0, "a listener is left")
    must(finalized <= 1 && finalized >= body.entered, "a finalizer was skipped, or ran twice")
    if (body.signal?.aborted === true && body.signal.reason === "why" && Exit.isFailure(exit)) {
      const reason = CancelReason.fromCause(exit.cause)
      must(interrupts || (reason?._tag === "Caller" && reason.cause === "why"), "the reason is not the caller's")
    }
    return judge(body, exit)
  })

/** An abort is all that ends an effect: it is heard, whenever it comes. */
const endless = Effect.gen(function*() {
  const controller = yield* Edge.controller("ABORT", "why")
  let started = false
  const work = Effect.suspend(() => {
    started = true
    return Effect.never
  })
  const exit = yield* Effect.exit(Abortable.interruptOn(work, controller.signal))
  must(Exit.hasInterrupts(exit), "it was not interrupted")
  must(controller.listeners() === 0, "a listener is left")
  return started
})

/** `runPromise` under an abort at any moment, for a caller that looks as soon as it settles. */
const runPromise = (ending: Ending) =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const context = yield* Effect.context<never>()
    const body = newBody()
    const controller = edge.controller("ABORT", "why")
    return yield* Effect.callback<string>((resume) => {
      const end = (exit: Exit.Exit<unknown, unknown>) => {
        must(controller.listeners() === 0, "a listener is left")
        if (Exit.isFailure(exit) && thrownIn(exit)[0] === "why") {
          must(controller.signal.aborted, "rejected with the reason of an abort that did not happen")
          must(body.settled !== "failed", "the reason replaced a failure")
          return resume(Effect.succeed("aborted"))
        }
        resume(Effect.sync(() => judge(body, exit)))
      }
      Abortable.runPromiseWith(context)(Abortable.promise(promiseBody(edge, body, ending)), controller).then(
        (value) => end(Exit.succeed(value)),
        (thrown) => end(Exit.fail(thrown))
      )
    })
  })

/** The body aborts the signal that it is bound to, before it first waits. */
const abortsItself = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const body = newBody()
  const controller = new AbortController()
  const run = promiseBody(edge, body, "succeeds")
  let finalized = 0
  const work = Effect.ensuring(
    Abortable.promise((signal) => {
      controller.abort("from inside")
      return run(signal)
    }),
    Effect.sync(() => finalized++)
  )
  const fiber = yield* Effect.forkChild(Abortable.interruptOn(work, controller.signal))
  yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
  const exit = yield* Fiber.await(fiber)
  must(finalized === 1 || body.entered === 0, "a finalizer was skipped")
  must(Exit.hasInterrupts(exit), "it was not stopped")
  return judge(body, exit)
})

/** As one effect is aborted, its finalizer aborts the signal of another. */
const abortInAbort = Effect.gen(function*() {
  const outer = yield* Edge.controller("ABORT", "outer")
  const inner = new AbortController()
  let finalized = 0
  const started = { count: 0 }
  const work = (ending: Effect.Effect<void>) =>
    Effect.ensuring(
      Effect.suspend(() => {
        started.count++
        return Effect.never
      }),
      Effect.andThen(ending, Effect.sync(() => finalized++))
    )
  const fibers = yield* Effect.forEach([
    Abortable.interruptOn(work(Effect.sync(() => inner.abort("inner"))), outer.signal),
    Abortable.interruptOn(work(Effect.void), inner.signal)
  ], (effect) => Effect.forkChild(effect))
  // An effect that never started aborted nothing.
  yield* Edge.action("ABORT INNER", () => inner.abort("late"))
  const exits = yield* Effect.forEach(fibers, Fiber.await)
  must(exits.every((exit) => Exit.hasInterrupts(exit)), "one was not interrupted")
  must(finalized >= started.count && finalized <= fibers.length, "a finalizer was skipped, or ran twice")
  return String(started.count)
})

/** Two share one signal: one ends or is interrupted, the other is aborted. */
const shared = Effect.gen(function*() {
  const controller = yield* Edge.controller("ABORT", "why")
  const gate = yield* Deferred.make<void>()
  const on = <A>(effect: Effect.Effect<A>) => Effect.forkChild(Abortable.interruptOn(effect, controller.signal))
  const ends = yield* on(Deferred.await(gate))
  const aborted = yield* on(Effect.never)
  yield* Effect.forkChild(Deferred.succeed(gate, undefined))
  yield* Edge.action("INTERRUPT", () => ends.interruptUnsafe())
  yield* Edge.always("one listener at most", () => controller.listeners() <= 1)
  yield* Effect.forEach([ends, aborted], Fiber.await)
  must(controller.listeners() === 0, "a listener is left")
})

/** A deadline, an interruption and a promise that settles, in every order. */
const deadline = (ending: Ending) =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const body = newBody()
    const work = Deadline.within(Abortable.promise(promiseBody(edge, body, ending)), { timeout: 100, code: "SLOW" })
    const fiber = yield* Effect.forkChild(work)
    yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
    const exit = yield* Fiber.await(fiber)
    const said = judge(body, exit)
    // Whatever the body was told first decides, and it is told nothing else.
    if (body.signal?.aborted === true) {
      must(
        (body.signal.reason instanceof Deadline.DeadlineExceeded) === (said === "SLOW"),
        `told ${body.signal.reason}, and it ended as ${said}`
      )
    }
    return said
  })

/** A deadline inside another, with one code: each recovers from its own alone. */
const nested = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const body = newBody()
  const inner = Deadline.within(Abortable.promise(promiseBody(edge, body, "aborts")), { timeout: 100, code: "SAME" })
  const outer = Deadline.within(
    Effect.catchTag(inner, "DeadlineExceeded", () => Effect.succeed("value")),
    { timeout: 100, code: "SAME" }
  )
  const exit = yield* Effect.exit(outer)
  must(body.entered === 0 || body.settled !== "not", "over, and its promise is pending")
  if (Exit.isSuccess(exit)) return body.settled
  must(thrownIn(exit)[0] instanceof Deadline.DeadlineExceeded, "something else")
  return "outer"
})

/** Work that is cancelled bounds its own clean-up with a deadline. */
const cleanUp = Effect.gen(function*() {
  const controller = yield* Edge.controller("ABORT", "why")
  const ends: Array<string> = []
  const work = Effect.ensuring(
    Edge.wait("settle"),
    Deadline.within(Edge.wait("clean"), { timeout: 100, code: "CLEAN-UP" }).pipe(
      Effect.exit,
      Effect.map((exit) => ends.push(judgeCleanUp(exit)))
    )
  )
  const fiber = yield* Effect.forkChild(Abortable.interruptOn(work, controller.signal))
  const exit = yield* Fiber.await(fiber)
  must(controller.listeners() === 0, "a listener is left")
  must(ends.length <= 1, "cleaned up twice")
  return `${exit._tag} ${ends.join()}`
})

const judgeCleanUp = (exit: Exit.Exit<unknown, unknown>): string => {
  must(Exit.isSuccess(exit) || thrownIn(exit)[0] instanceof Deadline.DeadlineExceeded, "the clean-up was interrupted")
  return exit._tag
}

/** Two sources abort a fused signal, and its scope closes. */
const fused = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const order: Array<string> = []
  const [a, b] = yield* Effect.sync(() =>
    ["a", "b"].map((reason) => {
      const controller = edge.controller(reason.toUpperCase(), reason)
      controller.signal.addEventListener("abort", () => order.push(reason))
      return controller
    }) as [Edge.Controller, Edge.Controller]
  )
  const scope = yield* Scope.make()
  const closing = yield* Effect.forkChild(Effect.gen(function*() {
    const signal = yield* Scope.provide(scope)(Abortable.fuse(a.signal, b.signal))
    const seen = { before: order.length }
    yield* Effect.yieldNow
    const { length } = order
    must(signal.aborted === length > 0, "not aborted with the first")
    if (seen.before === 0 && length > 0) must(signal.reason === order[0], "not with the reason of the first in time")
    yield* Scope.close(scope, Exit.void)
    must(a.listeners() === 1 && b.listeners() === 1, "a listener is left")
    return signal.aborted
  }))
  return yield* Fiber.join(closing)
})

/** A stream under an idle deadline: it lives, falls silent, is pulsed, ends, or its consumer has had enough. */
const idle = (consumer: "interrupts" | "pulses") =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const pulls: Array<Body> = []
    let guard: Deadline.Idle | undefined
    const stream = Deadline.idle((idle) => {
      guard = idle
      return Stream.fromEffectRepeat(Abortable.promise(() => {
        const body = newBody()
        must(pulls.every(({ settled }) => settled !== "not"), "two pulls at a time")
        pulls.push(body)
        return promiseBody(edge, body, "aborts")(idle.signal)
      }))
    }, { timeout: 100, code: "SILENT" })
    const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(stream, 2)))
    if (consumer === "interrupts") yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
    else yield* Edge.action("PULSE", () => guard?.pulse())
    const exit = yield* Fiber.await(fiber)
    must(pulls.every(({ settled }) => settled !== "not"), "over, and a pull is pending")
    must(guard === undefined || guard.signal.aborted, "over, and nobody was told")
    if (Exit.isSuccess(exit)) {
      must(pulls.length === 2 && pulls.every(({ settled }) => settled === "succeeded"), "items from nowhere")
      return "ended"
    }
    const [first] = thrownIn(exit)
    if (first === undefined) return "Interrupt"
    must(first === guard?.signal.reason, "told one thing, and failed with another")
    return "SILENT"
  })

const here = <A, E>(self: Effect.Effect<A, E>) => self

const race = (
  name: string,
  program: Race["program"],
  bounds: Race["preemptions"] & { readonly timers?: number },
  ...clauses: Race["clauses"]
): Race => ({
  name,
  clauses,
  program,
  preemptions: bounds,
  ...(bounds.timers === undefined ? {} : { timers: bounds.timers })
})

const endings: ReadonlyArray<Ending> = ["succeeds", "fails", "aborts"]

/** Races that have few interleavings with two preemptions. */
const quick = { ci: 2 } as const
const slow = { ci: 1 } as const

export const coreBridge: Subject = {
  subject: "the bridge and the deadlines",
  races: [
    ...endings.map((ending) =>
      race(
        `a promise that ${ending} while its fiber is interrupted is awaited, and what it rejects with is kept`,
        interrupted(ending, here),
        quick,
        "BRIDGE-01",
        "BRIDGE-02"
      )
    ),
    race(
      "a promise in an uninterruptible region is awaited too",
      interrupted("fails", Effect.uninterruptible),
      quick,
      "BRIDGE-02"
    ),
    race("two interruptions are one", interruptedTwice, slow, "BRIDGE-02"),
    race("a promise function that throws keeps its failure", throwsAtOnce(false), quick, "BRIDGE-01", "BRIDGE-02"),
    race("so does one that interrupts its own fiber", throwsAtOnce(true), quick, "BRIDGE-01", "BRIDGE-02"),
    ...endings.map((ending) =>
      race(
        `an effect that ${ending} while its signal aborts ends once, and leaves no listener`,
        bound(ending, false),
        quick,
        "BRIDGE-03",
        "BRIDGE-02"
      )
    ),
    race("an abort between looking and listening is heard", endless, quick, "BRIDGE-03", "BRIDGE-02"),
    race(
      "an abort and an interruption together are one",
      bound("aborts", true),
      slow,
      "BRIDGE-03",
      "BRIDGE-02"
    ),
    ...endings.map((ending) =>
      race(`runPromise of what ${ending} settles when it is quiet`, runPromise(ending), quick, "BRIDGE-04")
    ),
    race("a body that aborts its own signal is awaited", abortsItself, quick, "BRIDGE-07"),
    race("an abort inside an abort skips no finalizer", abortInAbort, slow, "BRIDGE-07"),
    race("those who share a signal share one listener", shared, { ci: 0 }, "BRIDGE-03", "CALL-16"),
    ...endings.map((ending) =>
      race(
        `a deadline over what ${ending}: the first cause decides`,
        deadline(ending),
        slow,
        "TIME-01",
        "TIME-02",
        "TIME-03"
      )
    ),
    race("nested deadlines are told apart", nested, { ...quick, timers: 2 }, "TIME-02"),
    race("clean-up of what was aborted can be bounded", cleanUp, { ...slow, timers: 2 }, "TIME-01"),
    race("a fused signal aborts with the first in time", fused, slow, "BRIDGE-06"),
    race("an idle deadline and an interruption: the first cause decides", idle("interrupts"), {
      ci: 1,
      timers: 2
    }, "TIME-07"),
    race(
      "an idle deadline and a pulse: it fires or the stream lives",
      idle("pulses"),
      { ...slow, timers: 3 },
      "TIME-07"
    )
  ]
}
