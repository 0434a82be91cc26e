/** The same trivial tool through other people's libraries. */
import { naive } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import { aiSdk, aiSdkWithoutTool } from "../peers/aiSdk.ts"
import { peers } from "../peers/all.ts"
import type { Series } from "../Report.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const against = { name: Ours.full.name }
const floor = { kind: "floor", against } as const
const peer = { kind: "peer", against } as const

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
    "For the AI SDK the step without a tool is subtracted from the step with one. The ratio is to a full call through Quiesce.",
  claim: 0.15,
  processes: 3,
  // These hosts are a lot of code, which takes long to be optimized.
  plan: { ...Measure.quick, warmUpMillis: 800 },
  subjects: async () => [
    Subjects.calls(Ours.host(Ours.full), { kind: "ours", against }),
    Subjects.calls(reference, floor),
    Subjects.calls(naive, floor),
    ...peers.map((host) => Subjects.calls(host, peer)),
    Subjects.calls(aiSdkWithoutTool, peer)
  ],
  derive: (series) => [...series, toolPart(series)]
}
