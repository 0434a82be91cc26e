/**
 * The errors of a session's log. None of them loses what was acknowledged before.
 */
import * as Schema from "effect/Schema"

/** A process that writes, or wrote, a log. */
export const Holder = Schema.Struct({
  pid: Schema.Int,
  /** When the process began, in the units of its platform: a process id alone is given again to others. */
  started: Schema.String,
  /** Which run of the machine it belongs to. */
  boot: Schema.String
})
export type Holder = typeof Holder.Type

/** Another writer has the log. Nothing was written. */
export class LogBusy extends Schema.TaggedError<LogBusy>("@quiesce/agent/LogBusy")("LogBusy", {
  log: Schema.String,
  holder: Holder
}) {
  override get message(): string {
    return `${this.log} is being written by process ${this.holder.pid}`
  }
}

/** The log, or one record of it, is not what was written. Records before it can be read. */
export class LogCorrupt extends Schema.TaggedError<LogCorrupt>("@quiesce/agent/LogCorrupt")("LogCorrupt", {
  log: Schema.String,
  /** The record, where it is one. */
  seq: Schema.optional(Schema.Int),
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.log}${this.seq === undefined ? "" : `, record ${this.seq}`}: ${this.problem}`
  }
}

/** A later version of this package wrote the log. It was not touched. */
export class LogFromFuture extends Schema.TaggedError<LogFromFuture>("@quiesce/agent/LogFromFuture")("LogFromFuture", {
  log: Schema.String,
  found: Schema.Int,
  supported: Schema.Int
}) {
  override get message(): string {
    return `${this.log} has version ${this.found}, and this reads up to ${this.supported}`
  }
}

/**
 * The log could not be written or read.
 *
 * `Full`: the disk, or the user's share of it. `Locked`: somebody holds the database longer than we wait. `Closed`: the
 * scope of the log is closed.
 */
export class LogFailed extends Schema.TaggedError<LogFailed>("@quiesce/agent/LogFailed")("LogFailed", {
  log: Schema.String,
  reason: Schema.Literals(["Full", "ReadOnly", "NotOpened", "Locked", "Closed", "Io"]),
  cause: Schema.optional(Schema.Defect())
}) {
  override get message(): string {
    return `${this.log}: ${texts[this.reason]}`
  }
}

const texts = {
  Full: "no space is left",
  ReadOnly: "it may not be written",
  NotOpened: "it cannot be opened",
  Locked: "it is locked",
  Closed: "it is closed",
  Io: "it could not be read or written"
} satisfies { readonly [R in LogFailed["reason"]]: string }

/**
 * Why an event does not fit to those before it.
 *
 * | problem | means |
 * |---|---|
 * | TurnOpen | a turn begins, and the one before has not ended |
 * | NoTurn | it is not of the open turn: that turn has ended, or never began |
 * | Unanswered | the turn goes on or ends, and a call has no result |
 * | OutOfOrder | a call that does not follow what the model said |
 * | NoCall | it cites no call of the open turn: the call's turn has ended, or there never was such a call |
 * | Answered | the call has its result |
 * | Marked | the call has its mark |
 * | Unmarked | the result says that the body ran, and no mark says so |
 * | OtherCall | the result is that of another call |
 * | Invalid | it is no event |
 * | NotEmpty | the log to import into has events |
 */
export const Problem = Schema.Literals([
  "TurnOpen",
  "NoTurn",
  "Unanswered",
  "OutOfOrder",
  "NoCall",
  "Answered",
  "Marked",
  "Unmarked",
  "OtherCall",
  "Invalid",
  "NotEmpty"
])
export type Problem = typeof Problem.Type

/** The event would unbalance the log. It was not written. */
export class LogRefused extends Schema.TaggedError<LogRefused>("@quiesce/agent/LogRefused")("LogRefused", {
  log: Schema.String,
  problem: Problem,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.log} refused an event: ${this.problem} (${this.detail})`
  }
}

export type ReadError = LogCorrupt | LogFailed
export type WriteError = LogFailed | LogBusy
export type AppendError = LogRefused | WriteError
export type OpenError = LogBusy | LogCorrupt | LogFromFuture | LogFailed
