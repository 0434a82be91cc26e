/**
 * Who a process is, and whether it still lives.
 *
 * A process id is given again once its owner is gone, so it is told apart by when the process began, and by the boot of
 * the machine, which ends all of them at once.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import type { Holder } from "../LogError.ts"

/** Says of a process or a boot that it could not be read which one it is. */
const unknown = ""

export const self = (): Holder => ({ pid: process.pid, started: seen(process.pid)?.started ?? unknown, boot: boot() })

/**
 * Whether the holder is running. In doubt it is: a lease that is kept too long is a nuisance, one that is taken too early
 * a second writer.
 *
 * **Limits**: it asks the process table of this machine and this pid namespace. Containers that share a log must share
 * that too.
 */
export const isAlive = (holder: Holder): boolean => {
  if (differ(holder.boot, boot())) return false
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"
  }
  const found = seen(holder.pid)
  // One that has ended and that nobody has collected, for ever perhaps, writes nothing any more.
  if (found?.isZombie === true) return false
  return !differ(holder.started, found?.started ?? unknown)
}

/** What could not be read (no file was free, say) says nothing. */
const differ = (one: string, other: string): boolean => one !== unknown && other !== unknown && one !== other

interface Seen {
  readonly started: string
  readonly isZombie: boolean
}

/**
 * **Source**: proc_pid_stat(5): the state is field 3 and the start time field 22; the name, which may hold anything, ends at
 * the last `)`.
 */
const seen = (pid: number): Seen | undefined => {
  switch (process.platform) {
    case "linux":
      return attempt(() => {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
        const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
        return { started: fields[19]!, isZombie: fields[0] === "Z" }
      })
    case "win32":
      return undefined
    default:
      return attempt(() => {
        const line = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" })
        const [, state, started] = /^\s*(\S+)\s+(.*\S)/.exec(line)!
        return { started: started!, isZombie: state!.startsWith("Z") }
      })
  }
}

const boot = (): string => {
  switch (process.platform) {
    case "linux":
      return attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? unknown
    case "darwin":
      return attempt(() => execFileSync("sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8" }).trim()) ??
        unknown
    default:
      return unknown
  }
}

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}
