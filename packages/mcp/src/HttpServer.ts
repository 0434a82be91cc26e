/**
 * Serves the tools of a registry over HTTP, as one function from a web `Request` to a `Response` that any web server can
 * call: the stateless exchanges of 2026-07-28, and the sessions of the revisions before it.
 *
 * What a dropped connection means depends on the revision: in a stateless one it cancels the call, in an older one the
 * client says that itself, by another POST of the same session. Whatever cancels a call, its response ends at once, and
 * its place is free when it is quiet.
 */
import { type AuthInfo, isLegacyRequest, type ServerNotifier } from "@modelcontextprotocol/server"
import * as Abortable from "@quiesce/core/Abortable"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import * as Cancelled from "./Cancelled.ts"
import * as Bind from "./internal/bind.ts"
import * as Exchanges from "./internal/exchanges.ts"
import * as Factory from "./internal/factory.ts"
import * as HttpRequest from "./internal/httpRequest.ts"
import * as HttpResponse from "./internal/httpResponse.ts"
import * as Message from "./internal/message.ts"
import type { Open, Track } from "./internal/open.ts"
import * as Results from "./internal/results.ts"
import { Session } from "./internal/session.ts"
import { Sessional } from "./internal/sessional.ts"
import * as Tools from "./internal/tools.ts"
import type { ServerOptions } from "./ServerOptions.ts"

export interface Options extends ServerOptions {
  /** The names that this server is reached by; `"any"` where something before it has checked. Default: this machine's. */
  readonly hosts?: HttpRequest.Names | undefined
  /** The hosts whose pages may ask. Default: this machine's. */
  readonly origins?: HttpRequest.Names | undefined
  /** The longest body, in bytes. Default: 4 MiB, what the official SDK takes. */
  readonly maxBodyBytes?: number | undefined
  /**
   * What a dropped connection means in the revisions until 2025-11-25, which say that it does not cancel. Default: `"keep"`.
   */
  readonly dropped?: "keep" | "cancel" | undefined
  /** How long a session may be without a request before it ends. Default: 30 minutes, which outlasts a person's pause. */
  readonly sessionIdle?: Duration.Input | undefined
  /** How many sessions there can be. Default: 10,000: a client that opens them without end is refused before memory is. */
  readonly maxSessions?: number | undefined
}

export interface HandleOptions {
  /** The host's own word on this request: aborting it cancels its calls, with its reason. */
  readonly signal?: AbortSignal | undefined
  /** What the host knows of who asks; the SDK hands it to handlers. */
  readonly authInfo?: AuthInfo | undefined
}

export interface Shape {
  /** Answers a request. It does not reject. */
  readonly handle: (request: Request, options?: HandleOptions) => Promise<Response>
  /** Tells who listens, in the stateless revisions, of changes in what the host's own `server` offers beside the tools. */
  readonly notify: ServerNotifier
  /** Refuses new requests, cancels all calls, ends all streams and sessions, and waits until everything is quiet. */
  readonly close: Effect.Effect<void>
  /** How many sessions are open. */
  readonly sessions: Effect.Effect<number>
}

export class HttpServer extends Context.Service<HttpServer, Shape>()("@quiesce/mcp/HttpServer") {}

