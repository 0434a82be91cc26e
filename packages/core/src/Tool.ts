/**
 * A tool: what a model is told about it, its schemas, its budget, and its body.
 *
 * A body is an effect (`make`), a promise function (`fromPromise`), or an effect on plain JSON (`raw`). Cancellation
 * reaches the first and the last as interruption and the second through `call.signal`; whichever it is, the call is
 * over when the body is quiet.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import { type Body, type Definition, TypeId } from "./internal/definition.ts"
import * as Shape_ from "./internal/shape.ts"
import { describe } from "./internal/thrown.ts"
import { Json } from "./Json.ts"
import type * as ToolCall from "./ToolCall.ts"
import type * as ToolResult from "./ToolResult.ts"

/**
 * An Effect Schema, or a Standard Schema that can also say its JSON Schema (zod >= 4.2, valibot, arktype). A Standard Schema
 * that is used for `success` or `failure` must accept its own output: it has no way back.
 */
export type Shape = Schema.Constraint | Shape_.Standard
export type Type<S> = S extends Schema.Constraint ? S["Type"]
  : S extends { readonly "~standard": { readonly types?: { readonly output: infer O } | undefined } } ? O
  : never
export type Encoded<S> = S extends Schema.Constraint ? S["Encoded"]
  : S extends { readonly "~standard": { readonly types?: { readonly input: infer I } | undefined } } ? I
  : never
export type SchemaServices<S> = S extends Schema.Constraint ? S["DecodingServices"] | S["EncodingServices"] : never

/**
 * `R` is what body and schemas need; it shows in the type of the registry's layer. A list typed `ReadonlyArray<Any>` has
 * `R = unknown`, which no layer can provide: type such a list `ReadonlyArray<Tool<string, any, Needs>>`.
 */
export interface Tool<
  out Name extends string,
  out Config extends { readonly parameters: Shape; readonly success: Shape; readonly failure: Shape },
  out R = never
> {
  readonly [TypeId]: Definition & { readonly _R: () => R }
  readonly name: Name
  readonly description: string
  readonly parameters: Config["parameters"]
  readonly success: Config["success"]
  readonly failure: Config["failure"]
  /** How a turn schedules it: beside others, or alone. */
  readonly mode: Mode
  /** What a model is shown for `parameters`. */
  readonly inputSchema: JsonSchema.JsonSchema
}
export interface Any extends Tool<string, any, unknown> {}
export interface AnyNoServices extends Tool<string, any, never> {}
export type Services<T> = T extends Tool<any, any, infer R> ? R : never
export type Parameters<T> = T extends Tool<any, infer C, any> ? Type<C["parameters"]> : never
export type ParametersEncoded<T> = T extends Tool<any, infer C, any> ? Encoded<C["parameters"]> : never
export type Success<T> = T extends Tool<any, infer C, any> ? Type<C["success"]> : never
export type Failure<T> = T extends Tool<any, infer C, any> ? Type<C["failure"]> : never

export type Mode = "parallel" | "exclusive"

export type FinalizeContent = (
  call: ToolCall.Pending,
  result: ToolResult.ToolResult
) => ReadonlyArray<ToolResult.Content> | undefined

/** A definition that cannot be a tool. Thrown where it is written, since it is a mistake of the program. */
export class InvalidTool extends Data.TaggedError("InvalidTool")<{ readonly name: string; readonly reason: string }> {
  override get message(): string {
    return `the tool ${JSON.stringify(this.name)} cannot be defined: ${this.reason}`
  }
}

export interface Options<P extends Shape, S extends Shape, F extends Shape> {
  readonly description: string
  readonly parameters: P
  readonly success: S
  /**
   * What the body may fail with, so that a failure crosses a log or a wire and comes back typed. What the schema writes is
   * published as `error.detail`, beside the failure's name and message; where it writes nothing there is no detail. Default:
   * never, and what a failure holds in fields of its own is its detail.
   */
  readonly failure?: F | undefined
  /** The body's budget: positive and at most 2^31−1 ms, what a platform timer can count. A model never sees it. */
  readonly timeout?: Duration.Input | undefined
  /** Default: `"parallel"`. */
  readonly mode?: Mode | undefined
  /** What a model is shown for a success. Default: the value as JSON text. */
  readonly render?: ((value: Type<S>) => ReadonlyArray<ToolResult.Content>) | undefined
  /** A last, synchronous say in the content of every result, failures included. */
  readonly finalizeContent?: FinalizeContent | undefined
}

