/**
 * The JSON Schema of an Effect Schema, as a model is shown it. What it accepts, the decoder must accept.
 *
 * Effect describes every schema by its JSON codec. One whose encoded side is JSON as it stands (`isJson`) is used as it
 * stands, without the codec's detours: a number is not written as the text "Infinity", nor an absent property as null.
 * So these are taken out of the description.
 */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaRepresentation from "effect/SchemaRepresentation"

type Representation = SchemaRepresentation.Representation

/** Throws for a schema that has none. */
export const describeSchema = (schema: Schema.Constraint): JsonSchema.JsonSchema => {
  const encoded = SchemaAST.toEncoded(schema.ast)
  if (some(encoded, isOpaque)) throw new TypeError("it has a type that does not say how it is written as JSON")
  const document = isJson(schema)
    ? rewrite(SchemaRepresentation.toRepresentation(encoded), (part) => asObject(asItStands(part)))
    : rewrite(SchemaRepresentation.toRepresentation(Schema.toCodecJson(schema).ast), asObject)
  const described = SchemaRepresentation.toJsonSchemaDocument(inlineRoot(document))
  return Object.keys(described.definitions).length > 0 && JSON.stringify(described.schema).includes("\"$ref\"")
    ? { ...described.schema, $defs: described.definitions }
    : described.schema
}

/**
 * Whether every value of the encoded side that is JSON at all is JSON as it stands. One part that is not decides for the
 * whole: effect derives codecs of whole schemas.
 */
export const isJson = (schema: Schema.Constraint): boolean =>
  !some(
    SchemaAST.toEncoded(schema.ast),
    (ast) =>
      (SchemaAST.isDeclaration(ast) && !isCanonical(ast)) || SchemaAST.isVoid(ast) || SchemaAST.isUndefined(ast) ||
      SchemaAST.isBigInt(ast) || SchemaAST.isSymbol(ast) || SchemaAST.isUniqueSymbol(ast) ||
      SchemaAST.isObjectKeyword(ast)
  )

const some = (
  ast: SchemaAST.AST,
  test: (ast: SchemaAST.AST) => boolean,
  seen: Set<SchemaAST.AST> = new Set()
): boolean => {
  if (seen.has(ast)) return false
  seen.add(ast)
  return test(ast) || partsOf(ast).some((part) => some(part, test, seen))
}

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  if (SchemaAST.isObjects(ast)) return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest]
  // No JSON is `undefined`: in a union it stands for a property that is absent.
  if (SchemaAST.isUnion(ast)) return ast.types.filter((type) => !SchemaAST.isUndefined(type))
  if (SchemaAST.isSuspend(ast)) return [ast.thunk()]
  return SchemaAST.isDeclaration(ast) ? ast.typeParameters : []
}

/** `Schema.Json`, say: it has a codec to say that it needs none. */
const isCanonical = ({ annotations, typeParameters }: SchemaAST.Declaration): boolean => {
  const codec = annotations?.["toCodecJson"]
  return typeParameters.length === 0 && Predicate.isFunction(codec) && codec([]) === undefined
}

/** A class, say: effect describes it by a schema that accepts everything, and its decoder accepts no JSON. */
const isOpaque = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isDeclaration(ast) &&
  !Predicate.isFunction(ast.annotations?.["toCodecJson"] ?? ast.annotations?.["toCodec"])

const asItStands = (representation: Representation): Representation => {
  switch (representation._tag) {
    case "Number":
      return { ...representation, checks: [...representation.checks, is({ type: "number" })] }
    case "Union": {
      const { annotations, checks } = representation
      const types = representation.types.filter(({ _tag }) => _tag !== "Undefined")
      return types.length === 1 && annotations === undefined && checks.length === 0
        ? types[0]!
        : { ...representation, types }
    }
    default:
      return representation
  }
}

/**
 * Effect says of a struct without fields that it accepts everything but null. A model is asked for an object: there are
 * protocols and providers that take no parameters of another type.
 */
const asObject = (representation: Representation): Representation =>
  representation._tag === "Objects" && representation.propertySignatures.length === 0 &&
    representation.indexSignatures.length === 0
    ? { ...representation, _tag: "Unknown", checks: [...representation.checks, is({ type: "object", properties: {} })] }
    : representation

/** A check that says nothing but `schema`. */
const is = (schema: JsonSchema.JsonSchema): SchemaRepresentation.Check => ({
  _tag: "Filter",
  annotations: { toJsonSchema: () => schema },
  aborted: false
})

/** A name for the whole must not hide that it is an object. */
const inlineRoot = ({ references, representation }: SchemaRepresentation.Document): SchemaRepresentation.Document => ({
  representation: representation._tag === "Reference" ? references[representation.$ref]! : representation,
  references
})

/** Applies `rule` to every part of `document`, the innermost first. */
const rewrite = (
  { references, representation }: SchemaRepresentation.Document,
  rule: (part: Representation) => Representation
): SchemaRepresentation.Document => {
  const seen = new Map<Representation, Representation>()
  const recur = (part: Representation): Representation => {
    const known = seen.get(part)
    if (known !== undefined) return known
    const result = rule(mapParts(part, recur))
    seen.set(part, result)
    return result
  }
  return {
    representation: recur(representation),
    references: Object.fromEntries(Object.entries(references).map(([name, reference]) => [name, recur(reference)]))
  }
}

const mapParts = (representation: Representation, f: (part: Representation) => Representation): Representation => {
  const inType = <T extends { readonly type: Representation }>(part: T): T => ({ ...part, type: f(part.type) })
  switch (representation._tag) {
    case "Objects": {
      const { indexSignatures, propertySignatures } = representation
      return {
        ...representation,
        propertySignatures: propertySignatures.map(inType),
        indexSignatures: indexSignatures.map(inType)
      }
    }
    case "Arrays":
      return { ...representation, elements: representation.elements.map(inType), rest: representation.rest.map(f) }
    case "Union":
      return { ...representation, types: representation.types.map(f) }
    case "Suspend":
      return { ...representation, thunk: f(representation.thunk) }
    default:
      return representation
  }
}
