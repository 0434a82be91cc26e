/**
 * Scripts of {start, abort, approve, deny, complete, fail, advance, close}, run against a registry and compared, after
 * every command, with what the contract's pure model says must be seen.
 *
 * A script is data: it is generated, shrunk, printed, and can be kept as a regression test as it stands.
 *
 * **Example**
 *
 * ```ts test
 * import { it } from "@effect/vitest"
 * import { Script } from "@quiesce/testing"
 *
 * it.effect("any script", () => Script.property(Script.core, { runs: 20 }))
 * it.effect("the one that failed once", () =>
 *   Script.check(Script.core, [Script.start(0), Script.abort(0), Script.complete(0)]))
 * ```
 */
import type * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Explore from "./Explore.ts"
import { stage } from "./internal/stage.ts"

/** Four calls are enough for any two of them to meet in any way, with two more looking on. */
const CallNumber = Schema.Literals([0, 1, 2, 3])

/** What sort of call is made. */
export const Kind = Schema.Struct({
  /** Its policy asks for approval. */
  asks: Schema.Boolean,
  /** Its tool has a budget of 100 ms. */
  budgeted: Schema.Boolean,
  /** Through which face it is made, and how its body is written. */
  face: Schema.Literals(["effect", "promise"])
})
export type Kind = typeof Kind.Type

export const Command = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("start"), call: CallNumber, kind: Kind }),
  Schema.Struct({ _tag: Schema.tag("abort"), call: CallNumber }),
  Schema.Struct({ _tag: Schema.tag("approve"), call: CallNumber }),
  Schema.Struct({ _tag: Schema.tag("deny"), call: CallNumber }),
  /** The body, whatever it was asked, succeeds. */
  Schema.Struct({ _tag: Schema.tag("complete"), call: CallNumber }),
  /** The body, whatever it was asked, fails. */
  Schema.Struct({ _tag: Schema.tag("fail"), call: CallNumber }),
  Schema.Struct({ _tag: Schema.tag("advance"), millis: Schema.Literals([1, 50, 99, 100]) }),
  Schema.Struct({ _tag: Schema.tag("close") })
])
export type Command = typeof Command.Type

/** A sequence of commands. Each is given when everything has come to rest after the one before. */
export type Script = ReadonlyArray<Command>

type CallNumber = typeof CallNumber.Type

export const start = (call: CallNumber, kind: Partial<Kind> = {}): Command => ({
  _tag: "start",
  call,
  kind: { asks: false, budgeted: false, face: "effect", ...kind }
})
export const abort = (call: CallNumber): Command => ({ _tag: "abort", call })
export const approve = (call: CallNumber): Command => ({ _tag: "approve", call })
export const deny = (call: CallNumber): Command => ({ _tag: "deny", call })
export const complete = (call: CallNumber): Command => ({ _tag: "complete", call })
export const fail = (call: CallNumber): Command => ({ _tag: "fail", call })
export const advance = (millis: 1 | 50 | 99 | 100): Command => ({ _tag: "advance", millis })
export const close: Command = { _tag: "close" }

/** Long enough for all four calls to be started, approved, cancelled and ended. */
const maxLength = 20

/** Scripts, as an arbitrary: for `it.effect.prop`, or for properties of your own. */
export const arbitrary: Arbitrary.Arbitrary<Script> = Arbitrary.array(Arbitrary.schema(Command), { maxLength })

/** What a script is run against: a registry of these tools, with these services around it. */
export type Subject = (
  tools: ReadonlyArray<Tool.AnyNoServices>,
  services: Layer.Layer<never>
) => Layer.Layer<ToolRegistry.ToolRegistry, unknown>

/** The registry of `@quiesce/core`. */
export const core: Subject = (tools, services) => ToolRegistry.layer(tools).pipe(Layer.provide(services))

/** A registry did not do what the contract says. */
export class ScriptFailed extends Data.TaggedError("ScriptFailed")<{
  readonly script: Script
  readonly problem: string
  /** For `property`: give it back as `replay`. */
  readonly replay?: string | undefined
}> {
  override get message(): string {
    const replay = this.replay === undefined
      ? ""
      : `\n  replay: Script.property(subject, { replay: ${JSON.stringify(this.replay)} })`
    return `${this.problem}\n  in: ${format(this.script)}${replay}`
  }
}

/**
 * Runs one script.
 *
 * **Errors**: `ScriptFailed` at the first command after which something else is to be seen than the model says.
 */
export const check = (subject: Subject, script: Script): Effect.Effect<void, ScriptFailed> =>
  Effect.flatMap(
    // Time moves only by `advance`, and everything rests before the next command.
    Explore.once(stage(subject, script), { timers: 0 }),
    ({ escapes, result }) => {
      const [escape] = escapes
      if (escape !== undefined) {
        return new ScriptFailed({ script, problem: `${escape.what} at ${escape.where} is outside control` })
      }
      return result._tag === "Passed"
        ? Effect.void
        : new ScriptFailed({ script, problem: result._tag === "Cut" ? "it does not come to rest" : result.message })
    }
  )

/** How many scripts are run, which ones, or which one again. */
export interface PropertyOptions {
  /** Default: 100. */
  readonly runs?: number | undefined
  /** Default: another one each time. The failure names the one it came from. */
  readonly seed?: string | number | undefined
  readonly replay?: string | undefined
}

/**
 * law: whatever the script, a registry shows what the model says.
 *
 * **Errors**: `ScriptFailed` with the smallest script found, and the string that replays it.
 */
export const property = (subject: Subject, options: PropertyOptions = {}): Effect.Effect<void, ScriptFailed> =>
  Effect.flatMap(
    Arbitrary.checkEffect(arbitrary, (script) => Effect.as(check(subject, script), true), options),
    (result) => {
      switch (result._tag) {
        case "Passed":
          return Effect.void
        case "Falsified": {
          const { failure, replay, shrunkInput } = result
          const problem = failure._tag === "PropertyError" ? failure.error.problem : "returned false"
          return new ScriptFailed({ script: shrunkInput, problem, replay })
        }
        default:
          return Effect.die(new Error(Arbitrary.formatCheckFailure(result)))
      }
    }
  )

/** A script in words. */
export const format = (script: Script): string => script.map(formatCommand).join(" > ")

const formatCommand = (command: Command): string => {
  switch (command._tag) {
    case "start": {
      const { asks, budgeted, face } = command.kind
      const what = [face, ...asks ? ["asks"] : [], ...budgeted ? ["budgeted"] : []]
      return `start ${command.call} (${what.join(", ")})`
    }
    case "advance":
      return `advance ${command.millis} ms`
    case "close":
      return "close"
    default:
      return `${command._tag} ${command.call}`
  }
}
