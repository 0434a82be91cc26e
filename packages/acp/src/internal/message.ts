/**
 * What is written on the wire: JSON-RPC 2.0 as ACP uses it, without batches.
 */
import type { AnyMessage, AnyNotification, AnyRequest, AnyResponse, JsonRpcId, Result } from "@agentclientprotocol/sdk"

export type { AnyMessage, AnyNotification, AnyRequest, AnyResponse, JsonRpcId, Result }

/** **Source**: https://www.jsonrpc.org/specification#error_object, and ACP's own `RequestCancelled`. */
export const code = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  requestCancelled: -32800
} as const

export const cancelRequest = "$/cancel_request"

/** A value from the wire, by what it is. `id` of an invalid one: where it can be told. */
export type Inbound =
  | { readonly _tag: "Request"; readonly message: AnyRequest }
  | { readonly _tag: "Notification"; readonly message: AnyNotification }
  | { readonly _tag: "Response"; readonly message: AnyResponse }
  /** An answer to `id` that is none. */
  | { readonly _tag: "InvalidResponse"; readonly id: JsonRpcId | undefined; readonly problem: string }
  | { readonly _tag: "Invalid"; readonly id: JsonRpcId | undefined; readonly problem: string }

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** **Source**: `RequestId` of the protocol's schema: null, an integer, or a string. */
export const isId = (value: unknown): value is JsonRpcId =>
  value === null || typeof value === "string" || Number.isSafeInteger(value)

const idOf = (value: Readonly<Record<string, unknown>>): JsonRpcId | undefined =>
  Object.hasOwn(value, "id") && isId(value["id"]) ? value["id"] : undefined

/** Tells what a value from the wire is. */
export const classify = (value: unknown): Inbound => {
  if (Array.isArray(value)) return { _tag: "Invalid", id: undefined, problem: "batches are not supported" }
  if (!isRecord(value)) return { _tag: "Invalid", id: undefined, problem: "a message is an object" }
  const id = idOf(value)
  if (value["jsonrpc"] !== "2.0") return { _tag: "Invalid", id, problem: "`jsonrpc` is not \"2.0\"" }
  const hasId = Object.hasOwn(value, "id")
  if (!Object.hasOwn(value, "method")) return response(value, id)
  if (typeof value["method"] !== "string") return { _tag: "Invalid", id, problem: "`method` is not a string" }
  const params = value["params"]
  // By position, which ACP does not use, or no parameters at all.
  if (params !== undefined && params !== null && typeof params !== "object") {
    return { _tag: "Invalid", id, problem: "`params` is neither an object nor an array" }
  }
  if (!hasId) return { _tag: "Notification", message: value as unknown as AnyNotification }
  return id === undefined
    ? { _tag: "Invalid", id, problem: "`id` is neither a string, an integer nor null" }
    : { _tag: "Request", message: value as unknown as AnyRequest }
}

const response = (value: Readonly<Record<string, unknown>>, id: JsonRpcId | undefined): Inbound => {
  const hasError = Object.hasOwn(value, "error")
  const hasResult = Object.hasOwn(value, "result")
  if (!hasError && !hasResult) return { _tag: "Invalid", id, problem: "neither a request nor an answer" }
  if (hasError && hasResult) return { _tag: "InvalidResponse", id, problem: "both a result and an error" }
  if (id === undefined) return { _tag: "InvalidResponse", id, problem: "without an id" }
  if (hasError && !isError(value["error"])) return { _tag: "InvalidResponse", id, problem: "its error is none" }
  return { _tag: "Response", message: value as unknown as AnyResponse }
}

const isError = (value: unknown): boolean =>
  isRecord(value) && Number.isInteger(value["code"]) && typeof value["message"] === "string"

export const failure = (code: number, message: string, data?: unknown): Result<never> => ({
  error: data === undefined ? { code, message } : { code, message, data }
})

/** The session that a message is about, where it says so. */
export const sessionOf = (params: unknown): string | undefined =>
  isRecord(params) && typeof params["sessionId"] === "string" ? params["sessionId"] : undefined
