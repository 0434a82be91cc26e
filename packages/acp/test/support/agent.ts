/** An agent with a model that follows a script, and a raw client that has a session with it. */
import { AcpAgent, type Limits, type Peer, Permission, type Transport } from "@quiesce/acp"
import { Session, SessionLog, Turn } from "@quiesce/agent"
import { type Policy, Tool, ToolRegistry } from "@quiesce/core"
import { Effect, Layer, Schema, type Scope } from "effect"
import { connected, notification, request, until } from "./driver.ts"

/** What the model says in each step of each turn. It stops when the script does. */
export type Script = ReadonlyArray<Turn.Assistant>

export const call = (name: string, args: unknown = {}, callId = name): Turn.Request => ({
  callId,
  name,
  arguments: Turn.complete(args)
})

export const tool = <R = never>(
  name: string,
  execute:
    | Effect.Effect<string, unknown, R>
    | ((args: { readonly [key: string]: unknown }) => Effect.Effect<string, unknown, R>)
) =>
  Tool.make(name, {
    description: name,
    parameters: Schema.Record(Schema.String, Schema.Unknown),
    success: Schema.String,
    execute: (args) => (typeof execute === "function" ? execute(args) : execute) as Effect.Effect<string, never, R>
  })

/** Plays `scripts`, one for each turn, step by step. */
export const scripted = (...scripts: ReadonlyArray<Script>) => {
  let turn = 0
  return (prompt: AcpAgent.Prompt) => {
    const script = scripts[turn++] ?? []
    let step = 0
    return Session.loop(() => Effect.sync(() => script[step++] ?? { text: "done", calls: [] }))(prompt)
  }
}

export interface Settings {
  readonly tools?: ReadonlyArray<Tool.Tool<string, any, any>>
  readonly turn?: AcpAgent.Options<never, never, unknown, AcpAgent.Services>["turn"]
  readonly policy?: Policy.Policy
  readonly limits?: Partial<Limits.Limits>
  readonly describe?: AcpAgent.Options<never, never, unknown, never>["describe"]
  readonly options?: Turn.Options
  /** What is done while a session is made. */
  readonly making?: Effect.Effect<unknown, never, Scope.Scope>
  readonly handlers?: AcpAgent.Handlers
  /** What the client says it can do. */
  readonly capabilities?: object
}

/** Log and registry of the last session that was opened, for a look at them. */
export interface Opened {
  log: SessionLog.Shape | undefined
  registry: ToolRegistry.Shape | undefined
}

const everything = { fs: { readTextFile: true, writeTextFile: true }, terminal: true }

export const agentWith = (
  {
    capabilities = everything,
    describe,
    handlers = {},
    limits = {},
    making = Effect.void,
    options,
    policy = {},
    tools = [],
    turn = scripted()
  }: Settings
) =>
  Effect.gen(function*() {
    const opened: Opened = { log: undefined, registry: undefined }
    const registry = Layer.effectDiscard(
      Effect.map(ToolRegistry.ToolRegistry, (registry) => opened.registry = registry)
    ).pipe(
      Layer.provideMerge(ToolRegistry.layer(tools)),
      Layer.provide([Permission.layer(describe), Permission.layerPolicy(policy)])
    )
    const log = Layer.effect(
      SessionLog.SessionLog,
      Effect.map(SessionLog.SessionLog, (log) => opened.log = log)
    ).pipe(Layer.provide(SessionLog.layerMemory))
    const setup = yield* connected<Peer.Client, Transport.Transport | Scope.Scope>(
      AcpAgent.connect({
        info: { name: "test", version: "0" },
        session: Layer.mergeAll(registry, log, Layer.effectDiscard(making)),
        turn,
        describe,
        options,
        handlers
      } as never) as never,
      limits
    )
    const { driver } = setup
    yield* driver.send(request("init", "initialize", {
      protocolVersion: 1,
      clientCapabilities: capabilities
    }))
    yield* until("it is initialized", () => driver.answers("init").length > 0)
    yield* driver.send(request("new", "session/new", { cwd: "/tmp", mcpServers: [] }))
    yield* until("there is a session", () => driver.answers("new").length > 0)
    const sessionId = driver.answers("new")[0]?.result.sessionId as string
    return {
      ...setup,
      opened,
      sessionId,
      prompt: (id: string | number, text = "go") =>
        request(id, "session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
      sessionCancel: notification("session/cancel", { sessionId }),
      /** The updates of the session, each as what it is about and what it says. */
      updates: () =>
        driver.told("session/update").map(({ params: { update } }) =>
          update.content?.text ?? `${update.toolCallId} ${update.status}`
        ),
      /** What was received, but for the answers to our beginning. */
      frames: () =>
        driver.received
          .filter(({ id }) => id !== "init" && id !== "new")
          .map(({ error, id, method, params, result }) =>
            method === undefined
              ? `${id}: ${error?.code ?? result?.stopReason ?? JSON.stringify(result)}`
              : method === "session/update"
              ? params.update.content?.text ?? `${params.update.toolCallId} ${params.update.status}`
              : method === "$/cancel_request"
              ? `cancel ${params.requestId}`
              : `${method} ${id}`
          )
    }
  })