/**
 * Defines a tool whose body is an effect.
 *
 * The body has a Scope of its own, closed before the call counts as quiet. What it fails with is TOOL_FAILURE with the
 * error's own name and fields, typed for the caller where `failure` describes it.
 *
 * **Interruption**: cancelling the call interrupts the body, whatever region a wrapper put it in.
 */
export const make = <
  const Name extends string,
  P extends Shape,
  S extends Shape,
  E,
  R,
  F extends Shape = typeof Schema.Never
>(
  name: Name,
  options: Options<P, S, F> & {
    readonly execute: (parameters: Type<P>, call: ToolCall.Running) => Effect.Effect<Type<S>, E, R>
  }
): Tool<
  Name,
  { readonly parameters: P; readonly success: S; readonly failure: NoInfer<F> },
  R | SchemaServices<P> | SchemaServices<S> | SchemaServices<F>
> => define(name, options, { _tag: "Effect", execute: options.execute })

/**
 * Defines a tool whose body is a promise function, or one that returns a value at once.
 *
 * **Interruption**: cancelling the call aborts `call.signal`; the call is over when the promise has settled.
 */
export const fromPromise = <
  const Name extends string,
  P extends Shape,
  S extends Shape,
  F extends Shape = typeof Schema.Never
>(
  name: Name,
  options: Options<P, S, F> & {
    readonly execute: (parameters: Type<P>, call: ToolCall.Running) => PromiseLike<Type<S>> | Type<S>
  }
): Tool<
  Name,
  { readonly parameters: P; readonly success: S; readonly failure: NoInfer<F> },
  SchemaServices<P> | SchemaServices<S> | SchemaServices<F>
> => define(name, options, { _tag: "Promise", execute: options.execute })

/** Defines a tool by a JSON Schema of elsewhere: its body gets the JSON as it came and answers with JSON. */
export const raw = <const Name extends string, E, R>(
  name: Name,
  options: {
    readonly description: string
    readonly inputSchema: JsonSchema.JsonSchema
    readonly timeout?: Duration.Input | undefined
    readonly mode?: Mode | undefined
    readonly execute: (json: Json, call: ToolCall.Running) => Effect.Effect<Json, E, R>
  }
): Tool<
  Name,
  {
    readonly parameters: Schema.Codec<Json>
    readonly success: Schema.Codec<Json>
    readonly failure: typeof Schema.Never
  },
  R
> => ({
  ...define(name, { ...options, parameters: Json, success: Json }, {
    _tag: "Effect",
    execute: options.execute
  }),
  inputSchema: options.inputSchema
})

const define = <Name extends string, P extends Shape, S extends Shape, F extends Shape>(
  name: Name,
  options: Options<P, S, F>,
  body: Body
): Tool<Name, { readonly parameters: P; readonly success: S; readonly failure: F }, any> => {
  const refuse = (reason: string): never => {
    throw new InvalidTool({ name: String(name), reason })
  }
  const read = <A>(what: string, f: () => A): A => {
    try {
      return f()
    } catch (thrown) {
      return refuse(`${what}: ${describe(thrown).message}`)
    }
  }
  if (typeof name !== "string" || name.trim() === "") refuse("its name is empty")
  const { failure, timeout } = options
  const budget = timeout === undefined ? undefined : read("its timeout", () => Duration.fromInputUnsafe(timeout))
  if (budget !== undefined && !isBudget(Duration.toMillis(budget))) {
    refuse(`its timeout is ${Duration.format(budget)}, and must be positive and at most 2^31-1 milliseconds`)
  }
  return {
    [TypeId]: {
      parameters: read("its parameters", () => Shape_.codec(options.parameters)),
      success: read("its success", () => Shape_.codec(options.success)),
      failure: failure === undefined ? undefined : read("its failure", () => Shape_.codec(failure)),
      timeout: budget,
      render: options.render,
      finalizeContent: options.finalizeContent,
      body
    } as Definition & { readonly _R: () => any },
    name,
    description: options.description,
    parameters: options.parameters,
    success: options.success,
    failure: (failure ?? Schema.Never) as F,
    mode: options.mode ?? "parallel",
    inputSchema: read("its parameters have no JSON Schema", () => Shape_.jsonSchema(options.parameters))
  }
}

// The largest delay a platform timer takes: a longer one fires at once.
const isBudget = (millis: number): boolean => millis > 0 && millis <= 2 ** 31 - 1
