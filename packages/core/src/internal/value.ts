/**
 * What a tool yields and fails with, as JSON by its schemas.
 *
 * A schema that waits (a service of its own, a promise) is work of the call like any other: it is interrupted with the
 * call and awaited, and it ends a fiber of its own if it goes on with what is no effect.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Json } from "../Json.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"
import { begin, known } from "./foreign.ts"
import { NotJson, snapshot, snapshotOfEncoded } from "./json.ts"
import * as Outcome from "./outcome.ts"
import type { Entry } from "./registry.ts"
import { issuesOf } from "./shape.ts"
import { stop } from "./stopping.ts"
import { describe, isA } from "./thrown.ts"
import { tie } from "./tie.ts"
import * as Ward from "./ward.ts"
import { FiberWork, type Work } from "./work.ts"

/** The success of a body that returned `value`. */
export const encode = (
  call: Call,
  entry: Entry,
  value: unknown
): Effect.Effect<Outcome.Succeeded, ToolResult.ToolCallFailed> => {
  const conclude = (encoded: Exit.Exit<unknown, unknown>) =>
    encoded._tag === "Success"
      ? succeed(call, entry, encoded.value, value)
      : Effect.fail(call.toError(Outcome.invalidOutput(issuesOf(encoded.cause))))
  const encoding = begin(() => entry.definition.success.encode(value))
  const exit = known(encoding)
  return exit === undefined ? Effect.flatMap(exitOf(call, encoding), conclude) : conclude(exit)
}

/** The success of a call for which a wrapper or a policy made up `value`: checked like a body's. */
export const accept = (call: Call, value: unknown): Effect.Effect<Outcome.Succeeded, ToolResult.ToolCallFailed> =>
  Effect.suspend(() => {
    const entry = call.entry!
    let copied: unknown = value
    try {
      // First, so that what is checked is what is published: a getter can answer differently each time.
      copied = snapshot(value)
    } catch {
      // Not JSON: `succeed` says so.
    }
    return Effect.flatMap(
      exitOf(call, begin(() => entry.definition.success.decode(copied))),
      (decoded) =>
        decoded._tag === "Success"
          ? succeed(call, entry, copied, decoded.value)
          : Effect.fail(call.toError(Outcome.invalidOutput(issuesOf(decoded.cause))))
    )
  })

/** How a schema ended, which may be waiting. An interruption by the call is not its end but the call's. */
const exitOf = (call: Call, schema: Effect.Effect<unknown, unknown>): Effect.Effect<Exit.Exit<unknown, unknown>> => {
  const exit = known(schema)
  return exit === undefined
    ? Effect.exit(tie(() => {
      const work = new FiberWork<unknown, unknown>(schema, {})
      call.track(work)
      return work
    }))
    : Effect.succeed(exit)
}

const succeed = (
  call: Call,
  { definition: { render } }: Entry,
  encoded: unknown,
  decoded: unknown
): Effect.Effect<Outcome.Succeeded, ToolResult.ToolCallFailed> => {
  try {
    const value = snapshotOfEncoded(encoded)
    const content = render === undefined ? Outcome.text(JSON.stringify(value)) : Outcome.checkContent(render(decoded))
    return Effect.succeed({ _tag: "Success", value, content })
  } catch (thrown) {
    const issue = isA(thrown, NotJson)
      ? { path: thrown.path, message: thrown.problem }
      : { path: [], message: describe(thrown).message }
    return Effect.fail(call.toError(Outcome.invalidOutput([issue])))
  }
}

/**
 * Writes what `body` failed with by the tool's failure schema, and tells `done` once that is quiet: `undefined` where the
 * schema refused it. In a call that is being cancelled a schema has no time to wait, only what it writes at once is told.
 */
export const writeFailure = (
  call: Call,
  { definition: { failure } }: Entry,
  body: Work<unknown, ToolResult.ToolCallFailed>,
  thrown: unknown,
  done: (written: Json | undefined) => void
): void => {
  const writing = begin(() => failure!.encode(thrown))
  const exit = known(writing)
  if (exit !== undefined) return done(jsonOf(exit))
  const work = new FiberWork<unknown, unknown>(writing, {})
  call.track(work)
  work.start(Ward.enter(call.services, body))
  if (body.cancellation !== undefined) stop(work, body.cancellation)
  work.observe((exit) => done(jsonOf(exit)))
}

const jsonOf = (exit: Exit.Exit<unknown, unknown>): Json | undefined => {
  if (exit._tag === "Failure") return undefined
  try {
    return snapshotOfEncoded(exit.value)
  } catch {
    return undefined
  }
}
