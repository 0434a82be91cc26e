/** A table of the bench: what it measures, and how its rows are claimed. */
import type { Plan, Subject } from "./Measure.ts"
import type { Facts, Series } from "./Report.ts"

export interface Figures {
  readonly _tag: "Figures"
  readonly title: string
  /** What a reader has to know about how it was measured; Markdown. */
  readonly about: string
  readonly axis?: string | undefined
  readonly claim: number
  /** How many child processes measure it: code is optimized differently in each. */
  readonly processes: number
  readonly plan: Plan
  readonly subjects: () => Promise<ReadonlyArray<Subject>>
  /** The rows to show, computed round by round from those that were measured. */
  readonly derive?: ((series: ReadonlyArray<Series>) => ReadonlyArray<Series>) | undefined
}

/** A table whose cells are observations and not figures. */
export interface Observations {
  readonly _tag: "Observations"
  readonly title: string
  readonly about: string
  readonly columns: ReadonlyArray<string>
  readonly observe: () => Promise<Facts["rows"]>
}

export type Table = Figures | Observations
