/**
 * Who is told of commands that begin and end, and how that crosses to a guardian.
 */
import * as Context from "effect/Context"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Lineage } from "../lineage.ts"

export interface Watch {
  /** A command with this mark is about to start: should this process end in between, its leader is found by the mark. */
  readonly announce: (mark: string) => void
  readonly begin: (lineage: Lineage) => void
  readonly end: (mark: string) => void
}

/** Default: nobody. */
export const Watch: Context.Reference<Watch> = Context.Reference<Watch>("@quiesce/node/internal/Watch", {
  defaultValue: (): Watch => ({ announce: () => {}, begin: () => {}, end: () => {} })
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
  Announce: { mark: Schema.String },
  Begin: { mark: Schema.String, leader: Row },
  End: { mark: Schema.String }
})
export type Notice = typeof Notice.Type

/** A notice as one line. */
export const encode = (notice: Notice): string => `${JSON.stringify(notice)}\n`

/** Reads a line, if it is a notice: the last one of a process that is killed may be half of one. */
export const decode: (line: string) => Option.Option<Notice> = Schema.decodeUnknownOption(Schema.fromJsonString(Notice))
