/**
 * HTTP requests that let go: whoever gives up a request has closed its socket, before and behind the headers.
 *
 * Each request has a socket of its own, and it lives in the scope of the request: closing the scope closes the socket
 * and waits until it is closed, so the server sees that nobody is listening any more. Where a request may go is decided
 * when the socket connects, by the address it connects to, and again for every redirect.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { HttpFailed } from "./HttpFailed.ts"
import * as Addresses from "./internal/addresses.ts"
import * as Exchange from "./internal/exchange.ts"
import { retryAfterMillis } from "./internal/retryAfter.ts"

/** Says whether a request may go to an address. */
export type Destinations = (address: string) => boolean

/** Public addresses, and nothing of this machine and its networks. */
export const publicOnly: Destinations = Addresses.isPublic

/** Public addresses, and those of `networks` (`127.0.0.1`, `10.0.0.0/8`, `fd00::/8`). */
export const publicAnd = (...networks: ReadonlyArray<string>): Destinations => {
  const list = Addresses.blockList(networks)
  return (address) => Addresses.isPublic(address) || Addresses.contains(list, address)
}

/** Where requests may go. Default: `publicOnly`, since a model or a page that is read may name any address. */
export const Destinations: Context.Reference<Destinations> = Context.Reference<Destinations>(
  "@quiesce/node/Http/Destinations",
  { defaultValue: () => publicOnly }
)

export interface Request {
  readonly url: string | URL
  readonly method?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | Uint8Array | undefined
  /** How many redirects are followed. Default: 5; a longer chain is a circle or a tracker. */
  readonly maxRedirects?: number | undefined
  /** A larger body is `TooLarge`. Default: 10 MiB. */
  readonly maxBytes?: number | undefined
  readonly retry?: Retry | undefined
}

/**
 * When to ask again: a request that cannot have arrived, and one that may be repeated (GET, HEAD, OPTIONS, PUT, DELETE)
 * whose connection broke or whose server answered 429, 502, 503 or 504. The n-th wait is between half and all of
 * `base * 2^n`, or what `Retry-After` says; one longer than `max` is not waited, and the answer stands.
 */
export interface Retry {
  readonly times: number
  /** Default: 200 milliseconds. */
  readonly base?: Duration.Input | undefined
  /** Default: 30 seconds. */
  readonly max?: Duration.Input | undefined
}

/** The head of an answer, and its body as it arrives. */
export interface Response {
  readonly url: URL
  readonly status: number
  /** Names in lower case; of several with one name, all of them, separated by a comma. */
  readonly headers: { readonly [name: string]: string }
  readonly body: Stream.Stream<Uint8Array, HttpFailed>
}

/** An answer that was read to its end. */
export interface Answer extends Omit<Response, "body"> {
  readonly body: Uint8Array
}

const defaults = { maxRedirects: 5, maxBytes: 10 * 1024 * 1024, base: Duration.millis(200), max: Duration.seconds(30) }

/**
 * Sends a request and gives the head of the answer; redirects are followed.
 *
 * **Errors**: `HttpFailed`; its `reached` says whether the server may have seen the request. A status is no error.
 *
 * **Interruption**: closes the socket, and waits until it is closed. So does the end of the scope.
 *
 * **Limits**: a name lookup that is under way ends by itself, since the system cannot take it back; nothing is
 * connected any more then. Proxies and compressed bodies are not supported.
 */
export const open: (request: Request) => Effect.Effect<Response, HttpFailed, Scope.Scope> = Effect.fnUntraced(
  function*(request: Request) {
    const allowed = yield* Destinations
    let hop = yield* Exchange.parse(request)
    const { maxBytes = defaults.maxBytes, maxRedirects = defaults.maxRedirects } = request
    for (let redirects = 0;; redirects++) {
      const exchange = yield* Exchange.open(hop, allowed)
      const next = yield* Exchange.redirect(hop, exchange.response)
      if (next === undefined) return Exchange.toResponse(hop, exchange, maxBytes)
      yield* exchange.close
      if (!(redirects < maxRedirects)) return yield* Exchange.failed(hop.url, "TooManyRedirects", "", true)
      hop = next
    }
  }
)

/**
 * Sends a request and reads the answer to its end.
 *
 * **Errors**: `HttpFailed`. A status is no error.
 *
 * **Interruption**: in every phase, the waits between retries included, leaves no socket and no timer behind.
 */
export const send = (request: Request): Effect.Effect<Answer, HttpFailed> => {
  const attempt = Effect.scoped(Effect.flatMap(open(request), read))
  const { retry } = request
  return retry === undefined ? attempt : retrying(request, retry, attempt)
}

/** Sends a GET request and reads the answer to its end. */
export const get = (url: string | URL, options: Omit<Request, "url" | "method" | "body"> = {}) =>
  send({ ...options, url })

const read = Effect.fnUntraced(function*(response: Response) {
  const pieces = yield* Stream.runCollect(response.body)
  return { ...response, body: new Uint8Array(Buffer.concat(pieces)) }
})

const repeatable = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

const transient = new Set([429, 502, 503, 504])

const retrying = Effect.fnUntraced(function*(
  request: Request,
  retry: Retry,
  attempt: Effect.Effect<Answer, HttpFailed>
): Effect.fn.Return<Answer, HttpFailed> {
  const isRepeatable = repeatable.has((request.method ?? "GET").toUpperCase())
  const base = Duration.toMillis(retry.base ?? defaults.base)
  const max = Duration.toMillis(retry.max ?? defaults.max)
  for (let count = 0;; count++) {
    const result = yield* Effect.result(attempt)
    const again = result._tag === "Success"
      ? isRepeatable && transient.has(result.success.status)
      : result.failure.isTransient && (isRepeatable || !result.failure.reached)
    const asked = result._tag === "Success" ? result.success.headers["retry-after"] : undefined
    const wait = retryAfterMillis(asked, yield* Clock.currentTimeMillis) ??
      base * 2 ** count * (yield* Random.nextBetween(0.5, 1))
    const isBounded = count < retry.times && wait <= max
    if (!again || !isBounded) return yield* Effect.fromResult(result)
    yield* Effect.sleep(wait)
  }
})
