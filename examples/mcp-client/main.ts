/**
 * A client that cancels: it starts the server of ../mcp-server, has it run a command, changes its mind, and looks at what
 * is left of the command.
 */
import { ToolRegistry, type ToolResult } from "@quiesce/core"
import { Client, ClientStdio } from "@quiesce/mcp"
import { Command } from "@quiesce/node"
import { Deferred, Effect, Layer } from "effect"
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const server = Command.make(process.execPath, [
  ...process.execArgv,
  // The server resolves packages as we do.
  ...(process.env["NODE_OPTIONS"]?.split(" ") ?? []),
  join(import.meta.dirname, "../mcp-server/main.ts"),
  import.meta.dirname
])

/** The tools of the server, in a registry of ours. */
const tools = Layer.provideMerge(
  Client.layer({ name: "example", version: "1.0.0", transport: ClientStdio.transport(server) }),
  ToolRegistry.layer([])
)

/** A process that has ended, and of which nobody has taken note, is not alive. */
const isAlive = (pid: string): boolean => {
  const state = spawnSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).stdout.trim()
  return state !== "" && !state.startsWith("Z")
}

const program = Effect.gen(function*() {
  const registry = yield* ToolRegistry.ToolRegistry
  const names = (yield* registry.schemas).map(({ name }) => name)
  console.log("tools:", names.join(", "))

  // What the command says is its process id and that of a child.
  const said = yield* Deferred.make<string>()
  yield* registry.observe({ progress: (_, { message }) => Deferred.succeed(said, message ?? "") })
  const script = "sleep 1000 & echo $$ $!; wait"
  const call = yield* registry.start({
    callId: "1",
    name: "run_command",
    arguments: { program: "/bin/sh", args: ["-c", script] }
  })
  const pids = (yield* Deferred.await(said)).split(" ")
  console.log("running:", pids.filter(isAlive).length, "processes")

  yield* call.cancel()
  const result = (yield* call.result) as ToolResult.Failure
  console.log("cancelled:", result.error.code)
  console.log("residue:", result.residue.map(({ kind }) => kind).join())
  return { pids, result }
})

// The connection has ended with the program: the server has waited for what it had started.
const { pids, result } = await Effect.runPromise(Effect.scoped(Effect.provide(program, tools)))
const left = pids.filter(isAlive)
console.log("left:", left.length, "processes")
assert.deepEqual([result.error.code, result.residue.length, pids.length, left.length], ["ABORTED", 1, 2, 0])
