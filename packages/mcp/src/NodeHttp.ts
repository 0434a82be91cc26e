/**
 * An `HttpServer` for `node:http`: as the listener of a server, also behind frameworks that hand on Node's requests.
 *
 * A client that goes away aborts the signal of the request, whether it had its response or not.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { HandleOptions, Shape } from "./HttpServer.ts"

/** `createServer(listener(server))`. `options` gives what `handle` is told of a request. */
export const listener = (
  server: Shape,
  options: (request: IncomingMessage) => HandleOptions = () => ({})
): (request: IncomingMessage, response: ServerResponse) => void =>
(request, response) => {
  respond(server, request, response, options).catch(() => {
    // The client is gone, or the request was none: there is nobody to tell.
    response.destroy()
  })
}

const respond = async (
  server: Shape,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: (request: IncomingMessage) => HandleOptions
): Promise<void> => {
  const controller = new AbortController()
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) controller.abort()
  })
  const request = toRequest(incoming, controller.signal)
  if (request === undefined) return void outgoing.writeHead(400).end()
  const { body, headers, status } = await server.handle(request, options(incoming))
  if (controller.signal.aborted) return body?.cancel()
  outgoing.writeHead(status, Object.fromEntries(headers))
  if (body === null) return void outgoing.end()
  // A stream is announced before there is anything in it.
  outgoing.flushHeaders()
  await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), outgoing)
}

/** `undefined` for what has no URL: its host is no name. */
const toRequest = (incoming: IncomingMessage, signal: AbortSignal): Request | undefined => {
  const { headers: given, method = "GET", url = "/" } = incoming
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, one)
  }
  const hasBody = method !== "GET" && method !== "HEAD"
  const address = `http://${given.host ?? "localhost"}${url}`
  if (!URL.canParse(address)) return undefined
  return new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" } : {})
  } as RequestInit)
}
