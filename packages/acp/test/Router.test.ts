/** The SDK, where it gives up by itself: whatever it was trusted with is answered all the same. */
import { assert, describe, it } from "@effect/vitest"
import { AcpError, Transport } from "@quiesce/acp"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { Connection } from "../src/internal/connection.ts"
import type { Host } from "../src/internal/host.ts"
import { router } from "../src/internal/sdk.ts"
import { drive, request, settled } from "./support/driver.ts"

describe("a connection whose SDK gives up", () => {
  it.effect(
    cites("answers all its requests when they are quiet, and ends, and says why", "ACP-06", "ACP-02"),
    () =>
      Effect.gen(function*() {
        // See `connected`.
        yield* TestClock.adjust(0)
        const release = yield* Deferred.make<void>()
        const sdk = router("agent", {
          requests: {
            _slow: () => Effect.onInterrupt(Effect.never, () => Deferred.await(release)),
            _now: () => Effect.void
          },
          notifications: {}
        })
        // What the SDK writes to fails: it closes.
        const failing = (host: Host): Host => ({
          ...host,
          answer: () => {
            throw new Error("torn")
          }
        })
        const [ours, theirs] = yield* Transport.memory
        const driver = yield* drive(theirs, Effect.void)
        const connection = new Connection(yield* Effect.context<never>(), ours, (host) => sdk(failing(host)))
        yield* driver.send(request(1, "_slow"))
        yield* settled
        yield* driver.send(request(2, "_now"))
        yield* settled
        yield* driver.send(request(3, "_now"))
        yield* settled
        assert.deepStrictEqual(driver.received.map(({ error, id }) => [id, error?.code]), [[2, -32800], [3, -32800]])
        yield* Deferred.succeed(release, undefined)
        const ending = yield* connection.closed
        assert.strictEqual(ending._tag, "Failed")
        assert.instanceOf(ending._tag === "Failed" ? ending.error : undefined, AcpError.RouterFailed)
        assert.strictEqual(
          ending._tag === "Failed" ? ending.error.message : "",
          "the connection of the SDK has ended: torn"
        )
        yield* settled
        assert.deepStrictEqual(driver.answers(1).map(({ error }) => error?.code), [-32800])
        assert.isTrue(driver.ended())
      })
  )
})
