import type * as Lineage from "../../src/internal/lineage.ts"

/** A row of a process table: an orphan that leads a group of its own, unless it is said otherwise. */
export const row = (row: Partial<Lineage.Row> & { readonly pid: number }): Lineage.Row => ({
  ppid: 1,
  pgrp: row.pid,
  session: row.pid,
  state: "S",
  started: 20,
  name: "p",
  ...row
})
