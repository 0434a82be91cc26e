/**
 * Effect 3 on one side, Quiesce's promise face on the other: schemas, bodies, and calls.
 */
import { ArrayFormatter, JSONSchema, ParseResult, type Schema } from "@effect/schema"
import type { Tool, Toolbox, ToolResult } from "@quiesce/example-effect3-tools"
import { Cause, Effect, Either, Exit } from "effect"

/** A schema of `@effect/schema` as a Standard Schema that knows its JSON Schema, which is what a tool takes. */
export const standard = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = ParseResult.decodeUnknownEither(schema, { errors: "all" })
  const { $schema: _, ...jsonSchema } = JSONSchema.make(schema)
  return {
    "~standard": {
      version: 1,
      vendor: "@effect/schema",
      types: undefined as { readonly input: I; readonly output: A } | undefined,
      validate: (value: unknown) =>
        Either.match(decode(value), {
          onLeft: (error) => ({ issues: ArrayFormatter.formatIssueSync(error) }),
          onRight: (value) => ({ value })
        }),
      jsonSchema: { input: () => jsonSchema, output: () => jsonSchema }
    }
  } as const satisfies Tool.Shape
}

/**
 * An effect of version 3 as the body of a tool. Aborting `signal` interrupts it, and the promise settles when its finalizers
 * have run; what it fails with is thrown as it is.
 */
export const body = async <A, E>(effect: Effect.Effect<A, E>, signal: AbortSignal): Promise<A> => {
  // Effect would begin all the same, and run until it first waits.
  signal.throwIfAborted()
  const exit = await Effect.runPromiseExit(effect, { signal })
  if (Exit.isSuccess(exit)) return exit.value
  // Only interrupted, and by us, so nothing has gone wrong: this is the abort itself.
  if (signal.aborted && Cause.isInterruptedOnly(exit.cause)) throw signal.reason
  throw Cause.squash(exit.cause)
}

/**
 * A call as an effect of version 3. Interrupting it cancels the call, and the interrupter waits until that is quiet:
 * `Effect.tryPromise` would abort as well, and would not wait.
 */
export const call = (
  toolbox: Toolbox.Toolbox,
  input: { readonly callId: string; readonly name: string; readonly arguments: unknown }
): Effect.Effect<ToolResult.ToolResult> =>
  Effect.async((resume) => {
    const controller = new AbortController()
    const result = toolbox.execute({ ...input, signal: controller.signal })
    void result.then((result) => resume(Effect.succeed(result)))
    return Effect.zipRight(Effect.sync(() => controller.abort()), Effect.promise(() => result))
  })
