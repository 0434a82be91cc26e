/** What a turn costs per call, beside the calls alone: first its scheduling, then its log. */
import * as SessionLog from "@quiesce/agent/SessionLog"
import * as Turn from "@quiesce/agent/Turn"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parameters, trivialBody } from "../Host.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

/** As many calls as a turn runs at once, unless it is told otherwise. */
const width = 8

const alone = { name: `${Ours.call.name}, in a fiber` }

const assistant: Turn.Assistant = {
  calls: Array.from({ length: width }, (_, index) => ({
    callId: `call_${index}`,
    name: "search",
    arguments: Turn.complete(parameters)
  }))
}

/** Numbers the events and keeps none: what is left of a turn is how it runs its calls. */
const forgetful = Layer.sync(SessionLog.SessionLog, (): SessionLog.Shape => {
  let seq = 0
  return {
    append: (...events) => Effect.sync(() => events.map((event) => ({ seq: ++seq, atMillis: 0, event }))),
    journal: { dispatching: () => Effect.void },
    read: () => Stream.empty,
    exported: Stream.empty,
    verify: Effect.succeed({ events: 0, calls: 0, violations: [], open: [], turn: undefined }),
    recover: Effect.succeed([]),
    recovered: [],
    importing: () => Effect.succeed([])
  }
})

const inFile = Layer.unwrap(Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quiesce-bench-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  ),
  (path) => SessionLog.layerSqlite(join(path, "session.log"))
))

const turns = <E>(name: string, lacks: string, log: Layer.Layer<SessionLog.SessionLog, E>): Measure.Subject => ({
  name,
  kind: "ours",
  unit: "ns",
  lacks,
  against: alone,
  open: async () => {
    const scope = Scope.makeUnsafe()
    const layer = Layer.merge(Ours.layer(Ours.call, trivialBody), log)
    const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    const turn = Effect.provideContext(Turn.run(assistant), context)
    return Measure.perOperation({
      run: Measure.sequentially(() => Effect.runPromise(turn)),
      width,
      close: () => Effect.runPromise(Scope.close(scope, Exit.void))
    })
  }
})

export const table: Figures = {
  _tag: "Figures",
  title: "A call of a turn",
  about:
    `A turn of one step with ${width} calls, per call, beside ${width} calls at once without a turn. The log in a file ` +
    "syncs before bodies run and before results count; what that costs is up to the disk.",
  claim: 0.2,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    Subjects.callsInFiber(Ours.fiberHost(Ours.call), { kind: "floor", against: alone }, width),
    turns("a turn that keeps no log", "the log", forgetful),
    turns("a turn, its log in memory", "", SessionLog.layerMemory),
    turns("a turn, its log in a file", "", inFile)
  ]
}
