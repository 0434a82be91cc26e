import { assert, describe, it } from "@effect/vitest"
import { Approval, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Files, Http, Tools } from "@quiesce/node"
import { Deferred, Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as NodeHttp from "node:http"
import type * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint } from "./support/world.ts"

const root = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(join(tmpdir(), "quiesce-tools-")))),
  (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true }))
)

const registry = (root: string, approval: Layer.Layer<never> = Approval.layerAllow) =>
  Tools.layer.pipe(Layer.provide([Files.layer({ root }), approval]))

const call = (name: string, input: unknown) =>
  Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.execute({ callId: name, name, arguments: input }))

const valueOf = (result: ToolResult.ToolResult): any =>
  result._tag === "Success" ? result.value : assert.fail(result.error.message)

describe("run_command", () => {
  it.live("runs in the root, and tells how it ended", () =>
    Effect.gen(function*() {
      const directory = yield* root
      yield* Effect.gen(function*() {
        Fs.mkdirSync(join(directory, "sub"))
        const value = valueOf(
          yield* call("run_command", {
            program: "/bin/sh",
            args: ["-c", "pwd; cat; echo e >&2; exit 3"],
            directory: "sub",
            stdin: "in"
          })
        )
        assert.deepStrictEqual(value, {
          outcome: "Exited",
          code: 3,
          stdout: `${join(directory, "sub")}\nin`,
          stderr: "e\n",
          swept: 0
        })
        const timedOut = valueOf(yield* call("run_command", { program: "sleep", args: ["1000"], timeoutMillis: 100 }))
        assert.deepStrictEqual([timedOut.outcome, timedOut.signal], ["TimedOut", "SIGTERM"])
        const missing = yield* call("run_command", { program: "no-such-program" })
        assert.strictEqual(missing._tag === "Failure" ? missing.error.name : undefined, "SpawnFailed")
        const outside = yield* call("run_command", { program: "ls", directory: ".." })
        assert.strictEqual(outside._tag === "Failure" ? outside.error.name : undefined, "FileFailed")
      }).pipe(Effect.provide(registry(directory)))
    }))

  it.live(
    cites("that is cancelled leaves nobody, and what it wrote is a context", "NODE-01", "NODE-03", "CALL-35"),
    () =>
      Effect.gen(function*() {
        const directory = yield* root
        const mark = fingerprint()
        yield* Effect.gen(function*() {
          const { observe, start } = yield* ToolRegistry.ToolRegistry
          const ready = yield* Deferred.make<string | undefined>()
          yield* observe({ progress: (_, { message }) => Deferred.succeed(ready, message) })
          const input = { program: "/bin/sh", args: ["-c", `sleep ${mark} & setsid sleep ${mark} & echo ready; wait`] }
          const { cancel, result } = yield* start({ callId: "1", name: "run_command", arguments: input })
          assert.strictEqual(yield* Deferred.await(ready), "ready")
          yield* cancel()
          const settled = yield* result
          assert.deepStrictEqual(alive(mark), [])
          assert.strictEqual(settled._tag === "Failure" ? settled.error.code : undefined, "ABORTED")
          assert.deepStrictEqual(settled.residue, [])
          const [context] = settled.contexts as ReadonlyArray<any>
          assert.deepStrictEqual([context.run_command.outcome, context.run_command.stdout], ["Cancelled", "ready\n"])
        }).pipe(Effect.provide(registry(directory)), Effect.scoped)
      })
  )
})

