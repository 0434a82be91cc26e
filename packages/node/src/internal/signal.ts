/**
 * Signals that cannot hit a stranger.
 *
 * A pid is a name that is given away again. The only proof that a number still means what it meant is to look, and
 * nothing may happen between the look and the signal: both functions look and signal in one synchronous step.
 *
 * 1. Never 0, 1 or a negative number, this process, or its group: each of these means "many others".
 * 2. A process is signalled only while pid and start time are those of the row given.
 * 3. A group is signalled only while a living process that is ours is in it. A group's number is not given away
 *    while it has a member, so after the leader was reaped this is what makes `kill(-pgrp)` safe.
 */
import type { Delivery, Seen } from "./host.ts"
import { isThere, type Row } from "./lineage.ts"

/** Sends `signal` to one process, or to nobody. */
export const toProcess = (host: Seen, row: Row, signal: NodeJS.Signals): Delivery => {
  if (!isOther(row.pid) || row.pid === host.self.pid) return "Gone"
  return isThere(host.row(row.pid), row) ? host.kill(row.pid, signal) : "Gone"
}

/** Sends `signal` to the whole group `pgrp`, of which `members` are ours, or to nobody. */
export const toGroup = (host: Seen, pgrp: number, members: ReadonlyArray<Row>, signal: NodeJS.Signals): Delivery => {
  const self = host.self
  if (!isOther(pgrp) || pgrp === self.pgrp) return "Gone"
  const proved = members.some((member) => {
    const now = host.row(member.pid)
    return isThere(now, member) && now?.pgrp === pgrp && now.session !== self.session
  })
  return proved ? host.kill(-pgrp, signal) : "Gone"
}

/** 0 is our group, 1 is the first process, -1 is everybody. */
const isOther = (pid: number): boolean => Number.isInteger(pid) && pid > 1
