/**
 * Ends every process of a command: SIGTERM, a grace, SIGKILL, and a look that finds nobody.
 *
 * 1. Nothing is believed but the process table: not that a signal was delivered, not that a leader's end is the end of
 *    its group, not that one look at a table that changes while it is read shows everybody.
 * 2. Each group is asked once, when it is first seen, and killed as often as somebody is found in it after the grace.
 * 3. It ends: the grace and the wait behind SIGKILL are bounded, and who is left then is named.
 *
 * There is no event for the death of a process that is not a child, so between looks it waits on the clock, briefly at
 * first (most processes die within a millisecond) and then longer.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Seen, Table } from "./host.ts"
import {
  attribute,
  type Attribution,
  type Carries,
  isSame,
  isThere,
  type Lineage,
  remember,
  replace,
  type Row
} from "./lineage.ts"
import * as Signal from "./signal.ts"

export interface Ended {
  /** How many, besides the leader, had to be ended. */
  readonly swept: number
  /** Ours, and alive in spite of it all. */
  readonly survivors: ReadonlyArray<Survivor>
  /** Strangers that carry our mark or hold our pipes. */
  readonly suspects: ReadonlyArray<Row>
  /** The table could be read to its end. */
  readonly isProved: boolean
}

export interface Survivor {
  readonly row: Row
  /** `Unkillable`: it did not die of SIGKILL in time. `Denied`: we may not signal it. `Spared`: it was not to be ended. */
  readonly why: "Unkillable" | "Denied" | "Spared"
}

export interface Options {
  /** How long those that are there are left in peace before they are asked. */
  readonly patience?: Effect.Effect<unknown> | undefined
  readonly grace: Duration.Duration
  /** Where it is looked, and by what somebody is known whom kinship and session leave open. */
  readonly table: Effect.Effect<Table>
  readonly carries: (row: Row) => Carries
  readonly spares: (row: Row) => boolean
}

/**
 * Only a process stuck in the kernel (a dead network disk) or one giving back a very large memory outlives SIGKILL by
 * more than an instant; the caller is told about it rather than kept waiting.
 */
export const killWait = Duration.seconds(5)

/** The longest wait between two looks at the processes last seen; a tenth of what a person notices. */
const longestPauseMillis = 25

/** The longest wait between two looks at the whole table: newcomers are asked no later than this. */
const longestStareMillis = 250

/** A table that changed while it was read, or held somebody unreadable, is read this often before it is believed. */
const looks = 3

export const end = Effect.fnUntraced(function*(
  host: Seen,
  lineage: Lineage,
  options: Options
): Effect.fn.Return<Ended> {
  let seen = yield* look(host, lineage, options)
  if (seen.alive.length > 0 && options.patience !== undefined) {
    yield* options.patience
    seen = yield* look(host, lineage, options)
  }

  const killAt = (yield* now) + Duration.toMillis(options.grace)
  const giveUpAt = killAt + Duration.toMillis(killWait)
  const asked = new Map<number, Row>()
  for (;; seen = yield* look(host, lineage, options)) {
    const targets = seen.alive.filter((row) => !options.spares(row))
    const time = yield* now
    if ((targets.length === 0 && seen.isComplete) || time >= giveUpAt) {
      asked.delete(lineage.leader.pid)
      return {
        swept: asked.size,
        survivors: [
          ...targets.map((row): Survivor => ({
            row,
            why: host.kill(row.pid, 0) === "Denied" ? "Denied" : "Unkillable"
          })),
          ...seen.alive.filter(options.spares).map((row): Survivor => ({ row, why: "Spared" }))
        ],
        suspects: seen.suspects,
        isProved: seen.isComplete
      }
    }

    const late = time >= killAt
    for (const [pgrp, members] of groups(targets)) {
      // (2): who joins a group that was asked is killed with it, and not asked for itself.
      const isAsked = members.some((row) => has(asked, row))
      for (const row of members) asked.set(row.pid, row)
      if (!late && isAsked) continue
      ask(host, pgrp, members, late ? "SIGKILL" : "SIGTERM")
    }
    yield* awaitGone(host, targets, Math.min(late ? giveUpAt : killAt, time + longestStareMillis))
  }
})

const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1000n) / 1000)

const has = (rows: ReadonlyMap<number, Row>, row: Row): boolean => {
  const found = rows.get(row.pid)
  return found !== undefined && isSame(found, row)
}

const groups = (rows: ReadonlyArray<Row>): ReadonlyMap<number, ReadonlyArray<Row>> =>
  Map.groupBy(rows, (row) => row.pgrp)

/** Signals a group as one where that is safe, else its members one by one. */
const ask = (host: Seen, pgrp: number, members: ReadonlyArray<Row>, signal: "SIGTERM" | "SIGKILL"): void => {
  const send = (signal: NodeJS.Signals) => {
    if (Signal.toGroup(host, pgrp, members, signal) === "Sent") return
    for (const row of members) Signal.toProcess(host, row, signal)
  }
  send(signal)
  // A stopped process takes SIGTERM only once it continues.
  if (signal === "SIGTERM" && members.some((row) => row.state === "T")) send("SIGCONT")
}

const look = Effect.fnUntraced(function*(
  host: Seen,
  lineage: Lineage,
  options: Options
): Effect.fn.Return<Attribution & { readonly isComplete: boolean }> {
  for (let count = 1;; count++) {
    const { isComplete, restless, rows } = yield* options.table
    const seen = attribute(rows, lineage, host.self, options.carries)
    // Whom an incomplete table does not show is not gone.
    if (isComplete) replace(lineage, seen.ours)
    else remember(lineage, seen.ours)
    const isDoubtful = restless || seen.unreadable || !isComplete
    if (seen.alive.length > 0 || count === looks || !isDoubtful) return { ...seen, isComplete }
    yield* Effect.sleep(count)
  }
})

/** Waits until none of `rows` is alive, and no longer than `until`. */
const awaitGone = Effect.fnUntraced(function*(host: Seen, rows: ReadonlyArray<Row>, until: number) {
  for (let pause = rows.length === 0 ? longestPauseMillis : 1;; pause = Math.min(pause * 2, longestPauseMillis)) {
    const left = until - (yield* now)
    if (left <= 0) return
    yield* Effect.sleep(Math.min(pause, left))
    if (!rows.some((row) => isThere(host.row(row.pid), row))) return
  }
})

/** Both together, when the second looked for more than the first. */
export const both = (first: Ended, second: Ended): Ended => ({
  swept: first.swept + second.swept,
  survivors: second.survivors,
  suspects: [
    ...first.suspects.filter((row) => !second.suspects.some((other) => isSame(other, row))),
    ...second.suspects
  ],
  isProved: second.isProved
})
