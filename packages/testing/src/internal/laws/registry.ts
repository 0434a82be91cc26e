/** Laws of registries. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Edge from "../../Edge.ts"
import { property, type Subject } from "../../Script.ts"
import { broken, type Law, LawBroken, make } from "../law.ts"
import { call, type Manner, open, type Seen, settled } from "./scene.ts"

/** A law about what is seen of one call, whatever its body is like. */
const ofCall = (statement: string, manners: ReadonlyArray<Manner>, holds: (seen: Seen) => void): Law<Subject> =>
  make(statement, (registry) =>
    Effect.gen(function*() {
      const edge = yield* Edge.Edge
      const seen = yield* call({ registry, manner: edge.choose("the body is", manners) })
      holds(seen)
      return seen.code
    }))

const anyManner: ReadonlyArray<Manner> = ["deaf", "obedient", "failing"]

export const registry: ReadonlyArray<Law<Subject>> = [
  ofCall("a started body is awaited", anyManner, ({ running }) => {
    if (running > 0) broken("the result came while the body was running")
  }),
  ofCall("a success that comes after the cancellation is dropped", ["deaf"], ({ aborted, code }) => {
    if (aborted === "during" && code === "Success") broken("a late success was handed out")
  }),
  ofCall("a failure that comes after the cancellation is kept", ["failing"], ({ code, failedLate }) => {
    if (failedLate && code !== "TOOL_FAILURE") broken(`the failure became ${code}`)
  }),
  ofCall("cancelled before it was invoked, a body never runs", anyManner, ({ aborted, code, entered }) => {
    if (aborted === "before" && (entered > 0 || code !== "ABORTED_BEFORE_DISPATCH")) {
      broken(`${code}, entered ${entered}`)
    }
  }),
  ofCall("a result says whether the body was invoked", anyManner, ({ code, dispatched, entered }) => {
    if (dispatched !== entered > 0) broken(`dispatched: ${dispatched}, and the body was entered ${entered} times`)
    if (code === "ABORTED" && !dispatched) broken("ABORTED, and the body was not invoked")
    if (code === "ABORTED_BEFORE_DISPATCH" && dispatched) broken("ABORTED_BEFORE_DISPATCH, and the body was invoked")
  }),
  ofCall("a call has one result, published before its caller gets it", anyManner, ({ published, result }) => {
    if (published.length !== 1) broken(`${published.length} results were published`)
    if (published[0] !== result) broken("the caller got another object than the observers")
    if (!Object.isFrozen(result)) broken("the result can be changed")
  }),
  ofCall("no listener is left when the caller has the result", anyManner, ({ listeners }) => {
    if (listeners > 0) broken(`${listeners} listeners are left`)
  }),
  ofCall("the body is told in the step of the abort", ["deaf", "obedient"], ({ toldAtOnce }) => {
    if (!toldAtOnce) broken("the signal of the body had not aborted")
  }),
  make("when shutdown is over nothing runs, and later calls are refused", (registry) =>
    Effect.gen(function*() {
      const { registry: live, running, start } = yield* open({ registry })
      const before = yield* Effect.forkChild(settled(start), { startImmediately: true })
      yield* Edge.wait("SHUTDOWN")
      yield* live.shutdown
      if (running() > 0) broken("shut down, and a body is running")
      if ((yield* live.inFlight).length > 0) broken("shut down, and something is in flight")
      const after = yield* settled(start)
      if (after.dispatched) broken("a call was dispatched after the shutdown")
      yield* Fiber.join(before)
    })),
  make("when it is idle nothing runs", (registry) =>
    Effect.gen(function*() {
      const { registry: live, running, start } = yield* open({ registry })
      const made = yield* Effect.forkChild(settled(start), { startImmediately: true })
      yield* live.whenIdle
      if (running() > 0) broken("idle, and a body is running")
      yield* Fiber.join(made)
    })),
  {
    name: "law: whatever the script, a registry shows what the model says",
    check: (make) =>
      Effect.mapError(
        property((tools, services) => make()(tools, services), { runs: 50, seed: "law" }),
        ({ message }) =>
          new LawBroken({ law: "law: whatever the script, a registry shows what the model says", message })
      )
  }
]
