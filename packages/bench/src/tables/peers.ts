/** The same trivial tool through other people's libraries. */
import { reference } from "../floors/reference.ts"
import * as Measure from "../Measure.ts"
import { aiSdk, aiSdkWithoutTool } from "../peers/aiSdk.ts"
import { peers } from "../peers/all.ts"
import type { Series } from "../Report.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const floor = { kind: "floor", against: { name: reference.name } } as const
const peer = { kind: "peer", against: { name: reference.name } } as const

/** A generation cannot be left out of a call through the AI SDK, so it is subtracted, round by round. */
const toolPart = (series: ReadonlyArray<Series>): Series => {
  const whole = series.find(({ name }) => name === aiSdk.name)!
  const generation = series.find(({ name }) => name === aiSdkWithoutTool.name)!
  const rounds = whole.rounds.map((value, round) => value - generation.rounds[round]!)
  return { ...whole, name: "AI SDK, tool part", rounds }
}

export const table: Figures = {
  _tag: "Figures",
  title: "Peers, one call after the other",
  about:
    "Each peer in the form that is kindest to it: in one process, messages handed over without serializing them. " +
    "For the AI SDK the step without a tool is subtracted from the step with one. The ratio is to REF.",
  claim: 0.15,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    Subjects.calls(reference, floor),
    ...peers.map((host) => Subjects.calls(host, peer)),
    Subjects.calls(aiSdkWithoutTool, peer)
  ],
  derive: (series) => [toolPart(series)]
}
