/**
 * What is known of the calls of a turn while it runs: a row for each, in the model's order, made of the turn's events.
 */
import type { Turn } from "@quiesce/agent"
import type { ToolResult } from "@quiesce/core"

export interface Row {
  readonly call: number
  readonly name: string
  /** `waiting` for its turn to start; then the registry's own stages. */
  readonly stage: "waiting" | Extract<Turn.Event, { readonly _tag: "Stage" }>["stage"]
  readonly startedMillis: number | undefined
  readonly cancelling: boolean
  /** What it reported last. */
  readonly message: string
  /** Its result, once it has one. */
  readonly settled: ToolResult.ToolResult | undefined
  readonly settledMillis: number | undefined
}

export type Board = ReadonlyArray<Row>

export const empty: Board = []

/** What is known after `event`. */
export const after = (board: Board, event: Turn.Event, nowMillis: number): Board => {
  switch (event._tag) {
    case "Called":
      return [...board, {
        call: event.call,
        name: event.name,
        stage: "waiting",
        startedMillis: undefined,
        cancelling: false,
        message: "",
        settled: undefined,
        settledMillis: undefined
      }]
    case "Started":
      return change(board, event.call, { stage: "pre", startedMillis: nowMillis })
    case "Stage":
      return change(board, event.call, { stage: event.stage, cancelling: event.cancelling !== undefined })
    case "Progress":
      return change(board, event.call, { message: event.progress.message ?? `${event.progress.progress}` })
    case "Settled":
      return change(board, event.call, { settled: event.result, settledMillis: nowMillis })
    case "Committed":
    case "Cancelled":
      return board
  }
}

/** News of a call that come late, behind its result, change nothing. */
const change = (board: Board, call: number, news: Partial<Row>): Board =>
  board.map((row) => row.call === call && row.settled === undefined ? { ...row, ...news } : row)

export const codeOf = (result: ToolResult.ToolResult): string =>
  result._tag === "Success" ? "SUCCESS" : result.error.code
