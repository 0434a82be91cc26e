/**
 * The goals, each a question to a report. A ratio that was refused meets no goal.
 */
import * as names from "./names.ts"
import * as Print from "./Print.ts"
import type { Key, Report, Row, Unit } from "./Report.ts"
import { isKey } from "./Report.ts"

interface Judgement {
  readonly measured: string
  readonly met: boolean
}

export interface Goal {
  readonly what: string
  readonly goal: string
  /** The table it is read from. */
  readonly table: string
  readonly judge: (report: Report) => Judgement
}

const rows = (report: Report, table: string): ReadonlyArray<Row> => {
  const found = report.tables.find(({ name }) => name === table)
  return found?._tag === "Figures" ? found.rows : []
}

interface Question {
  readonly what: string
  readonly goal: string
  readonly table: string
  readonly row: Key
}

/** Asks about one row; a row that is missing meets nothing. */
const ask = ({ row, ...question }: Question, judge: (row: Row) => Judgement): Goal => ({
  ...question,
  judge: (report) => {
    const found = rows(report, question.table).find((candidate) => isKey(candidate, row))
    return found === undefined ? { measured: "not measured", met: false } : judge(found)
  }
})

const onRatio = (question: Question, holds: (ratio: number) => boolean): Goal =>
  ask(question, ({ ratio }) => ({
    measured: Print.ratio(ratio),
    met: ratio?._tag === "Agreed" && holds(ratio.spread.median)
  }))

interface Bounded extends Omit<Question, "goal"> {
  readonly bound: number
  /** What the ratio is to. */
  readonly of: string
}

export const ratioAtMost = ({ bound, of, ...question }: Bounded): Goal =>
  onRatio({ ...question, goal: `≤ ${bound} × ${of}` }, (ratio) => ratio <= bound)

export const ratioAtLeast = ({ bound, of, ...question }: Bounded): Goal =>
  onRatio({ ...question, goal: `≥ ${bound} × ${of}` }, (ratio) => ratio >= bound)

/** Every repeat has to keep within the bound: no floor of the same run takes the machine's share out of it. */
export const valueAtMost = ({ bound, unit, ...question }: Omit<Question, "goal"> & {
  readonly bound: number
  readonly unit: Unit
}): Goal =>
  ask({ ...question, goal: `≤ ${Print.quantity(bound, unit)}` }, ({ value }) => ({
    measured: Print.quantity(value.median, unit),
    met: value.high <= bound
  }))

/** Every peer of the table takes longer than ours, in every repeat. */
const fasterThanPeers: Goal = {
  what: "a full call against every peer",
  goal: "faster than each",
  table: "peers",
  judge: (report) => {
    const slowest = rows(report, "peers").filter(({ kind }) => kind === "peer")
      .toSorted((a, b) => a.ratio!.spread.low - b.ratio!.spread.low)
    const [closest] = slowest
    if (closest === undefined) return { measured: "not measured", met: false }
    return { measured: `${closest.name}: ${Print.ratio(closest.ratio)}`, met: closest.ratio!.spread.low > 1 }
  }
}

const goals: ReadonlyArray<Goal> = [
  ratioAtMost({ what: "a full call", table: "call", row: { name: names.full }, bound: 2, of: names.reference }),
  ratioAtMost({
    what: "a full call from a fiber",
    table: "fiber",
    row: { name: names.fullInFiber },
    bound: 2,
    of: names.referenceInFiber
  }),
  fasterThanPeers,
  ratioAtLeast({
    what: "MCP SDK 2.x against a full call",
    table: "peers",
    row: { name: "MCP SDK 2.x" },
    bound: 10,
    of: names.full
  }),
  ratioAtLeast({
    what: "effect/ai Toolkit against a full call",
    table: "peers",
    row: { name: "effect/ai Toolkit" },
    bound: 15,
    of: names.full
  }),
  ratioAtMost({
    what: "time per call, 100,000 calls at once on one signal",
    table: "scaling",
    row: { name: names.full, at: 100_000 },
    bound: 1.5,
    of: "1,000 calls"
  }),
  valueAtMost({
    what: "native listeners on that signal at any time",
    table: "scaling",
    row: { name: names.mostListeners, at: 100_000 },
    bound: 1,
    unit: "listeners"
  }),
  ratioAtMost({
    what: "one abort over 100,000 pending calls",
    table: "abort",
    row: { name: names.full },
    bound: 5,
    of: names.reference
  }),
  ratioAtMost({
    what: "the same, bodies that are effects",
    table: "abort",
    row: { name: names.fullEndless },
    bound: 5,
    of: names.referenceTold
  }),
  valueAtMost({
    what: "memory per pending call",
    table: "memory",
    row: { name: names.full },
    bound: 1536,
    unit: "bytes"
  }),
  valueAtMost({
    what: "memory per pending call from a fiber",
    table: "memory",
    row: { name: names.fullInFiber },
    bound: 2560,
    unit: "bytes"
  }),
  valueAtMost({
    what: "heap per settled call, after a million on one signal",
    table: "settled",
    row: { name: names.full, at: 1_000_000 },
    bound: 16,
    unit: "bytes"
  }),
  valueAtMost({ what: "import time", table: "import", row: { name: names.importTime }, bound: 10, unit: "ms" }),
  valueAtMost({ what: "import size", table: "import", row: { name: names.importSize }, bound: 30_720, unit: "bytes" })
]

export interface Verdict extends Judgement {
  readonly what: string
  readonly goal: string
}

export const judge = (report: Report): ReadonlyArray<Verdict> =>
  goals.map(({ goal, judge, what }) => ({ what, goal, ...judge(report) }))

/** The tables that the goals are read from. */
export const tables: ReadonlyArray<string> = [...new Set(goals.map(({ table }) => table))]

export const summary = (verdicts: ReadonlyArray<Verdict>): string =>
  `goals met: ${verdicts.filter(({ met }) => met).length} of ${verdicts.length}`

export const text = (verdicts: ReadonlyArray<Verdict>): string =>
  Print.columns([
    ["", "goal", "measured", ""],
    ...verdicts.map(({ goal, measured, met, what }) => [what, goal, measured, met ? "met" : "NOT MET"])
  ])
