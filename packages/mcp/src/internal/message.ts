/**
 * JSON-RPC messages as far as this package reads them. What is in them is the SDK's business; who may be answered, and
 * who is cancelled, is ours.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/server"
import type * as Frames from "@quiesce/wire/Frames"

/** `1` and `"1"` are different ids, and so they are different keys of a `Map`. */
export type Id = string | number

export interface Request {
  readonly id: Id
  readonly method: string
  readonly params?: { readonly [key: string]: unknown } | undefined
}

export interface Notification {
  readonly method: string
  readonly params?: { readonly [key: string]: unknown } | undefined
}

export const isId = (value: unknown): value is Id =>
  typeof value === "string" || (typeof value === "number" && Number.isFinite(value))

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isRequest = (message: unknown): message is Request =>
  isRecord(message) && typeof message["method"] === "string" && isId(message["id"])

export const isNotification = (message: unknown): message is Notification =>
  isRecord(message) && typeof message["method"] === "string" && !("id" in message)

export const isResponse = (message: unknown): message is { readonly id: Id | null | undefined } =>
  isRecord(message) && !("method" in message) && ("result" in message || "error" in message)

export const isProgress = (message: unknown): boolean =>
  isNotification(message) && message.method === "notifications/progress"

/** The id of what cannot be read otherwise, so that its refusal finds who sent it. */
export const idOf = (value: unknown): Id | null =>
  isRecord(value) && "method" in value && isId(value["id"]) ? value["id"] : null

/** The id of a call that was refused before anybody read it. */
export const asker = ({ id, kind }: Frames.Refused): Id | null => kind === "call" && isId(id) ? id : null

export const meta = (params: Request["params"]): { readonly [key: string]: unknown } => {
  const value = params?.["_meta"]
  return isRecord(value) ? value : {}
}

/** Whether the request is one of the stateless revisions: each of their requests says which it is of. */
export const isStateless = ({ params }: Request): boolean => {
  const version = meta(params)["io.modelcontextprotocol/protocolVersion"]
  // Revisions are dates, which are ordered like texts.
  return typeof version === "string" && version >= "2026-07-28"
}

export const errorCodes = {
  parse: -32700,
  invalidRequest: -32600,
  invalidParams: -32602,
  internal: -32603,
  busy: -32000
} as const

export const refusal = (id: Id | null, code: number, message: string): JSONRPCMessage =>
  // JSON-RPC says `null` where the id is not known, which the SDK's type leaves out.
  ({ jsonrpc: "2.0", id, error: { code, message } }) as JSONRPCMessage

/** What a handler of somebody else answers with may be no JSON: who asked is told that, and does not wait. */
export const sayable = (answer: JSONRPCMessage, id: Id): JSONRPCMessage => {
  try {
    if (isResponse(JSON.parse(JSON.stringify(answer)))) return answer
  } catch {
    // a cycle, a bigint, a `toJSON` that throws
  }
  return refusal(id, errorCodes.internal, "Internal error: the answer is not JSON")
}

/**
 * How deep arrays and objects of a message may be nested. The core takes arguments of 512 levels, which are some levels down
 * in their message; what is far deeper only exhausts the stack of whoever validates it.
 */
export const maxDepth = 1024

/** What is wrong with a message, before anybody asks what it says. */
export const faultOf = (message: unknown): string | undefined => {
  if (Array.isArray(message)) return "messages come one by one"
  if (typeof message !== "object" || message === null) return "a message is an object"
  const { jsonrpc, params } = message as { readonly jsonrpc?: unknown; readonly params?: unknown }
  if (jsonrpc !== "2.0") return "a message says \"jsonrpc\": \"2.0\""
  if (!isRequest(message) && !isNotification(message) && !isResponse(message)) {
    return "a message is a request, a notification or a response, and an id is a string or a number"
  }
  if (params !== undefined && (typeof params !== "object" || params === null || Array.isArray(params))) {
    return "params is an object"
  }
  return undefined
}
