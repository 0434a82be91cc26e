/**
 * Who is left, seen by other eyes than those of the code under test: by what is in the command lines of `/proc`.
 */
import { readdirSync, readFileSync } from "node:fs"

/** The living processes that have `mark` in their command line. */
export const alive = (mark: string): ReadonlyArray<number> =>
  readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      const isDead = /^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${entry}/stat`, "latin1"))
      return !isDead && readFileSync(`/proc/${entry}/cmdline`, "latin1").includes(mark) ? [Number(entry)] : []
    } catch {
      return []
    }
  })

/** What this process holds: open files, and what keeps its event loop alive. */
export interface Holdings {
  readonly files: number
  readonly timers: number
}

export const holdings = (): Holdings => ({
  files: readdirSync("/proc/self/fd").length,
  timers: process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
})
