/** `docs/crash.md`: the last full load, as a page. */
import { taken } from "../taken.ts"

export interface Done {
  readonly boundaries: number
  readonly instants: number
  readonly acknowledged: number
  readonly marked: number
  readonly unmarked: number
  readonly histories: number
  readonly violations: number
}

export const document = (done: Done): string => {
  const rows: ReadonlyArray<readonly [string, number]> = [
    ["writers killed at a write boundary: the first, the second, and so on to their end", done.boundaries],
    ["writers killed at an instant", done.instants],
    ["events they had acknowledged", done.acknowledged],
    ["calls that were open and whose body may have run: closed as `ABORTED`", done.marked],
    ["calls that were open and whose body had not run: closed as `ABORTED_BEFORE_DISPATCH`", done.unmarked],
    ["histories of turns, cancels and crashes in memory", done.histories],
    ["violations", done.violations]
  ]
  return [
    "# Crashes",
    "",
    "What `npm run crash` did last, and what it found. A writer is a process that runs turns into a log in a file, and is killed",
    "with SIGKILL: before and behind each statement that reaches the database, from the making of the file on, and at instants",
    "spread over the time of some turns. Its log is opened again, which closes what was open. Then nothing that was acknowledged",
    "may be missing, each call has its one result, calls are closed by their marks, every record is as it was written, and there is",
    "nothing to recover a second time. A history is made of a seed: what a log is asked to do goes on, and all at once nothing is",
    "written any more. The tests do some of it on every run.",
    "",
    ...rows.map(([what, count]) => `- ${count.toLocaleString("en")} ${what}`),
    "",
    taken(`SQLite ${process.versions["sqlite"]}`),
    "",
    "What SIGKILL cannot show is a machine",
    "that loses its power: that what is acknowledged is on the disk by then is up to `synchronous=FULL`, and to the disk. What the",
    "log says of files that are damaged, cut off, full or not to be written is in",
    "[its tests](../packages/agent/test/SessionLog.damage.test.ts).",
    ""
  ].join("\n")
}