describe("the file tools", () => {
  it.live("write, list and read beneath the root", () =>
    Effect.gen(function*() {
      const directory = yield* root
      yield* Effect.gen(function*() {
        Fs.mkdirSync(join(directory, "sub"))
        assert.deepStrictEqual(valueOf(yield* call("write_file", { path: "sub/a", content: "änderung" })), { bytes: 9 })
        assert.deepStrictEqual(valueOf(yield* call("list_files", {})), {
          entries: [{ path: "sub", kind: "directory" }],
          complete: true
        })
        assert.strictEqual(valueOf(yield* call("list_files", { deep: true })).entries.length, 2)
        const whole = yield* call("read_file", { path: "sub/a" })
        assert.deepStrictEqual(valueOf(whole), { text: "änderung", size: 9 })
        const part = yield* call("read_file", { path: "sub/a", from: 2, maxBytes: 3 })
        assert.deepStrictEqual(valueOf(part), { text: "nde", size: 9, next: 5 })
        assert.deepStrictEqual(part.content, [{ type: "text", text: "nde\n[4 bytes follow, from 5]" }])
        for (
          const [name, input] of [
            ["read_file", { path: "../x" }],
            ["write_file", { path: "../x", content: "" }],
            ["list_files", { path: ".." }]
          ] as const
        ) {
          const result = yield* call(name, input)
          assert.strictEqual(result._tag === "Failure" ? (result.error.detail as any).reason : undefined, "Outside")
        }
      }).pipe(Effect.provide(registry(directory)))
    }))

  it.live("read a text in parts without a character that a part goes through, whatever its size", () =>
    Effect.gen(function*() {
      const directory = yield* root
      const text = "aä€😀".repeat(3)
      Fs.writeFileSync(join(directory, "text"), text)
      for (const maxBytes of [4, 5, 7, 11]) {
        let read = ""
        for (let from: number | undefined = 0; from !== undefined;) {
          const input = { path: "text", from, maxBytes }
          const part = valueOf(yield* Effect.provide(call("read_file", input), registry(directory)))
          read += part.text
          from = part.next
        }
        assert.strictEqual(read, text, `${maxBytes} bytes each`)
      }
    }))

  it.live("list no more than a model can use", () =>
    Effect.gen(function*() {
      const directory = yield* root
      for (let i = 0; i < 1001; i++) Fs.writeFileSync(join(directory, String(i)), "")
      const { complete, entries } = valueOf(yield* Effect.provide(call("list_files", {}), registry(directory)))
      assert.deepStrictEqual([complete, entries.length], [false, 1000])
    }))
})

describe("http_get", () => {
  it.live("fetches as much of a page as is shown, and lets go", () =>
    Effect.gen(function*() {
      const directory = yield* root
      const server = NodeHttp.createServer((request, response) => {
        response.writeHead(200, { "content-type": "text/plain" })
        if (request.url === "/short") return void response.end("short")
        // Three bytes each, so that the end of what is shown goes through one.
        const more = () => response.write("€".repeat(10_000), (error) => error == null && more())
        more()
      })
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const url = `http://127.0.0.1:${(server.address() as Net.AddressInfo).port}/`
      yield* Effect.gen(function*() {
        const short = valueOf(yield* call("http_get", { url: `${url}short` }))
        assert.deepStrictEqual(short, {
          url: `${url}short`,
          status: 200,
          contentType: "text/plain",
          text: "short",
          complete: true
        })
        const long = valueOf(yield* call("http_get", { url }))
        assert.strictEqual(long.text, "€".repeat(Math.floor(128 * 1024 / 3)))
        assert.isFalse(long.complete)
      }).pipe(
        Effect.provide(registry(directory)),
        Effect.provideService(Http.Destinations, Http.publicAnd("127.0.0.1"))
      )
      const refused = yield* Effect.provide(call("http_get", { url }), registry(directory))
      assert.strictEqual(refused._tag === "Failure" ? (refused.error.detail as any).reason : undefined, "NotAllowed")
    }))
})

describe("approval", () => {
  it.live("is asked before anything is changed or leaves the machine, and nobody to ask means no", () =>
    Effect.gen(function*() {
      const directory = yield* root
      const file = join(directory, "a")
      const unasked = Tools.layer.pipe(Layer.provide(Files.layer({ root: directory })))
      yield* Effect.gen(function*() {
        for (
          const [name, input] of [
            ["run_command", { program: "touch", args: [file] }],
            ["write_file", { path: "a", content: "" }],
            ["http_get", { url: "http://127.0.0.1:1/" }]
          ] as const
        ) {
          const result = yield* call(name, input)
          assert.strictEqual(result._tag === "Failure" ? result.error.code : undefined, "DENIED", name)
          assert.isFalse(result.dispatched)
        }
        assert.isFalse(Fs.existsSync(file))
        assert.strictEqual((yield* call("list_files", {}))._tag, "Success")
        Fs.writeFileSync(file, "")
        assert.strictEqual((yield* call("read_file", { path: "a" }))._tag, "Success")
      }).pipe(Effect.provide(unasked))
    }))
})
