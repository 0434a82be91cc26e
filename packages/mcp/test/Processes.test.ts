import { assert, describe, it } from "@effect/vitest"
import { Client as Client2 } from "@modelcontextprotocol/client"
import { StdioClientTransport as StdioClientTransport2 } from "@modelcontextprotocol/client/stdio"
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import { ToolRegistry, type ToolResult } from "@quiesce/core"
import { Client, ClientStdio } from "@quiesce/mcp"
import { Command } from "@quiesce/node"
import { Effect, Layer } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { childEnvironment } from "../../../tests/child-environment.ts"
import { cites } from "../../../tests/conformance/cites.ts"
import { call, initialize, type Revision, revisions } from "./support/peer.ts"
import { fixture, type Program, start } from "./support/program.ts"

const program = fixture("stdio.ts")

/** A process that has ended stays in the table until somebody takes note: it is not alive. */
const isAlive = (pid: number): boolean => {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" })
  return stdout.trim() !== "" && !stdout.trim().startsWith("Z")
}

/** A server, and a call in it that has begun. */
const begin = async (revision: Revision, tool: string): Promise<{ server: Program; pids: ReadonlyArray<number> }> => {
  const server = start(program)
  const send = (frame: object) => server.child.stdin!.write(JSON.stringify(frame) + "\n")
  if (revision === "2025-11-25") send(initialize())
  send(call(revision, "c", tool))
  const written = await server.wrote("notifications/progress")
  const line = written.split("\n").find((line) => line.includes("notifications/progress"))!
  const message: string = JSON.parse(line).params.message
  const pids = message.split(" ").map(Number).filter((pid) => pid > 0)
  return { server, pids }
}

// What the revisions do differently is tested where no process has to start, which takes seconds.
const revision = "2025-11-25"
describe("a program that is a server", () => {
  it.live(
    cites("ends at the end of its input, with what its calls had started", "MCP-03"),
    () =>
      Effect.promise(async () => {
        const { pids, server } = await begin(revision, "running")
        assert.lengthOf(pids, 2)
        assert.isTrue(pids.every(isAlive))
        server.child.stdin!.end()
        const { code, stdout } = await server.ended
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(pids.filter(isAlive), [])
        assert.notInclude(stdout, "\"id\":\"c\"")
      })
  )

  it.live(
    cites("ends when it is asked to, with what its calls had started", "MCP-03"),
    () =>
      Effect.promise(async () => {
        const { pids, server } = await begin(revision, "running")
        server.child.kill("SIGTERM")
        const { code, stdout } = await server.ended
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(pids.filter(isAlive), [])
        assert.notInclude(stdout, "\"id\":\"c\"")
      })
  )

  it.live(cites("ends when both of its pipes are torn", "MCP-03"), () =>
    Effect.promise(async () => {
      const { pids, server } = await begin(revision, "running")
      server.child.stdout!.destroy()
      server.child.stdin!.destroy()
      const { code } = await server.ended
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(pids.filter(isAlive), [])
    }))

  it.live(
    cites("ends when its client is killed, with what its calls had started", "MCP-03"),
    () =>
      Effect.promise(async () => {
        // The client's standard error is the server's as well: it ends with the last of them.
        const client = start(fixture("client-of.ts"), program)
        const pids: ReadonlyArray<number> = JSON.parse((await client.wrote("]")).trim())
        assert.lengthOf(pids, 3)
        assert.isTrue(pids.every(isAlive))
        const stderr = new Promise<void>((resolve) => client.child.stderr!.once("end", resolve))
        client.child.kill("SIGKILL")
        await stderr
        assert.deepStrictEqual(pids.filter(isAlive), [])
      })
  )

  it.live(
    cites("ends when nobody reads what it answers, as soon as it answers", "MCP-03"),
    () =>
      Effect.promise(async () => {
        const { pids, server } = await begin(revision, "running")
        server.child.stdout!.destroy()
        server.child.stdin!.write(JSON.stringify(call(revision, "d", "log")) + "\n")
        const { code } = await server.ended
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(pids.filter(isAlive), [])
      })
  )

  it.live(cites("names what is not quiet, and ends with code 1", "MCP-03"), () =>
    Effect.promise(async () => {
      const { server } = await begin(revision, "stubborn")
      server.child.stdin!.end()
      const { code, stderr } = await server.ended
      assert.strictEqual(code, 1)
      assert.match(stderr, /fixture: not quiet 1s after the connection ended: stubborn \(mcp-1\)/)
    }))

  it.live("keeps its wire clean of what it logs", () =>
    Effect.promise(async () => {
      const server = start(program)
      if (revision === "2025-11-25") server.child.stdin!.write(JSON.stringify(initialize()) + "\n")
      server.child.stdin!.write(JSON.stringify(call(revision, "c", "log")) + "\n")
      await server.wrote("logged")
      server.child.stdin!.end()
      const { stderr, stdout } = await server.ended
      for (const line of stdout.trim().split("\n")) assert.strictEqual(JSON.parse(line).jsonrpc, "2.0")
      assert.include(stderr, "this is no message")
    }))
})

