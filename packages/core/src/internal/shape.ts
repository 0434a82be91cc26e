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
import { describe } from "./thrown.ts"
import { failures, PromiseWork, tie } from "./work.ts"

export type Standard = StandardSchemaV1<any, any> & StandardJSONSchemaV1<any, any>

export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** The services of the schemas are those of the tool, in whose context both directions run. */
export interface Codec {
  readonly decode: (value: unknown) => Effect.Effect<unknown, unknown>
  readonly encode: (value: unknown) => Effect.Effect<unknown, unknown>
}

export const codec = (shape: Schema.Constraint | Standard): Codec =>
  Schema.isSchema(shape) ? effectCodec(shape) : standardCodec(shape as Standard)

/** The JSON Schema a model is shown. Throws where there is none. */
export const jsonSchema = (shape: Schema.Constraint | Standard): JsonSchema.JsonSchema => {
  if (!Schema.isSchema(shape)) {
    return without("$schema", (shape as Standard)["~standard"].jsonSchema.input({ target: "draft-2020-12" }))
  }
  const { definitions, schema } = Schema.toJsonSchemaDocument(shape)
  const plain = isJson(SchemaAST.toEncoded(shape.ast)) ? finiteNumbers(schema) as JsonSchema.JsonSchema : schema
  return Object.keys(definitions).length === 0 ? plain : { ...plain, $defs: definitions }
}

/** What a decoder or an encoder failed with, one issue for each fault. */
export const issuesOf = (cause: Cause.Cause<unknown>): ReadonlyArray<Issue> => {
  const failure = failures(cause)[0]
  if (failure instanceof StandardIssues) return failure.issues
  return Schema.isSchemaError(failure)
    ? standardIssues(SchemaIssue.makeFormatterStandardSchemaV1()(failure.issue).issues)
    : [{ path: [], message: describe(failure).message }]
}

const parseOptions: SchemaAST.ParseOptions = { errors: "all" }

const effectCodec = (schema: Schema.Top): Codec => {
  const json = isJson(SchemaAST.toEncoded(schema.ast)) ? schema : Schema.toCodecJson(schema)
  return {
    decode: Schema.decodeUnknownEffect(json, parseOptions) as Codec["decode"],
    encode: Schema.encodeUnknownEffect(json, parseOptions) as Codec["encode"]
  }
}

/** A Standard Schema only knows one way: what it makes of a value is also how the value is written. */
const standardCodec = (schema: Standard): Codec => {
  const validate = (value: unknown): Effect.Effect<unknown, unknown> =>
    Effect.suspend(() => {
      const result = schema["~standard"].validate(value)
      return isPromiseLike(result)
        ? Effect.flatMap(tie(() => new PromiseWork<StandardSchemaV1.Result<any>, unknown>(() => result, {})), conclude)
        : conclude(result)
    })
  return { decode: validate, encode: validate }
}

const conclude = (result: StandardSchemaV1.Result<unknown>): Effect.Effect<unknown, StandardIssues> =>
  result.issues === undefined
    ? Effect.succeed(result.value)
    : Effect.fail(new StandardIssues(standardIssues(result.issues)))

class StandardIssues {
  readonly issues: ReadonlyArray<Issue>

  constructor(issues: ReadonlyArray<Issue>) {
    this.issues = issues
  }
}

const standardIssues = (issues: ReadonlyArray<StandardSchemaV1.Issue>): ReadonlyArray<Issue> =>
  issues.map(({ message, path }) => ({
    message,
    path: (path ?? []).map((segment) => {
      const key = Predicate.isObject(segment) ? segment["key"] : segment
      return typeof key === "number" ? key : String(key)
    })
  }))

const isPromiseLike = <A>(value: A | PromiseLike<A>): value is PromiseLike<A> =>
  Predicate.hasProperty(value, "then") && typeof value.then === "function"

/** Whether every value of `ast` that is JSON at all is JSON as it stands. */
const isJson = (ast: SchemaAST.AST, seen: Set<SchemaAST.AST> = new Set()): boolean => {
  if (seen.has(ast)) return true
  seen.add(ast)
  if (SchemaAST.isObjects(ast)) {
    return ast.propertySignatures.every(({ type }) => isJson(type, seen)) &&
      ast.indexSignatures.every(({ type }) => isJson(type, seen))
  }
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].every((type) => isJson(type, seen))
  // An optional property's `undefined` stands for its absence.
  if (SchemaAST.isUnion(ast)) return ast.types.every((type) => SchemaAST.isUndefined(type) || isJson(type, seen))
  if (SchemaAST.isSuspend(ast)) return isJson(ast.thunk(), seen)
  return !(SchemaAST.isDeclaration(ast) || SchemaAST.isVoid(ast) || SchemaAST.isUndefined(ast) ||
    SchemaAST.isBigInt(ast) || SchemaAST.isSymbol(ast) || SchemaAST.isUniqueSymbol(ast) ||
    SchemaAST.isObjectKeyword(ast))
}

/**
 * Effect describes `Schema.Number` by its JSON codec: a number, or the text "Infinity", "-Infinity" or "NaN". Here the
 * texts are not accepted, and a model must not be told that they are.
 */
const finiteNumbers = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(finiteNumbers)
  if (!Predicate.isObject(schema)) return schema
  const { anyOf } = schema as { readonly anyOf?: ReadonlyArray<Record<string, unknown>> }
  if (
    anyOf?.length === 2 && anyOf[0]?.["type"] === "number" && String(anyOf[1]?.["enum"]) === "Infinity,-Infinity,NaN"
  ) {
    return { ...anyOf[0], ...without("anyOf", schema as Record<string, unknown>) }
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, finiteNumbers(value)]))
}

const without = (key: string, fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key))
