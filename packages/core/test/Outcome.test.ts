import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@quiesce/core"
import { Effect, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { allFaces } from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"

describe.each(allFaces)("$name", (face) => {
  it.effect(cites("a body that was invoked and succeeds after the cancel is ABORTED", "CALL-08"), () =>
    Effect.gen(function*() {
      const gate = Gate.make<string>()
      const tool = Tool.fromPromise("t", { description: "", parameters: Schema.Struct({}), success: Schema.String, execute: () => gate.promise() })
      const host = yield* face.open({ tools: [tool] })
      const call = yield* host.call("t")
      yield* gate.reached
      yield* call.cancel
      assert.isFalse(call.isOver())
      yield* gate.open("late")
      const result = yield* call.result
      assert.strictEqual(result._tag === "Failure" ? result.error.code : "", "ABORTED")
    }))
})
