import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as SignalHub from "../src/internal/signalHub.ts"
import { listeners } from "./support/bridge.ts"

/** Subscribes under a name, and writes down what happens. */
const subscribers = (signal: AbortSignal) => {
  const notified: Array<readonly [name: string, reason: unknown]> = []
  return {
    notified,
    names: () => notified.map(([name]) => name),
    add: (name: string, then: () => void = () => {}) =>
      SignalHub.subscribe(signal, (reason) => {
        notified.push([name, reason])
        then()
      })
  }
}

/** What reaches nobody but the process while `run` runs, and right after. */
const uncaught = Effect.fnUntraced(function*(run: () => void) {
  const caught: Array<unknown> = []
  yield* Effect.acquireUseRelease(
    Effect.sync(() => process.setUncaughtExceptionCaptureCallback((thrown) => caught.push(thrown))),
    () =>
      Effect.callback<void>((resume) => {
        run()
        setImmediate(() => resume(Effect.void))
      }),
    () => Effect.sync(() => process.setUncaughtExceptionCaptureCallback(null))
  )
  return caught
})

describe("the signal hub", () => {
  it(cites("has one native listener for any number of subscribers, and none after the last", "CALL-16"), () => {
    const { signal } = new AbortController()
    const hub = subscribers(signal)
    const added = ["a", "b", "c"].map((name) => hub.add(name))
    assert.strictEqual(listeners(signal), 1)
    for (const [i, subscription] of added.entries()) {
      assert.strictEqual(listeners(signal), 1, `before the ${i}. goes`)
      SignalHub.unsubscribe(subscription)
    }
    assert.strictEqual(listeners(signal), 0)
    hub.add("again")
    assert.strictEqual(listeners(signal), 1)
  })

  it(cites("touches the platform's list once, however many come", "CALL-16"), () => {
    const { signal } = new AbortController()
    let touches = 0
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: Array<any>) => {
      touches++
      return Reflect.apply(addEventListener, signal, args)
    }
    signal.removeEventListener = (...args: Array<any>) => {
      touches++
      return Reflect.apply(removeEventListener, signal, args)
    }
    const hub = subscribers(signal)
    const added = Array.from({ length: 10_000 }, (_, i) => hub.add(String(i)))
    added.toReversed().forEach(SignalHub.unsubscribe)
    assert.strictEqual(touches, 2)
  })

  it(cites("notifies each subscriber once, in the order in which they came, with the reason", "CALL-17"), () => {
    const controller = new AbortController()
    const hub = subscribers(controller.signal)
    for (const name of ["a", "b", "c"]) hub.add(name)
    controller.abort(0)
    controller.abort("again")
    assert.deepStrictEqual(hub.notified, [["a", 0], ["b", 0], ["c", 0]])
    assert.strictEqual(listeners(controller.signal), 0)
  })

  it(cites("does not notify whom an earlier subscriber of the same abort removed", "BRIDGE-07"), () => {
    const controller = new AbortController()
    const hub = subscribers(controller.signal)
    const before = hub.add("before")
    const own: SignalHub.Subscription = hub.add("remover", () => {
      for (const subscription of [before, own, next, later]) SignalHub.unsubscribe(subscription)
    })
    const next = hub.add("next")
    hub.add("between")
    const later = hub.add("later")
    controller.abort()
    assert.deepStrictEqual(hub.names(), ["before", "remover", "between"])
  })

  it(cites("removes a subscriber once, whoever else came and went since", "CALL-16"), () => {
    const controller = new AbortController()
    const hub = subscribers(controller.signal)
    const first = hub.add("first")
    SignalHub.unsubscribe(first)
    hub.add("second")
    SignalHub.unsubscribe(first)
    assert.strictEqual(listeners(controller.signal), 1)
    controller.abort()
    assert.deepStrictEqual(hub.names(), ["second"])
    SignalHub.unsubscribe(first)
  })

  it(cites("goes on from an abort inside an abort where it was", "BRIDGE-07"), () => {
    const [outer, inner] = [new AbortController(), new AbortController()]
    const order: Array<string> = []
    SignalHub.subscribe(outer.signal, () => {
      order.push("outer 1")
      inner.abort()
      // The outer signal is aborted, and nobody is told twice.
      outer.abort("again")
    })
    SignalHub.subscribe(outer.signal, () => order.push("outer 2"))
    SignalHub.subscribe(inner.signal, () => order.push("inner 1"))
    SignalHub.subscribe(inner.signal, () => order.push("inner 2"))
    outer.abort()
    assert.deepStrictEqual(order, ["outer 1", "inner 1", "inner 2", "outer 2"])
    assert.deepStrictEqual([listeners(outer.signal), listeners(inner.signal)], [0, 0])
  })

  it(cites("lets a new subscription to another signal be made in an abort", "BRIDGE-07"), () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const hub = subscribers(second.signal)
    SignalHub.subscribe(first.signal, () => void hub.add("made in the abort"))
    first.abort()
    assert.strictEqual(listeners(second.signal), 1)
    second.abort("why")
    assert.deepStrictEqual(hub.notified, [["made in the abort", "why"]])
  })

  it(cites("is not moved by an abort event on a signal that is not aborted", "CALL-16"), () => {
    const controller = new AbortController()
    const hub = subscribers(controller.signal)
    hub.add("a")
    controller.signal.dispatchEvent(new Event("abort"))
    assert.deepStrictEqual(hub.notified, [])
    assert.strictEqual(listeners(controller.signal), 1)
    controller.abort("real")
    assert.deepStrictEqual(hub.notified, [["a", "real"]])
  })

  it.effect(
    cites("notifies everybody, though one of them throws, and reports what it threw", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const hub = subscribers(controller.signal)
        const error = new Error("of a subscriber")
        hub.add("a")
        hub.add("b", () => {
          throw error
        })
        hub.add("c")
        const caught = yield* uncaught(() => controller.abort())
        assert.deepStrictEqual(hub.names(), ["a", "b", "c"])
        assert.deepStrictEqual(caught, [error])
        assert.strictEqual(listeners(controller.signal), 0)
      })
  )

  it(cites("listens to none of several signals when one cannot be listened to", "CALL-16", "BRIDGE-06"), () => {
    const [one, deaf] = [new AbortController().signal, new AbortController().signal]
    deaf.addEventListener = () => {
      throw new Error("deaf")
    }
    assert.throws(() => SignalHub.fuse([one, deaf]), "deaf")
    assert.strictEqual(listeners(one), 0)
  })

  it(
    cites("holds up nobody over a listener that cannot be removed, or a reason that cannot be read", "CALL-16"),
    () => {
      const controller = new AbortController()
      const { signal } = controller
      signal.removeEventListener = () => {
        throw new Error("sticky")
      }
      const before = subscribers(signal)
      SignalHub.unsubscribe(before.add("gone"))
      const after = subscribers(signal)
      after.add("told")
      Object.defineProperty(signal, "reason", {
        get: () => {
          throw new Error("secret")
        }
      })
      controller.abort()
      assert.deepStrictEqual(before.names(), [])
      assert.deepStrictEqual(after.notified.map(([name, reason]) => [name, String(reason)]), [[
        "told",
        "Error: secret"
      ]])
    }
  )

  it(cites("remembers nothing of a signal that cannot be listened to", "CALL-16"), () => {
    const controller = new AbortController()
    const { addEventListener } = controller.signal
    controller.signal.addEventListener = () => {
      throw new Error("not now")
    }
    const hub = subscribers(controller.signal)
    assert.throws(() => hub.add("refused"), "not now")
    controller.signal.addEventListener = addEventListener
    hub.add("later")
    controller.abort()
    assert.deepStrictEqual(hub.names(), ["later"])
  })

  /** `n` adds a subscriber where it is even, and removes the `n`th one otherwise. */
  it.effect.prop(
    cites("law: whoever came and did not go is notified, in order, and there is one listener or none", "CALL-16"),
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))],
    ([steps]) =>
      Effect.sync(() => {
        const controller = new AbortController()
        const hub = subscribers(controller.signal)
        const all: Array<{ readonly name: string; readonly subscription: SignalHub.Subscription; active: boolean }> = []
        for (const step of steps) {
          const chosen = all[step >> 1]
          if (step % 2 === 0 || chosen === undefined) {
            const name = String(all.length)
            all.push({ name, subscription: hub.add(name), active: true })
          } else {
            SignalHub.unsubscribe(chosen.subscription)
            chosen.active = false
          }
          assert.strictEqual(listeners(controller.signal), all.some(({ active }) => active) ? 1 : 0)
        }
        controller.abort()
        assert.deepStrictEqual(hub.names(), all.filter(({ active }) => active).map(({ name }) => name))
        assert.strictEqual(listeners(controller.signal), 0)
      })
  )
})
