import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { childEnvironment } from "../child-environment.ts"
import { incrementMutant } from "./fixture/repository.ts"
import { select } from "./main.ts"

const script = fileURLToPath(new URL("./fixture/main.ts", import.meta.url))

/** A server that says when somebody is connected to it, and when they are gone. */
const listening = Effect.gen(function*() {
  const connected = yield* Deferred.make<void>()
  const gone = yield* Deferred.make<void>()
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => {
        Deferred.doneUnsafe(connected, Effect.void)
        // The death of the other end is an end or a reset, as the platform likes.
        socket.on("error", () => {}).on("close", () => Deferred.doneUnsafe(gone, Effect.void)).resume()
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )
  return { connected, gone, port: (server.address() as AddressInfo).port }
})

describe("the command line", () => {
  it.live("when interrupted kills the test that runs, removes the scratch copies and exits with 130", () =>
    Effect.gen(function*() {
      const temporary = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "quiesce-main-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
      const { connected, gone, port } = yield* listening
      const exited = yield* Deferred.make<number | null>()
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, [script, String(port)], {
            env: { ...childEnvironment(), TMPDIR: temporary },
            stdio: "ignore"
          }).on("exit", (code) => Deferred.doneUnsafe(exited, Effect.succeed(code)))
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      yield* Deferred.await(connected)
      assert.strictEqual(readdirSync(temporary).filter((name) => name.startsWith("quiesce-mutants-")).length, 1)
      child.kill("SIGINT")
      assert.strictEqual(yield* Deferred.await(exited), 130)
      yield* Deferred.await(gone)
      assert.deepStrictEqual(readdirSync(temporary).filter((name) => name.startsWith("quiesce-mutants-")), [])
    }))

  it("selects mutants by a part of their name, clause or file", () => {
    const a = incrementMutant("the body is abandoned", "0")
    const b = {
      ...incrementMutant("b", "0"),
      clause: ["TIME-01", "CALL-16"] as const,
      file: "packages/core/src/Hub.ts"
    }
    assert.deepStrictEqual(select([a, b], "abandoned"), [a])
    assert.deepStrictEqual(select([a, b], "CALL-16"), [b])
    assert.deepStrictEqual(select([a, b], "core/src"), [b])
    assert.deepStrictEqual(select([a, b], ""), [a, b])
  })
})
