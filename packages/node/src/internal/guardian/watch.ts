/**
 * Who is told of commands that begin and end, and how that crosses to a guardian.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { Lineage } from "../lineage.ts"

export interface Watch {
  readonly begin: (lineage: Lineage) => void
  readonly end: (lineage: Lineage) => void
}

/** Default: nobody. */
export const Watch: Context.Reference<Watch> = Context.Reference<Watch>("@quiesce/node/internal/Watch", {
  defaultValue: (): Watch => ({ begin: () => {}, end: () => {} })
})

const Row = Schema.Struct({
  pid: Schema.Number,
  ppid: Schema.Number,
  pgrp: Schema.Number,
  session: Schema.Number,
  state: Schema.String,
  started: Schema.Number,
  name: Schema.String
})

const Notice = Schema.TaggedUnion({
  Begin: { mark: Schema.String, leader: Row },
  End: { mark: Schema.String }
})
export type Notice = typeof Notice.Type

/** A notice as one line. */
export const encode = (notice: Notice): string => `${JSON.stringify(notice)}\n`

/** Reads a line; throws for one that is no notice. */
export const decode: (line: string) => Notice = Schema.decodeUnknownSync(Schema.fromJsonString(Notice))
