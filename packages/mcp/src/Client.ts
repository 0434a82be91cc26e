/**
 * The tools of an MCP server as tools of a registry.
 *
 * Cancelling such a call tells the server, once, and does not wait for it: the protocol has no word by which a server says
 * that it has stopped. So the result of a cancelled call has a residue that says so.
 */
import { Client, type Transport } from "@modelcontextprotocol/client"
import * as Abortable from "@quiesce/core/Abortable"
import type * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { ask, causeOf, proxy } from "./internal/proxy.ts"

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

export { RemoteFailed } from "./internal/proxy.ts"

export interface Remote {
  /** The tools that the server has now. */
  readonly tools: Effect.Effect<ReadonlyArray<Tool.AnyNoServices>, ConnectFailed>
  /** Takes the next change of the server's list of tools since that was read, or waits for it. */
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
    if (current === undefined) return Effect.map(open, ({ client }) => client)
    // What is left of the old one ends first: a server of two processes is two servers.
    return Effect.andThen(Scope.close(current.scope, Exit.void), open).pipe(
      // And it may have other tools by now.
      Effect.tap(() => Queue.offer(changes, undefined)),
      Effect.map(({ client }) => client)
    )
  }))

  yield* client
  return {
    tools: Effect.gen(function*() {
      const connected = yield* client
      // What has changed until now is in the list that is asked for now.
      yield* Queue.clear(changes)
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

/** A tool of the server that is in the registry: what it was registered with, and until when. */
interface Registered {
  readonly definition: string
  readonly scope: Scope.Closeable
}

const definitionOf = ({ description, inputSchema }: Tool.AnyNoServices): string =>
  JSON.stringify([description, inputSchema])

/**
 * The tools of the server in the registry, as it has them, until the scope closes. One that the server has no more leaves
 * the registry, which cancels its calls; one that it describes anew is exchanged when nobody calls it.
 */
export const layer = <E>(
  options: Options<E>
): Layer.Layer<never, ConnectFailed | ToolRegistry.DuplicateTool, ToolRegistry.ToolRegistry> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    const remote = yield* connect(options)
    const scope = yield* Effect.scope
    const registered = new Map<string, Registered>()
    /** Those that are described anew, and are being called. */
    const outdated = new Set<string>()
    const uncalled = yield* Queue.sliding<void>(1)
    yield* registry.observe({
      settled: ({ name }) =>
        Effect.sync(() => {
          if (outdated.has(name)) Queue.offerUnsafe(uncalled, undefined)
        })
    })

    const sync = Effect.fnUntraced(function*(
      taken: (error: ToolRegistry.DuplicateTool) => Effect.Effect<void, ToolRegistry.DuplicateTool>
    ) {
      const tools = yield* remote.tools
      const definitions = new Map(tools.map((tool) => [tool.name, definitionOf(tool)]))
      const called = new Set((yield* registry.inFlight).map(({ name }) => name))
      outdated.clear()
      for (const [name, registration] of registered) {
        const definition = definitions.get(name)
        if (definition === registration.definition) continue
        if (definition !== undefined && called.has(name)) {
          outdated.add(name)
          continue
        }
        registered.delete(name)
        yield* Scope.close(registration.scope, Exit.void)
      }
      for (const tool of tools) {
        if (registered.has(tool.name)) continue
        const registration = { definition: definitionOf(tool), scope: yield* Scope.fork(scope) }
        yield* registry.register(tool).pipe(
          Effect.provideService(Scope.Scope, registration.scope),
          Effect.andThen(Effect.sync(() => registered.set(tool.name, registration))),
          Effect.catch((error) => Effect.andThen(Scope.close(registration.scope, Exit.void), taken(error)))
        )
      }
    })
    yield* sync(Effect.fail)
    const following = Effect.catchCause(
      // One whose name somebody else has taken meanwhile does not keep the others out; a later change tries again.
      Effect.andThen(
        Effect.raceFirst(remote.changed, Queue.take(uncalled)),
        sync((error) => Effect.logWarning("A tool of an MCP server cannot be registered", error))
      ),
      // The next change, or the next call, finds the server again.
      (cause) => Effect.logWarning("The tools of an MCP server could not be listed again", cause)
    )
    yield* Effect.forkScoped(Effect.forever(following))
  }))
