/** When, where and of which revision a report that is kept in docs was taken. */
import { execFileSync } from "node:child_process"
import { cpus } from "node:os"

const revision = (): string =>
  execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: import.meta.dirname, encoding: "utf8" }).trim()

/** One line: the day, the revision, the versions (of Node, and those that are given), the machine. */
export const taken = (...versions: ReadonlyArray<string>): string => {
  const machine = `${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`
  const day = new Date().toISOString().slice(0, 10)
  return `Taken on ${day} at revision ${revision()}: ${
    [`Node ${process.versions.node}`, ...versions].join(", ")
  }, ${machine}.`
}
