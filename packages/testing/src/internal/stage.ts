/** A script on stage: the tools, policies and callers it plays with, and the comparison after each command. */
import * as Approval from "@quiesce/core/Approval"
import * as Observer from "@quiesce/core/Observer"
import * as Policy from "@quiesce/core/Policy"
import type * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Edge from "../Edge.ts"
import * as Probe from "../Probe.ts"
import type { Command, Kind, Script, Subject } from "../Script.ts"
import * as Model from "./model.ts"

/** A call that a script has made. */
interface Played {
  readonly cancel: () => void
  result: ToolResult.ToolResult | undefined
  /** Results that were published for it. */
  published: number
}

const kinds: ReadonlyArray<Kind> = [false, true].flatMap((asks) =>
  [false, true].flatMap((budgeted) => (["effect", "promise"] as const).map((face) => ({ asks, budgeted, face })))
)

const nameOf = ({ asks, budgeted, face }: Kind): string => `${face}${asks ? "-asks" : ""}${budgeted ? "-budgeted" : ""}`

/** Runs `script` against a registry, and dies with the difference where it differs from the model. */
export const stage = Effect.fnUntraced(function*(subject: Subject, script: Script) {
  const edge = yield* Edge.Edge
  const probes = kinds.map((kind) => {
    const make = kind.face === "effect" ? Probe.tool : Probe.toolFromPromise
    return make(nameOf(kind), kind.budgeted ? { timeout: Model.budget } : {})
  })
  const questions = new Map<string, Deferred.Deferred<Approval.Outcome>>()
  const played = new Map<number, Played>()

  const services = Layer.mergeAll(
    Policy.layer({
      pre: (call) => Effect.succeed(call.name.includes("-asks") ? Policy.ask() : Policy.allow)
    }),
    Approval.layer({
      ask: (call) => {
        const question = Deferred.makeUnsafe<Approval.Outcome>()
        questions.set(call.callId, question)
        return Effect.ensuring(Deferred.await(question), Effect.sync(() => questions.delete(call.callId)))
      }
    }),
    Observer.layer((call) =>
      Effect.sync(() => {
        played.get(Number(call.callId))!.published++
      })
    )
  )
  const context = yield* Layer.build(subject(probes.map(({ tool }) => tool as Tool.AnyNoServices), services))
  const registry = Context.get(context, ToolRegistry.ToolRegistry)

  const endBodies = Effect.sync(() => {
    for (const { body } of probes) for (const invocation of body.invocations) invocation.succeed("done")
  })
  // Also where the comparison fails: the registry closes after this, and waits for every body.
  yield* Effect.addFinalizer(() => endBodies)

  const bodyOf = (call: number) =>
    probes.flatMap(({ body }) => body.invocations).find(({ args }) => args[1].callId === `${call}`)

  const play = Effect.fnUntraced(function*(command: Command) {
    switch (command._tag) {
      case "start": {
        if (played.has(command.call)) return
        const input = { callId: `${command.call}`, name: nameOf(command.kind), arguments: {} }
        const controller = new AbortController()
        let cancel = () => controller.abort()
        const call: Played = { cancel: () => cancel(), result: undefined, published: 0 }
        played.set(command.call, call)
        if (command.kind.face === "promise") {
          void registry.executePromise({ ...input, signal: controller.signal }).then((result) => {
            call.result = result
          })
          return
        }
        const fiber = yield* Effect.forkDetach(registry.start(input), { startImmediately: true })
        const started = yield* Effect.flatten(Effect.succeed(fiber.pollUnsafe() ?? Effect.die("start waits")))
        cancel = () => Effect.runSync(started.cancel())
        yield* Effect.forkDetach(Effect.map(started.result, (result) => {
          call.result = result
        }))
        return
      }
      case "abort":
        return played.get(command.call)?.cancel()
      case "approve":
      case "deny": {
        const question = questions.get(`${command.call}`)
        const answer = command._tag === "approve" ? Approval.allowedOnce : Approval.rejected()
        if (question !== undefined) Deferred.doneUnsafe(question, Effect.succeed(answer))
        return
      }
      case "complete":
        return bodyOf(command.call)?.succeed("done")
      case "fail":
        return bodyOf(command.call)?.fail(new Error("the body failed"))
      case "advance":
        return edge.advance(command.millis)
      case "close":
        return void (yield* Effect.forkDetach(registry.shutdown))
    }
  })

  const seen = Effect.fnUntraced(function*(call: number) {
    const { published, result } = played.get(call)!
    const body = bodyOf(call)
    const flight = (yield* registry.inFlight).find(({ callId }) => callId === `${call}`)
    if (result !== undefined) {
      const outcome = result._tag === "Success" ? "Success" : result.error.code
      const state = `settled as ${outcome}, dispatched ${result.dispatched}`
      return `${state}, published ${published}, in flight ${flight !== undefined}, body running ${
        body !== undefined && !body.isOver()
      }`
    }
    return `${flight?.stage ?? "nowhere"}, published ${published}, body running ${
      body !== undefined && !body.isOver()
    }, body asked to stop ${body?.isStopping() === true}`
  })

  let model = Model.initial
  for (const command of script) {
    model = Model.step(model, command)
    yield* play(command)
    yield* Edge.wait("rest")
    for (const [call, state] of model.calls) {
      const actually = yield* seen(call)
      const expected = toBeSeen(state)
      if (actually !== expected) {
        return yield* Effect.die(
          new Error(`call ${call} after ${command._tag}: ${actually}; it should be: ${expected}`)
        )
      }
    }
  }

  // Whatever is left ends well, and then the registry is idle.
  yield* endBodies
  for (const question of questions.values()) Deferred.doneUnsafe(question, Effect.succeed(Approval.rejected()))
  const idle = yield* Effect.forkDetach(registry.whenIdle)
  yield* Edge.wait("rest")
  if (idle.pollUnsafe() === undefined) return yield* Effect.die(new Error("everything has ended, and it is not idle"))
  return undefined
})

const toBeSeen = (state: Model.CallState): string => {
  switch (state._tag) {
    case "Asking":
      return "approval, published 0, body running false, body asked to stop false"
    case "Running":
      return `body, published 0, body running true, body asked to stop ${state.asked !== undefined}`
    case "Settled":
      return `settled as ${state.outcome}, dispatched ${state.dispatched}, published 1, in flight false, body running false`
  }
}
