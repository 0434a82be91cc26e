/** A floor that cheats is no floor: what REF says it does, it does. */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { getEventListeners } from "node:events"
import { gate, listening } from "../src/floors/bodies.ts"
import * as Effects from "../src/floors/effects.ts"
import { execute } from "../src/floors/reference.ts"
import { parameters, trivialBody } from "../src/Host.ts"

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

afterEach(() => {
  vi.useRealTimers()
})

describe("REF", () => {
  it("gives one frozen result", async () => {
    const result = await execute(trivialBody, parameters, new AbortController().signal)
    assert.deepStrictEqual(result, { _tag: "Success", dispatched: true, value: "quiescence" })
    assert.isTrue(Object.isFrozen(result))
  })

  it("does not run the body under an aborted signal", async () => {
    const body = vi.fn(trivialBody)
    const result = await execute(body, parameters, AbortSignal.abort("gone"))
    assert.deepStrictEqual(result, {
      _tag: "Failure",
      dispatched: false,
      code: "ABORTED_BEFORE_DISPATCH",
      cause: "gone"
    })
    assert.strictEqual(body.mock.calls.length, 0)
  })

  it("waits for a body that ignores its signal, and refuses its late success", async () => {
    const held = gate()
    const controller = new AbortController()
    let settled = false
    const result = execute(held.body, parameters, controller.signal).finally(() => settled = true)
    await turn()
    controller.abort("enough")
    await turn()
    assert.isFalse(settled)
    held.open()
    assert.deepStrictEqual(await result, { _tag: "Failure", dispatched: true, code: "ABORTED", cause: "enough" })
  })

  it("aborts the body's signal with the caller's reason", async () => {
    const controller = new AbortController()
    const result = execute(listening, parameters, controller.signal)
    await turn()
    controller.abort("enough")
    assert.deepStrictEqual(await result, { _tag: "Failure", dispatched: true, code: "ABORTED", cause: "enough" })
  })

  it("holds one listener for a thousand calls and leaves none", async () => {
    const held = gate()
    const { signal } = new AbortController()
    const calls = Array.from({ length: 1000 }, () => execute(held.body, parameters, signal))
    assert.strictEqual(listeners(signal), 1)
    await turn()
    held.open()
    await Promise.all(calls)
    assert.strictEqual(listeners(signal), 0)
  })

  it("leaves no timer behind a body that ended in time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    await execute(trivialBody, parameters, new AbortController().signal)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("gives up at its deadline, once the body has ended", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const result = execute(listening, parameters, new AbortController().signal)
    await turn()
    vi.advanceTimersByTime(60_000)
    assert.deepInclude(await result, { _tag: "Failure", dispatched: true, code: "TOOL_TIMEOUT" })
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("behind Effect.callback, makes an interruption wait for the body", async () => {
    const held = gate()
    const { call } = await Effects.reference.open(held.body)
    const fiber = Effect.runFork(call(parameters))
    await turn()
    let interrupted = false
    const interruption = Effect.runPromise(Fiber.interrupt(fiber)).finally(() => interrupted = true)
    await turn()
    assert.isFalse(interrupted)
    held.open()
    await interruption
    assert.isTrue(interrupted)
  })
})
