/**
 * One request and its answer on a socket of their own.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Dns from "node:dns"
import * as NodeHttp from "node:http"
import * as NodeHttps from "node:https"
import * as Net from "node:net"
import type { Request, Response } from "../Http.ts"
import { HttpFailed } from "../HttpFailed.ts"
import * as Pull from "./pull.ts"

/** A request as it goes over the wire; a redirect makes the next one from it. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | undefined
  /** A server has seen the request that led to this one, and may have done what it asks for. */
  readonly isRedirected: boolean
}

export interface Exchange {
  readonly response: NodeHttp.IncomingMessage
  /** Closes the socket and waits until it is closed. */
  readonly close: Effect.Effect<void>
}

export const failed = (url: URL | string, reason: HttpFailed["reason"], code = "", reached = false): HttpFailed =>
  new HttpFailed({ url: typeof url === "string" ? url : withoutSecrets(url).href, reason, code, reached })

/** An error is shown to many who are not to know the name and the password that are written in a URL. */
const withoutSecrets = (url: URL): URL => Object.assign(new URL(url), { username: "", password: "" })

export const parse = (request: Request): Effect.Effect<Hop, HttpFailed> => {
  const url = URL.parse(String(request.url))
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return Effect.fail(failed(request.url, "Invalid", "ERR_INVALID_URL"))
  }
  const headers: { [name: string]: string } = { "user-agent": "quiesce", accept: "*/*", "accept-encoding": "identity" }
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
  const method = (request.method ?? "GET").toUpperCase()
  return Effect.succeed({ url, method, headers, body: request.body, isRedirected: false })
}

/** Sends `hop` and waits for the head of the answer; the socket lives until the scope closes. */
export const open = Effect.fnUntraced(function*(
  hop: Hop,
  allowed: (address: string) => boolean
): Effect.fn.Return<Exchange, HttpFailed, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const answered = Deferred.makeUnsafe<NodeHttp.IncomingMessage, HttpFailed>()
  yield* Effect.acquireRelease(start(hop, allowed, answered), closed).pipe(Scope.provide(scope))
  return { response: yield* Deferred.await(answered), close: Scope.close(scope, Exit.void) }
})

const start = (
  hop: Hop,
  allowed: (address: string) => boolean,
  answered: Deferred.Deferred<NodeHttp.IncomingMessage, HttpFailed>
): Effect.Effect<NodeHttp.ClientRequest, HttpFailed> =>
  Effect.suspend(() => {
    const { body, headers, isRedirected, method, url } = hop
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
    // An address that is written out is not looked up, so it is checked here.
    if (Net.isIP(host) !== 0 && !allowed(host)) return Effect.fail(failed(url, "NotAllowed", host, isRedirected))
    // Node calls back here, where nobody would catch what the caller's own function throws.
    const mayConnect = (address: string): boolean => {
      try {
        return allowed(address)
      } catch (defect) {
        Deferred.doneUnsafe(answered, Effect.die(defect))
        return false
      }
    }
    try {
      const { request } = url.protocol === "https:" ? NodeHttps : NodeHttp
      const sent = request(url, { method, headers: { ...headers }, agent: false, lookup: lookupAllowed(mayConnect) })
      let reached = false
      // Nothing is written before: not until the socket is connected and, with TLS, the other side is known.
      sent.once("socket", (socket) =>
        socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
          reached = true
        }))
      sent.on("error", (error) => Deferred.doneUnsafe(answered, Effect.fail(read(hop, reached, error))))
      // Without a word Node hangs up on a server that goes over to another protocol.
      sent.on("close", () => Deferred.doneUnsafe(answered, Effect.fail(failed(url, "Broken", "", true))))
      sent.on("response", (response) => {
        // Whoever reads the body hears of it there; who does not must not hear of it at all.
        response.on("error", () => {})
        Deferred.doneUnsafe(answered, Effect.succeed(response))
      })
      sent.end(body)
      return Effect.succeed(sent)
    } catch (error) {
      return Effect.fail(failed(url, "Invalid", (error as NodeJS.ErrnoException).code, isRedirected))
    }
  })