describe("the official clients", () => {
  it.live(
    cites("of both lines cancel, and close with nothing left", "MCP-01", "MCP-03"),
    () =>
      Effect.promise(async () => {
        const options = {
          command: process.execPath,
          args: [program],
          env: childEnvironment() as Record<string, string>
        }
        const clients = [
          [new Client1({ name: "1", version: "1" }), new StdioClientTransport1(options)],
          [new Client2({ name: "2", version: "1" }), new StdioClientTransport2(options)],
          [
            new Client2({ name: "2", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
            new StdioClientTransport2(options)
          ]
        ] as const
        for (const [client, transport] of clients) {
          await client.connect(transport as never)
          const controller = new AbortController()
          let pids: ReadonlyArray<number> = []
          const began = Promise.withResolvers<void>()
          const options = {
            signal: controller.signal,
            onprogress: ({ message }: { readonly message?: string | undefined }) => {
              pids = message!.split(" ").map(Number)
              began.resolve()
            }
          }
          const calling = client instanceof Client1
            ? client.callTool({ name: "running", arguments: {} }, undefined, options)
            : client.callTool({ name: "running", arguments: {} }, options)
          await began.promise
          assert.isTrue(pids.every(isAlive))
          controller.abort("enough")
          const refused = await calling.then(() => undefined, (error: unknown) => error)
          assert.isDefined(refused)
          const { content } = client instanceof Client1
            ? await client.callTool({ name: "log", arguments: {} })
            : await client.callTool({ name: "log", arguments: {} })
          assert.include(JSON.stringify(content), "logged")
          await client.close()
          assert.deepStrictEqual(pids.filter(isAlive), [])
        }
      }),
    60_000
  )
})

const remoteOf = (revision: Revision) =>
  Client.layer({
    name: "client",
    version: "1",
    revision: revision === "2025-11-25" ? "legacy" : { pin: revision },
    transport: ClientStdio.transport(Command.make(process.execPath, ["--conditions=@quiesce/source", program]))
  })

describe("a program whose client does not read", () => {
  it.live(cites("ends at the end of its input all the same", "MCP-03"), () =>
    Effect.promise(async () => {
      const child = spawn(process.execPath, ["--conditions=@quiesce/source", program], {
        stdio: ["pipe", "pipe", "pipe"],
        env: childEnvironment()
      })
      const ended = new Promise((resolve) => child.on("exit", resolve))
      const frames = [initialize(), call(revision, 1, "long"), call(revision, 2, "log")]
      child.stdin.write(frames.map((frame) => JSON.stringify(frame) + "\n").join(""))
      // By then the long answer fills the pipe, and waits.
      await new Promise((resolve) => child.stderr.once("data", resolve))
      child.stdin.end()
      assert.strictEqual(await ended, 0)
    }), 15_000)
})

describe("a client of a program", () => {
  it.live(
    cites("does not wait for another answer where one was too long", "MCP-07", "MCP-11"),
    () =>
      Effect.gen(function*() {
        const registry = yield* ToolRegistry.ToolRegistry
        const long = yield* registry.execute({ callId: "1", name: "long", arguments: {} })
        assert.match((long as ToolResult.Failure).error.message, /the answer is longer than 10485760 bytes/)
        const logged = yield* registry.execute({ callId: "2", name: "log", arguments: {} })
        assert.strictEqual(logged._tag, "Success")
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(remoteOf(revision), ToolRegistry.layer([])))),
    20_000
  )

  it.live(
    cites("passes over what is no message, however deeply it is nested", "MCP-11"),
    () =>
      Effect.gen(function*() {
        const registry = yield* ToolRegistry.ToolRegistry
        const { content } = yield* registry.execute({ callId: "1", name: "deep", arguments: {} })
        assert.deepStrictEqual(content, [{ type: "text", text: "\"written\"" }])
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(remoteOf(revision), ToolRegistry.layer([])))),
    20_000
  )

  for (const revision of revisions) {
    it.live(cites(`leaves nothing of it, in ${revision}`, "MCP-07", "MCP-03"), () =>
      Effect.gen(function*() {
        let pids: ReadonlyArray<number> = []
        let began: () => void = () => undefined
        const beginning = new Promise<void>((resolve) => began = resolve)
        const remote = remoteOf(revision)
        yield* Effect.gen(function*() {
          const registry = yield* ToolRegistry.ToolRegistry
          yield* registry.observe({
            progress: (_, { message }) =>
              Effect.sync(() => {
                pids = message!.split(" ").map(Number)
                began()
              })
          })
          const running = yield* registry.start({ callId: "1", name: "running", arguments: {} })
          yield* Effect.promise(() => beginning)
          assert.isTrue(pids.every(isAlive))
          yield* running.cancel()
          const result = yield* running.result
          assert.strictEqual((result as ToolResult.Failure).error.code, "ABORTED")
          assert.deepStrictEqual(result.residue.map(({ kind }) => kind), ["remote"])
          const logged = yield* registry.execute({ callId: "2", name: "log", arguments: {} })
          assert.deepStrictEqual(logged.content, [{ type: "text", text: "\"logged\"" }])
          // Another one, that is running when the client goes.
          yield* registry.start({ callId: "3", name: "running", arguments: {} })
        }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(remote, ToolRegistry.layer([]))))
        assert.deepStrictEqual(pids.filter(isAlive), [])
      }), 30_000)
  }
})
