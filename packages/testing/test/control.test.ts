import { assert, describe, it } from "@effect/vitest"
import { Edge, Explore, Report } from "@quiesce/testing"
import { Effect, Fiber, Random } from "effect"
import { readFile } from "node:fs"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Escapes from "./fixtures/escapes.ts"

const outcomesOf = <A, E>(program: Explore.Program<A, E>, options?: Explore.Options) =>
  Effect.map(Explore.check(program, options), (report) => report.outcomes.map(({ outcome }) => outcome).sort())

describe("Edge: what the kit controls", () => {
  it.effect(
    cites("a native promise settles at every moment, and its reactions run before the next decision", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          const order: Array<string> = []
          const answer = yield* Edge.promise("settle", () => "settled")
          // A chain of reactions is not taken apart: no step comes between its links.
          void answer.then(() => order.push("a")).then(() => order.push("b")).then(() => order.push("c"))
          yield* Edge.action("tick", () => order.push("|"))
          yield* Edge.atQuiescence("the chain ran", () => order.length === 4)
          return yield* Effect.callback<string>((resume) => {
            void answer.then(async () => {
              await Promise.resolve()
              await Promise.resolve()
              resume(Effect.sync(() => order.join("")))
            })
          })
        })
        assert.deepStrictEqual(yield* outcomesOf(program, { preemptions: 0 }), ["abc", "|abc"])
      })
  )

  it.effect(
    cites("two outside steps share a tick within the bound on preemptions", "KIT-01", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          const order: Array<string> = []
          const answer = yield* Edge.promise("settle", () => order.push("settled"))
          const caller = yield* Edge.controller("ABORT")
          caller.signal.addEventListener("abort", () => order.push("aborted"))
          void answer.then(() => order.push("seen"))
          yield* Edge.wait("look")
          yield* Edge.wait("look again")
          return order.join(" ")
        })
        const apart = yield* outcomesOf(program, { preemptions: 0 })
        assert.notInclude(apart, "settled aborted seen")
        const report = yield* Explore.check(program, { preemptions: 1 })
        const together = report.outcomes.find(({ outcome }) => outcome === "settled aborted seen")
        assert.deepStrictEqual(together?.witness.words, ["f0", "settle + ABORT", "look", "look again"])
      })
  )

  it.effect(
    cites("a rejection, a synchronous throw and every value reach the program as they are", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const reason = { code: 7 }
        const program = Effect.gen(function*() {
          const bad = yield* Edge.promise("reject", () => {
            throw reason
          })
          const caller = yield* Edge.controller("ABORT", 0)
          const seen = yield* Effect.callback<unknown>((resume) => {
            bad.then(() => {}, (error: unknown) => resume(Effect.succeed(error)))
          })
          yield* Effect.callback<void>((resume) => {
            if (caller.signal.aborted) return resume(Effect.void)
            caller.signal.addEventListener("abort", () => resume(Effect.void), { once: true })
          })
          return seen === reason && caller.signal.reason === 0 && caller.listeners() === 0
        })
        assert.deepStrictEqual(yield* outcomesOf(program), ["true"])
      })
  )

  it.effect(cites("what was taken back never happens", "KIT-03"), () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        let struck = false
        const action = yield* Edge.action("strike", () => {
          struck = true
        })
        yield* Edge.wait("go")
        action.withdraw()
        const then = struck
        yield* Edge.wait("go on")
        return then === struck
      })
      assert.deepStrictEqual(yield* outcomesOf(program), ["true"])
    }))

  it.effect(
    cites("deadlines, sleeps and the clock take part without being mentioned", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          const answer = yield* Effect.timeoutOption(Edge.wait("answer"), "5 seconds")
          return answer._tag
        })
        assert.deepStrictEqual(yield* outcomesOf(program, { preemptions: 0 }), ["None", "Some"])
      })
  )

  it.effect(cites("chance is the same in every run", "KIT-02", "KIT-03"), () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Edge.wait("go"))
        const drawn = [yield* Random.next, yield* Random.nextInt]
        yield* Fiber.join(fiber)
        return drawn
      })
      assert.lengthOf(yield* outcomesOf(program), 1)
    }))

  it.effect(
    cites("services of the caller reach the program; scheduler, clock and edge are the kit's", "KIT-07"),
    () =>
      Effect.gen(function*() {
        const report = yield* Explore.check(Effect.map(Edge.FiberName, (name) => name)).pipe(
          Effect.provideService(Edge.FiberName, "the caller's")
        )
        assert.deepStrictEqual(report.outcomes.map(({ outcome }) => outcome), ["the caller's"])
      })
  )
})

