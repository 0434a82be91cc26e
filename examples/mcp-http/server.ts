/**
 * The tools of ../mcp-server over HTTP, on this machine: `node server.ts [PORT] [FOLDER]`, until Ctrl-C.
 */
import { Approval } from "@quiesce/core"
import { HttpServer, NodeHttp } from "@quiesce/mcp"
import { Files, Tools } from "@quiesce/node"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"

const [port = "8080", root = process.cwd()] = process.argv.slice(2)

const program = Effect.gen(function*() {
  const server = yield* HttpServer.make({ name: "quiesce-example", version: "1.0.0" })
  const http = createServer(NodeHttp.listener(server)).listen(Number(port), "127.0.0.1")
  yield* Effect.addFinalizer(() => Effect.sync(() => http.close()))
  console.log(`http://127.0.0.1:${port}/mcp`)
  yield* Effect.callback<void>((resume) => void process.once("SIGINT", () => resume(Effect.void)))
})

const tools = Tools.layer.pipe(Layer.provide([Approval.layerAllow, Files.layer({ root })]))

await Effect.runPromise(Effect.scoped(Effect.provide(program, tools)))
