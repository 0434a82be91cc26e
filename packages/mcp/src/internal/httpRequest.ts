/** What an HTTP server takes: who may ask, what a body may be, and what may end a request meanwhile. */
import {
  isJsonContentType,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  readRequestBody,
  validateHostHeader,
  validateOriginHeader
} from "@modelcontextprotocol/server"
import * as Frames from "@quiesce/wire/Frames"
import { refuse } from "./httpResponse.ts"
import * as Message from "./message.ts"

/** The names that a server may be reached by, and the pages that may ask it: `"any"` where something before it has checked. */
export type Names = ReadonlyArray<string> | "any"

/** What is wrong with where a request comes from or goes to: a page of elsewhere must not reach a server on this machine. */
export const checkNames = (
  request: Request,
  hosts: Names | undefined,
  origins: Names | undefined
): Response | undefined => {
  if (hosts !== "any") {
    const host = request.headers.get("host") ?? new URL(request.url).host
    const checked = validateHostHeader(host, [...hosts ?? localhostAllowedHostnames()])
    if (!checked.ok) return refuse(403, -32000, checked.message)
  }
  if (origins !== "any") {
    const checked = validateOriginHeader(request.headers.get("origin"), [...origins ?? localhostAllowedOrigins()])
    if (!checked.ok) return refuse(403, -32000, checked.message)
  }
  return undefined
}

/** The messages of a POST, or the response to one that has none. */
export const readBody = async (
  request: Request,
  maxBodyBytes: number
): Promise<{ readonly body: unknown } | Response> => {
  const { invalidRequest, parse } = Message.errorCodes
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refuse(415, -32000, "Unsupported Media Type: Content-Type must be application/json")
  }
  let text: string
  try {
    const read = await readRequestBody(request, maxBodyBytes)
    if (read.tooLarge) return refuse(413, -32000, `Payload too large: a body has at most ${maxBodyBytes} bytes`)
    text = read.text
  } catch {
    return refuse(400, parse, "Parse error: the body cannot be read")
  }
  const frame = Frames.read(text, { maxDepth: Message.maxDepth })
  if (frame._tag === "NotJson") return refuse(400, parse, "Parse error: the body is not JSON")
  if (frame._tag !== "Json") {
    return refuse(
      400,
      invalidRequest,
      `Invalid Request: a message is nested at most ${Message.maxDepth} levels deep`,
      Message.asker(frame)
    )
  }
  const body = frame.value
  const messages = Array.isArray(body) ? body : [body]
  // A hundred is what the SDK takes.
  if (messages.length === 0 || messages.length > 100) {
    return refuse(400, invalidRequest, "Invalid Request: a batch has 1 to 100 messages")
  }
  for (const message of messages) {
    const fault = Message.faultOf(message)
    if (fault !== undefined) return refuse(400, invalidRequest, `Invalid Request: ${fault}`, Message.idOf(message))
  }
  return { body }
}

/** Listens to what may end a request; returns how to stop that. */
export const listen = (
  signals: ReadonlyArray<readonly [AbortSignal | undefined, (reason: unknown) => void]>
): () => void => {
  const stops = signals.map(([signal, heard]) => {
    const listener = () => heard(signal?.reason)
    // It may have aborted while the request was read.
    if (signal?.aborted === true) listener()
    signal?.addEventListener("abort", listener, { once: true })
    return () => signal?.removeEventListener("abort", listener)
  })
  return () => stops.forEach((stop) => stop())
}
