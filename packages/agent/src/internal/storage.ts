/**
 * Where the rows of a log are, and in memory.
 */
import * as Effect from "effect/Effect"
import type { ReadError, WriteError } from "../LogError.ts"
import type { Row } from "./record.ts"

export interface Source {
  /** What the log is called in errors. */
  readonly name: string
  /** At most `limit` rows from `seq` on, in order. */
  readonly from: (seq: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, ReadError>
  /** At most `limit` rows below `seq`, the last one first. */
  readonly below: (seq: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, ReadError>
  /** What the storage itself finds wrong. */
  readonly faults: Effect.Effect<ReadonlyArray<string>, ReadError>
}

export interface Storage extends Source {
  /** Writes all of `rows` or none. `durable`: they are on the disk when it returns. */
  readonly commit: (rows: ReadonlyArray<Row>, durable: boolean) => Effect.Effect<void, WriteError>
}

export const memory = (rows: Array<Row> = []): Storage => ({
  name: "a log in memory",
  from: (seq, limit) => Effect.sync(() => rows.slice(seq - 1, seq - 1 + limit)),
  below: (seq, limit) =>
    Effect.sync(() => {
      const end = Math.min(seq - 1, rows.length)
      return rows.slice(Math.max(0, end - limit), end).reverse()
    }),
  faults: Effect.succeed([]),
  commit: (added) => Effect.sync(() => void rows.push(...added))
})
