import { assert, describe, it } from "@effect/vitest"
import { Tool, Toolbox, ToolRegistry } from "@quiesce/core"
import * as Face from "@quiesce/interop/Face"
import * as Ledger from "@quiesce/interop/Ledger"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { held, settled } from "./support/tools.ts"

const registryOf = (tools: ReadonlyArray<Tool.AnyNoServices>): Face.Face => {
  const context = Effect.runSync(Layer.buildWithScope(ToolRegistry.layer(tools), Scope.makeUnsafe()))
  return Face.of(Effect.runSync(Effect.provideContext(ToolRegistry.ToolRegistry, context)))
}

const faces: ReadonlyArray<readonly [string, (tools: ReadonlyArray<Tool.AnyNoServices>) => Face.Face]> = [
  ["a toolbox", (tools) => Toolbox.make({ tools })],
  ["a registry", registryOf],
  ["a ledger", (tools) => Ledger.make(registryOf(tools))]
]

describe("a face inside of a call", () => {
  for (const [what, faceOf] of faces) {
    it(cites(`waits for its own calls and not for that call: ${what}`, "PROMISE-02", "CALL-28"), async () => {
      const stuck = held()
      const waiting = Promise.withResolvers<{ readonly idle: Promise<void> }>()
      const agent = Tool.fromPromise("agent", {
        description: "Makes a call that it does not wait for, and waits until there is none",
        parameters: z.object({}),
        success: z.string(),
        execute: async (_, { signal, token }) => {
          const inner = Face.inside(face, token)
          await inner.whenIdle()
          void inner.execute({ callId: "inner", name: "held", arguments: {}, signal })
          const idle = inner.whenIdle()
          waiting.resolve({ idle })
          await idle
          return "idle"
        }
      })
      const face = faceOf([stuck.tool, agent])
      const begun = stuck.next()
      const result = face.execute({
        callId: "outer",
        name: "agent",
        arguments: {},
        signal: new AbortController().signal
      })
      const [run, { idle }] = await Promise.all([begun, waiting.promise])
      assert.strictEqual(run.call.rootCallId, "outer")
      assert.isFalse(await settled(idle))
      run.finish("done")
      assert.deepInclude(await result, { _tag: "Success", value: "idle" })
      await face.whenIdle()
    })
  }
})