const closed = (request: NodeHttp.ClientRequest): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (request.closed) return resume(Effect.void)
    request.once("close", () => resume(Effect.void))
    request.destroy()
  })

/** A lookup that gives only allowed addresses: the socket connects to what was checked, and to nothing else. */
const lookupAllowed = (allowed: (address: string) => boolean): Net.LookupFunction => (hostname, options, callback) =>
  Dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [])
    const good = addresses.filter(({ address }) => allowed(address))
    const [first] = good
    if (first === undefined) return callback(Object.assign(new Error("not allowed"), { code: notAllowed }), [])
    if (options.all === true) callback(null, good)
    else callback(null, first.address, first.family)
  })

const notAllowed = "ERR_NOT_ALLOWED"

/** Reads what Node says of a request that failed before its answer began. */
const read = ({ isRedirected, url }: Hop, reached: boolean, error: NodeJS.ErrnoException): HttpFailed => {
  const code = error.code ?? ""
  if (code === notAllowed) return failed(url, "NotAllowed", url.hostname, isRedirected)
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "EAI_FAIL") {
    return failed(url, "Unresolved", code, isRedirected)
  }
  return failed(url, reached ? "Broken" : "Unreachable", code, reached || isRedirected)
}

/**
 * Whether a redirect is followed with GET. What a server is asked to put or to delete is asked of the next one too: its
 * answer to a GET would be taken for the deed.
 *
 * **Source**: RFC 9110, 15.4: 303 names where the result can be read; 301 and 302 may turn a POST, and nothing else.
 */
const becomesGetAt = (status: number, method: string): boolean =>
  status === 303 ? method !== "GET" && method !== "HEAD" : (status === 301 || status === 302) && method === "POST"

const redirects = new Set([301, 302, 303, 307, 308])

/** What is meant for one server is not told another. */
const forOneOrigin = new Set(["authorization", "cookie", "host", "proxy-authorization"])
const forOneBody = new Set(["content-length", "content-type", "content-encoding", "transfer-encoding"])

/** The request that a redirect asks for; undefined where the answer is none. */
export const redirect = (
  hop: Hop,
  response: NodeHttp.IncomingMessage
): Effect.Effect<Hop | undefined, HttpFailed> => {
  const status = response.statusCode ?? 0
  const { location } = response.headers
  if (!redirects.has(status) || location === undefined) return Effect.succeed(undefined)
  const url = URL.parse(location, hop.url)
  if (url === null || (url.protocol !== "https:" && url.protocol !== hop.url.protocol)) {
    // Also a step from https to http, which would say in the clear what was meant to be secret.
    return Effect.fail(failed(location, "NotAllowed", "", true))
  }
  const becomesGet = becomesGetAt(status, hop.method)
  const isOtherOrigin = url.origin !== hop.url.origin
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(([name]) =>
      !(isOtherOrigin && forOneOrigin.has(name)) && !(becomesGet && forOneBody.has(name))
    )
  )
  return Effect.succeed({
    url,
    headers,
    method: becomesGet ? "GET" : hop.method,
    body: becomesGet ? undefined : hop.body,
    isRedirected: true
  })
}

/** These have no body, whatever length they name: that of the body another request would get. */
const bodiless = new Set([204, 304])

export const toResponse = ({ method, url }: Hop, { response }: Exchange, maxBytes: number): Response => {
  const status = response.statusCode ?? 0
  const headers: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value
  }
  const tooLarge = failed(url, "TooLarge", "", true)
  const hasBody = method !== "HEAD" && !bodiless.has(status)
  const isTooLarge = hasBody && Number(headers["content-length"]) > maxBytes
  let size = 0
  const body = isTooLarge ? Stream.fail(tooLarge) : Pull.stream(response).pipe(
    Stream.mapError((error) => failed(url, "Broken", error.code, true)),
    Stream.mapEffect((bytes) => {
      size += bytes.length
      return size <= maxBytes ? Effect.succeed(bytes) : Effect.fail(tooLarge)
    })
  )
  return { url, status, headers, body }
}