describe("Explore: what escapes", () => {
  /** The escapes of a program, by what they are. */
  const escapesOf = <A, E>(program: Explore.Program<A, E>) =>
    Effect.map(Explore.run(program, { runs: 3 }), (report) => {
      assert.strictEqual(report.verdict, "unsound")
      assert.match(report.escapes[0]!.where, /^packages\/testing\/test\/fixtures\/escapes\.ts:\d+:\d+$/)
      assert.include(Report.format(report), "UNSOUND")
      return report.escapes.map(({ what }) => what)
    })

  for (
    const [what, make] of [
      ["setTimeout", Escapes.timer],
      ["setInterval", Escapes.interval],
      ["setImmediate", Escapes.immediate],
      ["AbortSignal.timeout", Escapes.abortTimeout],
      ["setTimeout", Escapes.promisedTimer],
      ["readFile", Escapes.io],
      ["FSREQCALLBACK", Escapes.stream],
      ["MESSAGEPORT", Escapes.message],
      ["asyncBufferWrapper", Escapes.compression],
      ["randomBytes", Escapes.chance],
      ["SubtleCrypto.digest", Escapes.digest],
      ["Atomics.waitAsync", Escapes.memory],
      ["WebAssembly.compile", Escapes.compilation]
    ] as const
  ) {
    it.live(
      cites(`${what} (${make.name}) is named with the line that made it`, "KIT-03"),
      () =>
        Effect.gen(function*() {
          assert.strictEqual((yield* escapesOf(Effect.sync(make)))[0], what)
        })
    )
  }

  it.live(cites("what is over when its call returns has not escaped", "KIT-03"), () =>
    Effect.gen(function*() {
      const report = yield* Explore.run(Effect.sync(Escapes.atOnce))
      assert.deepStrictEqual(report.escapes, [])
      assert.strictEqual(report.verdict, "passed")
    }))

  it.live(cites("what follows from an escape has no name of its own", "KIT-03"), () =>
    Effect.gen(function*() {
      // Opening a file, asking for its size, reading it, closing it: four requests, the later ones made by the earlier.
      const program = Effect.callback<void>((resume) => {
        readFile(new URL(import.meta.url), () => resume(Effect.void))
      })
      const { escapes } = yield* Explore.run(program)
      assert.deepStrictEqual(escapes.map(({ what }) => what), ["readFile"])
      // A file may take longer than the exploration waits for it; an immediate never does.
      const turns = Effect.andThen(Effect.sync(Escapes.immediates), Effect.never)
      assert.deepStrictEqual(yield* escapesOf(turns), ["setImmediate"])
    }))

  it.live(cites("the traps are gone when the exploration is", "KIT-03"), () =>
    Effect.gen(function*() {
      const { waitAsync } = Atomics
      const { compile } = WebAssembly
      yield* Explore.run(Effect.yieldNow)
      assert.strictEqual(Atomics.waitAsync, waitAsync)
      assert.strictEqual(WebAssembly.compile, compile)
    }))

  it.live(cites("an escape from a promise reaction is seen too", "KIT-03"), () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const answer = yield* Edge.promise("settle", () => {})
        void answer.then(Escapes.immediate)
      })
      assert.deepStrictEqual(yield* escapesOf(program), ["setImmediate"])
    }))

  it.live(cites("what others in the process do is not the program's", "KIT-03"), () =>
    Effect.gen(function*() {
      const silence = Escapes.noise()
      const program = Effect.gen(function*() {
        const answers = yield* Effect.forEach([1, 2, 3], (i) => Edge.promise(`settle ${i}`, () => i))
        yield* Effect.callback<void>((resume) => void Promise.all(answers).then(() => resume(Effect.void)))
      })
      const report = yield* Explore.run(program)
      silence()
      assert.deepStrictEqual(report.escapes, [])
      assert.strictEqual(report.verdict, "passed")
    }))

  it.effect(
    cites("queueMicrotask and nextTick run before the next decision, as promise reactions do", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          const order: Array<string> = []
          yield* Edge.action("tick", () => order.push("|"))
          yield* Edge.action("strike", () => {
            queueMicrotask(() => order.push("a"))
            process.nextTick(() => order.push("b"))
          })
          yield* Edge.atQuiescence("they ran together", () => /ab|ba/.test(order.join("")))
        })
        const report = yield* Explore.run(program, { preemptions: 0 })
        assert.strictEqual(report.verdict, "passed")
      })
  )

  it.effect(
    cites("a program that does something else under the same decisions is unsound", "KIT-03"),
    () =>
      Effect.gen(function*() {
        let runs = 0
        const program = Effect.suspend(() =>
          Effect.all(Array.from({ length: 2 + runs++ % 2 }, () => Effect.yieldNow), { concurrency: "unbounded" })
        )
        const report = yield* Explore.run(program, { preemptions: 0 })
        assert.strictEqual(report.verdict, "unsound")
        assert.include(report.divergence, "decision 0: next of 2 the first time, next of 3 the next")
      })
  )

  it.effect(
    cites("an unhandled rejection fails the interleaving that left it", "KIT-02", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const listeners = process.rawListeners("unhandledRejection")
        const program = Effect.gen(function*() {
          const answer = yield* Edge.promise("settle", () => {
            throw new Error("nobody listens")
          })
          const derived = answer.then(() => {})
          yield* Edge.wait("attend")
          derived.catch(() => {})
        })
        const report = yield* Explore.run(program, { preemptions: 0, failures: "all" })
        assert.deepStrictEqual(report.failures.map(({ message, minimal }) => [message, minimal.words]), [
          ["left unhandled: Error: nobody listens", ["f0", "settle", "attend"]]
        ])
        assert.strictEqual(report.failing, 1)
        assert.strictEqual(report.explored, 2)
        assert.deepStrictEqual(process.rawListeners("unhandledRejection"), listeners)
      })
  )

  it.effect(
    cites("a listener that throws fails the interleaving in which it ran", "KIT-02", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          const caller = yield* Edge.controller("ABORT")
          caller.signal.addEventListener("abort", () => {
            throw new Error("listener")
          })
        })
        const report = yield* Explore.run(program)
        assert.deepStrictEqual(report.failures.map(({ message }) => message), ["left unhandled: Error: listener"])
      })
  )

  it.effect(
    cites("explorations take turns, and an explored program cannot explore", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const one = Explore.run(Edge.choose("value", [1, 2]))
        const reports = yield* Effect.all([one, one, one], { concurrency: "unbounded" })
        assert.deepStrictEqual(reports.map(({ explored }) => explored), [2, 2, 2])
        const nested = yield* Explore.run(one)
        assert.include(nested.failures[0]!.message, "an explored program cannot explore")
      })
  )
})
