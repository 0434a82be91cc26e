/**
 * One view of the schemas a tool may be defined with: an Effect Schema, or a Standard Schema that knows its JSON Schema.
 *
 * Decoders and encoders are compiled once, when the tool is defined. An Effect Schema whose encoded side is JSON as it
 * stands is used as it stands; one that is not (a Date, a bigint, `Void`) is used through its JSON codec.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import { describeSchema, isJson } from "./description.ts"
import { failures } from "./failure.ts"
import { begin } from "./foreign.ts"
import { describe } from "./thrown.ts"
import { tie } from "./tie.ts"
import { PromiseWork } from "./work.ts"

export type Standard = StandardSchemaV1<any, any> & StandardJSONSchemaV1<any, any>

export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** The services of the schemas are those of the tool, in whose context both directions run. */
export interface Codec {
  readonly decode: (value: unknown) => Effect.Effect<unknown, unknown>
  readonly encode: (value: unknown) => Effect.Effect<unknown, unknown>
  /** Writes the encoded side as JSON, where it is not JSON as it stands (a bigint, say). */
  readonly toJson: ((encoded: unknown) => Effect.Effect<unknown, unknown>) | undefined
}

/** Throws for what is no schema. */
export const codec = (shape: Schema.Constraint | Standard): Codec => {
  if (Schema.isSchema(shape)) return effectCodec(shape)
  if (typeof standardOf(shape)?.validate === "function") return standardCodec(shape as Standard)
  throw new TypeError("it is neither an Effect Schema nor a Standard Schema; for a JSON Schema there is Tool.raw")
}

/** The JSON Schema a model is shown. Throws where there is none. */
export const jsonSchema = (shape: Schema.Constraint | Standard): JsonSchema.JsonSchema => {
  if (Schema.isSchema(shape)) return describeSchema(shape)
  const schema: unknown = standardOf(shape)?.jsonSchema?.input({ target: "draft-2020-12" })
  if (!Predicate.isObject(schema)) {
    throw new TypeError(
      "it is a Standard Schema that does not know one (zod does from 4.2 on, Valibot through toStandardJsonSchema)"
    )
  }
  return without("$schema", schema as Record<string, unknown>)
}

const standardOf = (shape: unknown): Partial<Standard["~standard"]> | undefined =>
  (shape as Partial<Standard> | null | undefined)?.["~standard"]

/** More than anybody corrects at once, and few enough for a message: a large array can have a fault in every element. */
const maxIssues = 1_000

const bounded = (issues: ReadonlyArray<Issue>): ReadonlyArray<Issue> =>
  issues.length <= maxIssues
    ? issues
    : [...issues.slice(0, maxIssues), { path: [], message: `and ${issues.length - maxIssues} more` }]

/** What a decoder or an encoder failed with, one issue for each fault. */
export const issuesOf = (cause: Cause.Cause<unknown>): ReadonlyArray<Issue> => {
  const failure = failures(cause)[0]
  try {
    if (failure instanceof StandardIssues) return bounded(failure.issues)
    if (Schema.isSchemaError(failure)) {
      return bounded(standardIssues(SchemaIssue.makeFormatterStandardSchemaV1()(failure.issue).issues))
    }
  } catch {
    // Not to be looked at, or a message of the schema's own throws.
  }
  return [{ path: [], message: describe(failure).message }]
}

const parseOptions: SchemaAST.ParseOptions = { errors: "all" }

const effectCodec = (schema: Schema.Top): Codec => {
  const asItStands = isJson(schema)
  const json = asItStands ? schema : Schema.toCodecJson(schema)
  return {
    decode: Schema.decodeUnknownEffect(json, parseOptions) as Codec["decode"],
    encode: Schema.encodeUnknownEffect(json, parseOptions) as Codec["encode"],
    toJson: asItStands
      ? undefined
      : Schema.encodeUnknownEffect(Schema.toCodecJson(Schema.make(SchemaAST.toEncoded(schema.ast)))) as Codec["encode"]
  }
}

/** A Standard Schema only knows one way: what it makes of a value is also how the value is written. */
const standardCodec = (schema: Standard): Codec => {
  const validate = (value: unknown): Effect.Effect<unknown, unknown> =>
    begin(() => {
      const result = schema["~standard"].validate(value)
      return isPromiseLike(result)
        ? Effect.flatMap(tie(() => new PromiseWork<StandardSchemaV1.Result<any>, unknown>(() => result, {})), conclude)
        : conclude(result)
    })
  return { decode: validate, encode: validate, toJson: undefined }
}

const conclude = (result: StandardSchemaV1.Result<unknown>): Effect.Effect<unknown, StandardIssues> => {
  if (result.issues !== undefined) return Effect.fail(new StandardIssues(standardIssues(result.issues)))
  return Predicate.hasProperty(result, "value")
    ? Effect.succeed(result.value)
    : Effect.die(new TypeError("the schema answered with neither a value nor issues"))
}

class StandardIssues {
  readonly issues: ReadonlyArray<Issue>

  constructor(issues: ReadonlyArray<Issue>) {
    this.issues = issues
  }
}

const standardIssues = (issues: ReadonlyArray<StandardSchemaV1.Issue>): ReadonlyArray<Issue> =>
  issues.map(({ message, path }) => ({
    message: String(message),
    path: (path ?? []).map((segment) => {
      const key = Predicate.isObject(segment) ? segment["key"] : segment
      // As text what is no index, so that a path is JSON.
      return isIndex(key) ? key : String(key)
    })
  }))

const isIndex = (key: unknown): key is number => Number.isInteger(key) && Object.is(key, Math.abs(key as number))

const isPromiseLike = <A>(value: A | PromiseLike<A>): value is PromiseLike<A> =>
  Predicate.hasProperty(value, "then") && typeof value.then === "function"

const without = (key: string, fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key))
