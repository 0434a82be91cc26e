/**
 * A tool of an MCP server as a tool of a registry.
 *
 * Cancelling its call tells the server, once, and waits for nothing: what became of the call there is not known, and its
 * result says so.
 */
import type { CallToolResult, Client } from "@modelcontextprotocol/client"
import * as Abortable from "@quiesce/core/Abortable"
import type { Json } from "@quiesce/core/Json"
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ConnectFailed, Options } from "../Client.ts"
import { idle } from "./idle.ts"

/** The server answered that the call failed, or with an error, or not at all. */
export class RemoteFailed extends Schema.TaggedError<RemoteFailed>("@quiesce/mcp/RemoteFailed")("RemoteFailed", {
  /** `Tool`: the tool says so itself. `Protocol`: the server refused the request. `Connection`: it may or may not have run. */
  reason: Schema.Literals(["Tool", "Protocol", "Connection"]),
  message: Schema.String,
  content: Schema.Array(Schema.Json)
}) {}

const parameters = Schema.Json as Schema.Codec<Json>
const success = Schema.Struct({
  content: Schema.Array(parameters),
  structuredContent: Schema.optionalKey(parameters)
})

/** A tool of the server, by the name that it has here. */
export const proxy = <E>(
  { description = "", inputSchema, name }: {
    readonly name: string
    readonly description?: string | undefined
    readonly inputSchema: object
  },
  client: Effect.Effect<Client, ConnectFailed>,
  { idleTimeout, prefix = "", timeout = "5 minutes" }: Options<E>
): Tool.AnyNoServices => ({
  ...Tool.make(`${prefix}${name}`, {
    description,
    parameters,
    success,
    failure: RemoteFailed,
    timeout,
    render: ({ content }) => content.map(shown),
    execute: Effect.fnUntraced(function*(json, call) {
      const connected = yield* Effect.mapError(
        client,
        ({ message }) => new RemoteFailed({ reason: "Connection", message, content: [] })
      )
      const result = yield* asking(connected, name, json, call, idleTimeout)
      const content = result.content as ReadonlyArray<Json>
      if (result.isError === true) {
        return yield* new RemoteFailed({
          reason: "Tool",
          message: content.map((it) => shown(it).text).join("\n"),
          content
        })
      }
      return result.structuredContent === undefined
        ? { content }
        : { content, structuredContent: result.structuredContent as Json }
    })
  }),
  inputSchema: { ...inputSchema }
})

const asking = (
  client: Client,
  name: string,
  json: Json,
  call: ToolCall.Running,
  idleTimeout: Duration.Input | undefined
): Effect.Effect<CallToolResult, RemoteFailed> =>
  Effect.suspend(() => {
    const silence = idleTimeout === undefined ? undefined : idle(idleTimeout)
    const asked = ask((signal) =>
      client.callTool({ name, arguments: json as { readonly [key: string]: unknown } }, {
        signal,
        // Time is the registry's: the SDK's own timers run past its clock.
        timeout: 2 ** 31 - 1,
        onprogress: ({ message, progress, total }) => {
          silence?.pulse()
          call.progress({
            progress,
            ...(total === undefined ? {} : { total }),
            ...(message === undefined ? {} : { message })
          })
        }
      })
    ).pipe(
      Effect.onInterrupt(() => Effect.sync(() => call.declareResidue(unproven(name)))),
      Effect.mapError(failed)
    )
    if (silence === undefined) return asked
    return Effect.raceFirst(
      asked,
      Effect.mapError(
        silence.exceeded,
        ({ message }) => new RemoteFailed({ reason: "Connection", message, content: [] })
      )
    )
  })

/** The SDK says of what was aborted that it timed out. */
export const ask = <A>(f: (signal: AbortSignal) => Promise<A>) =>
  Abortable.promise((signal) =>
    f(signal).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error
    })
  )

const unproven = (name: string): ToolResult.Residue => ({
  kind: "remote",
  detail: `the MCP server was told that its call of ${name} is cancelled; whether it has stopped is not known`
})

const failed = (error: unknown): RemoteFailed => {
  const cause = causeOf(error)
  const message = cause instanceof Error ? cause.message : String(cause)
  // An error of the protocol has a number: the server has read the request, and refused it.
  const code = (cause as { readonly code?: unknown } | null)?.code
  return new RemoteFailed({ reason: typeof code === "number" ? "Protocol" : "Connection", message, content: [] })
}

export const causeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "cause" in error ? error.cause : error

const shown = (block: Json): ToolResult.Content => {
  const { text, type } = block as { readonly type?: unknown; readonly text?: unknown }
  return { type: "text", text: type === "text" && typeof text === "string" ? text : JSON.stringify(block) }
}