/** A server until the scope closes, which closes it. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Shape, never, ToolRegistry.ToolRegistry | Scope.Scope> {
  const tools = yield* Tools.make(options.concurrency)
  const context = yield* Effect.context<never>()
  const run = Effect.runPromiseWith(context)
  const maxBodyBytes = options.maxBodyBytes ?? 4 * 1024 * 1024
  const idle = Duration.fromInputUnsafe(options.sessionIdle ?? "30 minutes")
  const maxSessions = options.maxSessions ?? 10_000

  const sessions = new Map<string, Sessional>()
  /** How many sessions are about to be there: each has its place before anybody waits for it. */
  let opening = 0
  const open = new Set<Open>()
  let closing = false

  const track: Track = (opened) => {
    open.add(opened)
    // It began while the server was being closed.
    if (closing) opened.end(Cancelled.serverClosed())
    return () => void run(opened.inFlight.whenQuiet).then(() => open.delete(opened))
  }

  const exchanges = Exchanges.make(options, tools, maxBodyBytes, track)

  /** A request, or several, of an older revision, in a session or alone. */
  const inSession = async (
    session: Session,
    request: Request,
    body: unknown,
    { authInfo, signal }: HandleOptions,
    over: () => void = () => undefined
  ): Promise<Response> => {
    const messages = Array.isArray(body) ? body : [body]
    const taken = session.duplicate(messages)
    if (taken !== undefined) {
      over()
      const { code, message } = Results.duplicate()
      return HttpResponse.refuse(400, code, message, taken)
    }
    const { cancel, read, response } = session.handle(request, body, authInfo)
    const dropped = () => {
      if (options.dropped === "cancel") cancel(Cancelled.connectionClosed())
    }
    const deafen = HttpRequest.listen([[request.signal, dropped], [signal, cancel]])
    const ended = () => {
      deafen()
      over()
    }
    return HttpResponse.watch(response, { over: ended, dropped, read })
  }

  const connect = ({ connection }: Session): Promise<void> =>
    Factory.make(options, tools, Bind.guarded(connection)).connect(connection)

  const alone = async (request: Request, body: unknown, handling: HandleOptions): Promise<Response> => {
    const session = new Session({})
    await connect(session)
    const { inFlight } = session.connection
    const end = (cause: unknown) => void session.connection.shut(cause)
    const release = track({ inFlight, end })
    return inSession(session, request, body, handling, () => {
      // In an older revision whoever left may still want what was begun: it ends by itself.
      void run(inFlight.whenQuiet).then(() => end(Cancelled.connectionClosed()))
      release()
    })
  }

  const openSession = async (request: Request, body: unknown, handling: HandleOptions): Promise<Response> => {
    if (sessions.size + opening >= maxSessions) {
      return HttpResponse.refuse(503, -32000, `There are ${maxSessions} sessions, and no more`)
    }
    let isOpened = false
    const session = new Session({
      session: {
        id: randomUUID,
        opened: (id) => {
          isOpened = true
          opening--
          sessions.set(id, sessional)
          void session.connection.ended.then(() => sessions.delete(id))
        },
        quiet: () => run(session.connection.inFlight.whenQuiet)
      }
    })
    const end = (cause: unknown) => void session.connection.shut(cause)
    const sessional = new Sessional(session, () =>
      Effect.runForkWith(context)(
        Effect.andThen(Effect.sleep(idle), Effect.sync(() => end(Cancelled.sessionExpired())))
      ))
    const release = track({ inFlight: session.connection.inFlight, end })
    const ended = () => {
      sessional.stop()
      release()
    }
    void session.connection.ended.then(ended)
    opening++
    try {
      await connect(session)
      return await sessional.during((over) => inSession(session, request, body, handling, over))
    } finally {
      if (!isOpened) {
        opening--
        end(Cancelled.connectionClosed())
        // What was never connected has no end that somebody would hear of.
        ended()
      }
    }
  }

  const post = async (request: Request, handling: HandleOptions): Promise<Response> => {
    const read = await HttpRequest.readBody(request, maxBodyBytes)
    if (read instanceof Response) return read
    const { body } = read
    if (handling.signal?.aborted === true || request.signal.aborted) return HttpResponse.gone()
    const isLegacy = await isLegacyRequest(request, body)
    if (closing) return HttpResponse.closing()
    if (!isLegacy) return exchanges.handle(request, body, handling)
    const id = request.headers.get("mcp-session-id")
    if (id !== null) return known(id, (session, over) => inSession(session, request, body, handling, over))
    const messages: ReadonlyArray<unknown> = Array.isArray(body) ? body : [body]
    const methods = messages.map((message) => (message as Message.Notification).method)
    if (methods.includes("initialize")) return openSession(request, body, handling)
    if (messages.some(Message.isRequest)) return alone(request, body, handling)
    // There is nothing in flight that it could be about.
    if (methods.includes("notifications/cancelled")) {
      return HttpResponse.refuse(404, -32001, "Without a session there is no request to cancel")
    }
    return new Response(null, { status: 202 })
  }

  const known = async (
    id: string,
    f: (session: Session, over: () => void) => Promise<Response>
  ): Promise<Response> => {
    const sessional = sessions.get(id)
    if (sessional === undefined) return HttpResponse.refuse(404, -32001, "Session not found")
    return sessional.during((over) => f(sessional.session, over))
  }

  const handle: Shape["handle"] = async (request, handling = {}) => {
    try {
      if (closing) return HttpResponse.closing()
      const refused = HttpRequest.checkNames(request, options.hosts, options.origins)
      if (refused !== undefined) return refused
      if (request.method === "POST") return await post(request, handling)
      const id = request.headers.get("mcp-session-id")
      if (request.method !== "GET" && request.method !== "DELETE") return HttpResponse.notAllowed("GET, POST, DELETE")
      if (id === null) return HttpResponse.notAllowed("POST")
      return await known(id, (session, over) => inSession(session, request, undefined, handling, over))
    } catch {
      return HttpResponse.refuse(500, -32603, "Internal server error")
    }
  }

  const close = Effect.gen(function*() {
    closing = true
    for (const { end } of open) end(Cancelled.serverClosed())
    yield* Effect.ignore(Abortable.promise(() => exchanges.close()))
    yield* Effect.forEach(open, ({ inFlight }) => inFlight.whenQuiet, { discard: true })
  })
  yield* Effect.addFinalizer(() => close)

  return { handle, notify: exchanges.notify, close, sessions: Effect.sync(() => sessions.size) }
})

export const layer = (options: Options): Layer.Layer<HttpServer, never, ToolRegistry.ToolRegistry> =>
  Layer.effect(HttpServer, make(options))
