/**
 * One HTTP session of the revisions that have them (until 2025-11-25), or a single POST without one: the SDK's transport
 * behind the guard.
 *
 * The transport ends the stream of a POST when each of its requests has been answered. A cancelled request is never
 * answered, so here that stream is ended, and the transport made to forget the request.
 */
import { type AuthInfo, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server"
import * as Cancelled from "../Cancelled.ts"
import { Connection } from "./connection.ts"
import type { Entry } from "./inFlight.ts"
import * as Message from "./message.ts"
import { Unread } from "./unread.ts"

/** The requests of one POST. */
interface Post {
  readonly open: Set<Message.Id>
  readonly cancelled: Array<Message.Id>
  readonly unread: Unread
  /** Why all of it was cancelled, which may be before the transport has handed its requests on. */
  cause?: { readonly cause: unknown }
}

export interface Options {
  /** Absent for a single POST. */
  readonly session?: {
    readonly id: () => string
    readonly opened: (id: string) => void
    /** Settles when everything of the session is quiet. */
    readonly quiet: () => Promise<void>
  } | undefined
}

export class Session {
  readonly connection: Connection
  readonly #transport: WebStandardStreamableHTTPServerTransport
  readonly #posts = new Map<Message.Id, Post>()

  constructor({ session }: Options) {
    this.#transport = new WebStandardStreamableHTTPServerTransport(
      session === undefined ? {} : {
        sessionIdGenerator: session.id,
        onsessioninitialized: session.opened,
        onsessionclosed: async () => {
          await this.connection.shut(Cancelled.sessionDeleted())
          await session.quiet()
        }
      }
    )
    const send = this.#transport.send.bind(this.#transport)
    this.#transport.send = async (message, options) => {
      const related = options?.relatedRequestId
      const post = related === undefined ? undefined : this.#posts.get(related)
      if (post === undefined || !Message.isProgress(message) || post.unread.report()) await send(message, options)
    }
    this.connection = new Connection(this.#transport, {
      arrived: (entry) => this.#arrived(entry),
      over: (entry) => this.#over(entry)
    })
  }

  /** The first request whose id cannot be had, which the transport must not see: it would lose the stream of the other. */
  duplicate(messages: ReadonlyArray<unknown>): Message.Id | undefined {
    const seen = new Set<Message.Id>()
    for (const message of messages) {
      if (!Message.isRequest(message)) continue
      if (seen.has(message.id) || this.#posts.has(message.id) || !this.connection.inFlight.admits(message)) {
        return message.id
      }
      seen.add(message.id)
    }
    return undefined
  }

  /** What the transport answers, and how to cancel the requests that came with this POST. */
  handle(
    request: Request,
    body: unknown,
    authInfo: AuthInfo | undefined
  ): {
    readonly response: Promise<Response>
    readonly cancel: (cause: unknown) => void
    readonly read: () => void
  } {
    const messages = Array.isArray(body) ? body : [body]
    const post: Post = {
      open: new Set(messages.filter(Message.isRequest).map(({ id }) => id)),
      cancelled: [],
      unread: new Unread()
    }
    for (const id of post.open) this.#posts.set(id, post)
    const response = this.#transport.handleRequest(request, {
      ...(body === undefined ? {} : { parsedBody: body }),
      ...(authInfo === undefined ? {} : { authInfo })
    })
    return {
      response: response.finally(() => this.#settle(post)),
      read: post.unread.read,
      cancel: (cause) => {
        post.cause ??= { cause }
        for (const id of post.open) this.connection.cancel(id, cause)
      }
    }
  }

  #arrived({ id }: Entry): void {
    const cancelled = this.#posts.get(id)?.cause
    if (cancelled !== undefined) this.connection.cancel(id, cancelled.cause)
  }

  /** What the transport refused has not come to be in flight. */
  #settle(post: Post): void {
    const { inFlight } = this.connection
    for (const id of post.open) {
      if (!inFlight.has(id)) this.#posts.delete(id)
    }
  }

  #over({ cancelled, id }: Entry): void {
    const post = this.#posts.get(id)
    if (post === undefined) return
    this.#posts.delete(id)
    post.open.delete(id)
    if (cancelled) post.cancelled.push(id)
    if (post.open.size > 0 || post.cancelled.length === 0) return
    this.#transport.closeSSEStream(id)
    this.#forget(post.cancelled)
  }

  /** An answer whose stream is gone reaches nobody: it only ends what the transport knows of its request. */
  #forget(ids: ReadonlyArray<Message.Id>): void {
    const { onerror } = this.#transport
    // It says that it could not deliver, which is meant.
    delete this.#transport.onerror
    for (const id of ids) this.#transport.send({ jsonrpc: "2.0", id, result: {} }).catch(() => undefined)
    if (onerror !== undefined) this.#transport.onerror = onerror
  }
}
