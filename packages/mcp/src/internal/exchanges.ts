/**
 * The requests of the stateless revisions: each is an exchange of its own, with its own id space and server, and is ended
 * by whoever is first: its client, its host, or this server.
 */
import { createMcpHandler, type ServerNotifier } from "@modelcontextprotocol/server"
import * as Cancelled from "../Cancelled.ts"
import type { HandleOptions } from "../HttpServer.ts"
import type { ServerOptions } from "../ServerOptions.ts"
import * as Bind from "./bind.ts"
import * as Factory from "./factory.ts"
import * as HttpRequest from "./httpRequest.ts"
import * as HttpResponse from "./httpResponse.ts"
import { InFlight } from "./inFlight.ts"
import * as Message from "./message.ts"
import type { Track } from "./open.ts"
import type * as Tools from "./tools.ts"
import { Unread } from "./unread.ts"

export interface Exchanges {
  readonly handle: (request: Request, body: unknown, options: HandleOptions) => Promise<Response>
  /** Tells who listens of changes. */
  readonly notify: ServerNotifier
  /** Ends the streams of those who listen. */
  readonly close: () => Promise<void>
}

/** What the server of an exchange is made with, which the SDK makes. */
interface Exchange {
  readonly inFlight: InFlight
  readonly unread: Unread
}

export const make = (options: ServerOptions, tools: Tools.Tools, maxBodyBytes: number, track: Track): Exchanges => {
  // A server of one exchange has nobody to tell of changes: those who asked for them are told by `notify`.
  const still: Tools.Tools = { ...tools, onChange: () => () => undefined }
  const exchanges = new WeakMap<Request, Exchange>()
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const { inFlight, unread } = exchanges.get(requestInfo as Request) ?? newExchange()
      return Factory.speaking(Factory.make(options, still, Bind.unguarded(inFlight)), (message) => {
        if (Message.isProgress(message)) return unread.report() ? message : undefined
        return Message.isResponse(message) && !inFlight.worked ? Message.sayable(message, message.id!) : message
      })
    },
    { legacy: "reject", maxRequestBodySize: maxBodyBytes }
  )
  tools.onChange(() => handler.notify.toolsChanged())

  const handle: Exchanges["handle"] = async (request, body, { authInfo, signal }) => {
    const exchange = newExchange()
    const { inFlight, unread } = exchange
    const controller = new AbortController()
    const end = (cause: unknown) => {
      inFlight.close(cause)
      controller.abort(cause)
    }
    const { headers, method, url } = request
    const inner = new Request(url, { method, headers, signal: controller.signal })
    exchanges.set(inner, exchange)
    const release = track({ inFlight, end })
    const deafen = HttpRequest.listen([[request.signal, () => end(Cancelled.connectionClosed())], [signal, end]])
    const response = handler.fetch(inner, { parsedBody: body, ...(authInfo === undefined ? {} : { authInfo }) })
    return HttpResponse.watch(response, {
      over: () => {
        deafen()
        release()
      },
      dropped: () => end(Cancelled.connectionClosed()),
      read: unread.read
    })
  }

  return { handle, notify: handler.notify, close: handler.close }
}

const newExchange = (): Exchange => ({ inFlight: new InFlight(), unread: new Unread() })
