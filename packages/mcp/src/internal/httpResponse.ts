/**
 * What an HTTP server answers: errors of the protocol as whole responses, and responses of the SDK, of which it is told how
 * they are read.
 */
import * as Message from "./message.ts"

/** A JSON-RPC error, as the whole of a response. */
export const refuse = (status: number, code: number, message: string, id: Message.Id | null = null): Response =>
  Response.json(Message.refusal(id, code, message), { status })

/** The server takes no more requests. */
export const closing = (): Response => refuse(503, -32000, "The server is closing")

/** Nobody waits for it: the status that web servers log then. */
export const gone = (): Response => new Response(null, { status: 499 })

export const notAllowed = (allow: string): Response => {
  const response = refuse(405, -32000, "Method not allowed")
  response.headers.set("Allow", allow)
  return response
}

/** Who is told of how a response is read. */
export interface Watching {
  /** Its stream has been read to the end, or is read no more; `dropped` comes before the latter. */
  readonly over: () => void
  readonly dropped: () => void
  /** An event was read. */
  readonly read: () => void
}

/** The same response, watched. One that does not come is over, too. */
export const watch = async (
  responding: Promise<Response>,
  { dropped, over, read }: Watching
): Promise<Response> => {
  const response = await responding.catch((error: unknown) => {
    over()
    throw error
  })
  // What is no stream is there as a whole.
  if (response.body === null || response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    over()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (value !== undefined) {
          read()
          controller.enqueue(value)
        }
        if (!done) return
        over()
        controller.close()
      } catch (error) {
        over()
        controller.error(error)
      }
    },
    cancel: async (reason) => {
      dropped()
      over()
      await reader.cancel(reason)
    }
  })
  return new Response(body, response)
}
