/**
 * The tools of an MCP server as tools of a registry.
 *
 * Cancelling such a call tells the server, once, and does not wait for it: the protocol has no word by which a server says
 * that it has stopped. So the result of a cancelled call has a residue that says so.
 */
import { type CallToolResult, Client, type Transport } from "@modelcontextprotocol/client"
import * as Abortable from "@quiesce/core/Abortable"
import type { Json } from "@quiesce/core/Json"
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { idle } from "./internal/idle.ts"

export interface Options<E = never> {
  /** How this client names itself. */
  readonly name: string
  readonly version: string
  /** Opens a connection; closing its scope ends it. It is asked again after a connection was lost. */
  readonly transport: Effect.Effect<Transport, E, Scope.Scope>
  /** Default: the newest revision that both know. */
  readonly revision?: "auto" | "legacy" | { readonly pin: string } | undefined
  /** The whole time that a call may take. Default: 5 minutes, since a call of which nobody hears would hold its caller. */
  readonly timeout?: Duration.Input | undefined
  /** How long a call may report no progress. Default: as long as it takes. */
  readonly idleTimeout?: Duration.Input | undefined
  /** What the name of each tool begins with here, so that two servers can have tools of one name. */
  readonly prefix?: string | undefined
}

/** The server could not be reached, or does not speak the protocol. */
export class ConnectFailed extends Data.TaggedError("ConnectFailed")<{ readonly cause: unknown }> {
  override get message(): string {
    return `the MCP server cannot be reached: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** The server answered that the call failed, or with an error, or not at all. */
export class RemoteFailed extends Schema.TaggedError<RemoteFailed>("@quiesce/mcp/RemoteFailed")("RemoteFailed", {
  /** `Tool`: the tool says so itself. `Protocol`: the server refused the request. `Connection`: it may or may not have run. */
  reason: Schema.Literals(["Tool", "Protocol", "Connection"]),
  message: Schema.String,
  content: Schema.Array(Schema.Json)
}) {}

export interface Remote {
  /** The tools that the server has now. */
  readonly tools: Effect.Effect<ReadonlyArray<Tool.AnyNoServices>, ConnectFailed>
  /** Takes the next change of the server's list of tools, or waits for it. */
  readonly changed: Effect.Effect<void>
}

/**
 * Connects to a server. A connection that is lost fails the calls that were in flight on it, and is opened anew for the
 * next one, after what was left of it has ended.
 */
export const connect = Effect.fnUntraced(function*<E>(
  options: Options<E>
): Effect.fn.Return<Remote, ConnectFailed, Scope.Scope> {
  const scope = yield* Effect.scope
  const changes = yield* Queue.sliding<void>(1)
  const opening = Semaphore.makeUnsafe(1)
  let current: { readonly client: Client; readonly scope: Scope.Closeable; alive: boolean } | undefined

  const open = Effect.gen(function*() {
    const connection = yield* Scope.fork(scope)
    const client = new Client({ name: options.name, version: options.version }, {
      versionNegotiation: { mode: options.revision ?? "auto" },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void Queue.offerUnsafe(changes, undefined) }
      }
    })
    const made = { client, scope: connection, alive: true }
    client.onclose = () => {
      made.alive = false
    }
    yield* Effect.onExit(
      Effect.gen(function*() {
        const transport = yield* Effect.provideService(options.transport, Scope.Scope, connection)
        yield* Scope.addFinalizer(connection, Effect.ignore(Abortable.promise(() => client.close())))
        yield* ask((signal) => client.connect(transport, { signal }))
      }),
      (exit) => Exit.isFailure(exit) ? Scope.close(connection, exit) : Effect.void
    )
    return current = made
  }).pipe(Effect.mapError((error) => new ConnectFailed({ cause: causeOf(error) })))

  const client = opening.withPermit(Effect.suspend(() => {
    if (current?.alive === true) return Effect.succeed(current.client)
    // What is left of the old one ends first: a server of two processes is two servers.
    const ended = current === undefined ? Effect.void : Scope.close(current.scope, Exit.void)
    return Effect.map(Effect.andThen(ended, open), ({ client }) => client)
  }))

  yield* client
  return {
    tools: Effect.gen(function*() {
      const connected = yield* client
      const { tools } = yield* Effect.mapError(
        ask((signal) => connected.listTools(undefined, { signal, cacheMode: "refresh" })),
        (error) => new ConnectFailed({ cause: causeOf(error) })
      )
      const proxies = yield* Effect.forEach(tools, (tool) =>
        Effect.option(Effect.tapError(
          Effect.try({ try: () => proxy(tool, client, options), catch: (error) => error }),
          // A server names its tools as it likes: the others are had all the same.
          (error) => Effect.logWarning("A tool of an MCP server cannot be defined here", error)
        )))
      return proxies.flatMap(Option.toArray)
    }),
    changed: Queue.take(changes)
  }
})

/** The tools of the server in the registry, as it has them, until the scope closes. */
export const layer = <E>(
  options: Options<E>
): Layer.Layer<never, ConnectFailed | ToolRegistry.DuplicateTool, ToolRegistry.ToolRegistry> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    const remote = yield* connect(options)
    const scope = yield* Effect.scope
    const registered = new Map<string, Scope.Closeable>()

    const sync = Effect.fnUntraced(function*(
      taken: (error: ToolRegistry.DuplicateTool) => Effect.Effect<void, ToolRegistry.DuplicateTool>
    ) {
      const tools = yield* remote.tools
      const names = new Set(tools.map(({ name }) => name))
      for (const [name, registration] of registered) {
        if (names.has(name)) continue
        registered.delete(name)
        yield* Scope.close(registration, Exit.void)
      }
      for (const tool of tools) {
        if (registered.has(tool.name)) continue
        const registration = yield* Scope.fork(scope)
        yield* registry.register(tool).pipe(
          Effect.provideService(Scope.Scope, registration),
          Effect.andThen(Effect.sync(() => registered.set(tool.name, registration))),
          Effect.catch((error) => Effect.andThen(Scope.close(registration, Exit.void), taken(error)))
        )
      }
    })
    yield* sync(Effect.fail)
    const following = Effect.catchCause(
      // One whose name somebody else has taken meanwhile does not keep the others out; a later change tries again.
      Effect.andThen(
        remote.changed,
        sync((error) => Effect.logWarning("A tool of an MCP server cannot be registered", error))
      ),
      // The next change, or the next call, finds the server again.
      (cause) => Effect.logWarning("The tools of an MCP server could not be listed again", cause)
    )
    yield* Effect.forkScoped(Effect.forever(following))
  }))

const parameters = Schema.Json as Schema.Codec<Json>
const success = Schema.Struct({
  content: Schema.Array(parameters),
  structuredContent: Schema.optionalKey(parameters)
})

/** A tool of the server, by the name that it has here. */
const proxy = <E>(
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
const ask = <A>(f: (signal: AbortSignal) => Promise<A>) =>
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

const causeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "cause" in error ? error.cause : error

const shown = (block: Json): ToolResult.Content => {
  const { text, type } = block as { readonly type?: unknown; readonly text?: unknown }
  return { type: "text", text: type === "text" && typeof text === "string" ? text : JSON.stringify(block) }
}
