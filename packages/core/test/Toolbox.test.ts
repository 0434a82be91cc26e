import { assert, describe, it } from "@effect/vitest"
import { Tool, Toolbox, type ToolCall, ToolRegistry, type ToolResult } from "@quiesce/core"
import { readFileSync } from "node:fs"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"

// The tests are promise code throughout: nothing of Effect is needed on this side, which is what they prove.

const live = () => new AbortController().signal

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

const add = Tool.fromPromise("add", {
  description: "Adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number().default(1) }),
  success: z.number(),
  execute: async ({ a, b }) => a + b
})

/** A tool whose bodies run until they are told to end, and mind their signal only by telling `aborted`. */
const held = (name: string) => {
  const runs: Array<{ readonly call: ToolCall.Running; readonly finish: (value: string) => void }> = []
  const tool = Tool.fromPromise(name, {
    description: "",
    parameters: z.object({}),
    success: z.string(),
    execute: (_, call) => {
      const { promise, resolve } = Promise.withResolvers<string>()
      runs.push({ call, finish: resolve })
      return promise
    }
  })
  return { tool, runs }
}

const call = (name: string, callId = name, args: unknown = {}): ToolCall.Input => ({ callId, name, arguments: args })

/** Whether `promise` has settled by now: by the time that every reaction that is due has run. */
const settled = (promise: Promise<unknown>) =>
  Promise.race([
    promise.then(() => true, () => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
  ])

describe("a Toolbox", () => {
  it(
    cites("runs tools of promise functions, validated by zod, and says what a model is shown", "PROMISE-01"),
    async () => {
      const toolbox = Toolbox.make({ tools: [add] })
      assert.deepStrictEqual(toolbox.schemas(), [{
        name: "add",
        description: "Adds two numbers",
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number", default: 1 } },
          required: ["a"]
        }
      }])
      const result = await toolbox.execute({ ...call("add", "call 1", { a: 2 }), signal: live() })
      assert.deepStrictEqual(result, {
        _tag: "Success",
        callId: "call 1",
        name: "add",
        dispatched: true,
        value: 3,
        content: [{ type: "text", text: "3" }],
        contexts: [],
        residue: [],
        concludesTurn: false
      })
      const invalid = await toolbox.execute({ ...call("add", "call 2", { a: "2" }), signal: live() })
      assert(invalid._tag === "Failure")
      assert.strictEqual(invalid.error.code, "INVALID_ARGUMENTS")
      assert.match(invalid.error.message, /\$\.a/)
    }
  )

  it(cites("cancels a call by its signal, and settles it when the body is quiet", "PROMISE-01"), async () => {
    const { runs, tool } = held("held")
    const toolbox = Toolbox.make({ tools: [tool] })
    const controller = new AbortController()
    const result = toolbox.execute({ ...call("held"), signal: controller.signal })
    const { signal } = runs[0]!.call
    const reason = { why: "enough" }
    controller.abort(reason)
    assert.strictEqual(signal.reason, reason)
    assert.isFalse(await settled(result))
    assert.deepStrictEqual(toolbox.inFlight().map(({ cancelling, name, stage }) => ({ cancelling, name, stage })), [
      { name: "held", stage: "body", cancelling: { _tag: "Caller", cause: reason } }
    ])
    runs[0]!.finish("late")
    assert.strictEqual(codeOf(await result), "ABORTED")
    assert.deepStrictEqual(toolbox.inFlight(), [])
  })

  for (const cause of [0, "", null, false, undefined, { any: "thing" }]) {
    it(
      cites(
        `cancels calls by label or token, for the caller's own reason: ${JSON.stringify(cause)}`,
        "CALL-17",
        "CALL-33",
        "PROMISE-01"
      ),
      async () => {
        const { runs, tool } = held("held")
        const toolbox = Toolbox.make({ tools: [tool] })
        const results = ["twin", "twin", "other"].map((callId) =>
          toolbox.execute({ ...call("held", callId), signal: live() })
        )
        const signals = runs.map((run) => run.call.signal)
        assert.strictEqual(toolbox.cancel("nobody", cause), 0)
        assert.strictEqual(toolbox.cancel("twin", cause), 2)
        assert.deepStrictEqual(signals.map(({ aborted }) => aborted), [true, true, false])
        if (cause === undefined) assert.deepInclude(signals[0]!.reason, { name: "AbortError" })
        else assert.strictEqual(signals[0]!.reason, cause)
        assert.strictEqual(toolbox.cancel(runs[2]!.call.token, cause), 1)
        for (const { finish } of runs) finish("")
        assert.deepStrictEqual((await Promise.all(results)).map(codeOf), ["ABORTED", "ABORTED", "ABORTED"])
        assert.strictEqual(toolbox.cancel("twin"), 0)
      }
    )
  }

  it(cites("asks a policy, an approval channel and wrappers that are promise functions", "PROMISE-01"), async () => {
    const events: Array<string> = []
    const toolbox = Toolbox.make({
      tools: [add],
      policy: {
        pre: async ({ callId }) => {
          events.push("pre")
          return callId === "denied" ? { deny: "not you" } : callId === "allowed" ? "allow" : { ask: "sure?" }
        },
        post: async (_, result) => {
          events.push("post")
          return result._tag === "Success" ? { _tag: "Accept", value: 100 } : { _tag: "Accept" }
        }
      },
      approval: async ({ callId }, _, reason) => {
        events.push(`approval: ${reason}`)
        return callId === "rejected"
          ? { deny: "no time" }
          : callId === "rejected without a word"
          ? "deny"
          : callId === "given up"
          ? "cancel"
          : "allow"
      },
      wrappers: [
        async (next, { callId }, { signal }) => {
          events.push("outer")
          return callId === "answered" ? 7 : next(signal)
        },
        async (next, _, { signal }) => {
          events.push("inner")
          return next(signal)
        }
      ],
      observers: [(call) => void events.push(`observed ${call.callId}`)]
    })
    const run = async (callId: string) => {
      events.length = 0
      const result = await toolbox.execute({ ...call("add", callId, { a: 1 }), signal: live() })
      return result._tag === "Success" ? result.value : `${result.error.code}: ${result.error.message}`
    }
    assert.strictEqual(await run("asked"), 100)
    assert.deepStrictEqual(events, ["pre", "approval: sure?", "outer", "inner", "post", "observed asked"])
    assert.strictEqual(await run("allowed"), 100)
    assert.deepStrictEqual(events, ["pre", "outer", "inner", "post", "observed allowed"])
    assert.strictEqual(await run("answered"), 100)
    assert.deepStrictEqual(events, ["pre", "approval: sure?", "outer", "post", "observed answered"])
    assert.strictEqual(await run("denied"), "DENIED: not you")
    assert.strictEqual(await run("rejected"), "DENIED: no time")
    assert.match(JSON.stringify(await run("rejected without a word")), /^"DENIED/)
    assert.match(JSON.stringify(await run("given up")), /^"ABORTED_BEFORE_DISPATCH/)
  })

  it(cites("denies what is to be asked where nobody can be asked", "PROMISE-01"), async () => {
    const toolbox = Toolbox.make({ tools: [add], policy: { pre: () => ({ ask: "sure?" }) } })
    assert.strictEqual(codeOf(await toolbox.execute({ ...call("add", "", { a: 1 }), signal: live() })), "DENIED")
  })

  it.each([undefined, null, true, "deny", "yes", 1, {}, [], { allow: true }, { ask: 5 }, { deny: 5 }])(
    cites("never takes nonsense for a permission: a policy answers %j", "PROMISE-01"),
    async (answer) => {
      const nonsense: any = () => answer
      for (
        const options of [{ policy: { pre: nonsense } }, {
          policy: { pre: () => ({ ask: "" }) },
          approval: nonsense
        }] as const
      ) {
        const toolbox = Toolbox.make({ tools: [add], ...options })
        const result = await toolbox.execute({ ...call("add", "", { a: 1 }), signal: live() })
        assert.include(["DENIED", "POLICY_FAILURE"], codeOf(result))
        assert.isFalse(result.dispatched)
        assert(result._tag === "Failure")
        assert.isString(result.error.message)
      }
    }
  )

  it(cites("refuses two tools of one name where it is made", "PROMISE-01"), () => {
    try {
      Toolbox.make({ tools: [add, held("add").tool] })
    } catch (thrown) {
      assert.instanceOf(thrown, ToolRegistry.DuplicateTool)
      return
    }
    assert.fail("accepted")
  })

  it(cites("rejects a call without a signal: there is no default for it", "CALL-30", "PROMISE-01"), async () => {
    const toolbox = Toolbox.make({ tools: [add] })
    for (const signal of [undefined, null, {}, "signal"]) {
      const outcome = await toolbox.execute({ ...call("add", "", { a: 1 }), signal: signal as never })
        .then(codeOf, (thrown: unknown) => thrown instanceof TypeError ? "TypeError" : String(thrown))
      assert.strictEqual(outcome, "TypeError")
      assert.deepStrictEqual(toolbox.inFlight(), [])
    }
  })
})

describe("quiescence of a Toolbox", () => {
  it(cites("whenIdle resolves once nothing is in flight", "CALL-28", "PROMISE-01"), async () => {
    const { runs, tool } = held("held")
    const toolbox = Toolbox.make({ tools: [tool] })
    await toolbox.whenIdle()
    const results = [1, 2].map((id) => toolbox.execute({ ...call("held", String(id)), signal: live() }))
    const idle = toolbox.whenIdle()
    runs[0]!.finish("")
    await results[0]
    assert.isFalse(await settled(idle))
    runs[1]!.finish("")
    await idle
    assert.deepStrictEqual(toolbox.inFlight(), [])
  })

  it(
    cites(
      "close refuses new calls, cancels those there are, and resolves when they are quiet",
      "CALL-28",
      "PROMISE-01"
    ),
    async () => {
      const { runs, tool } = held("held")
      const toolbox = Toolbox.make({ tools: [tool] })
      const result = toolbox.execute({ ...call("held"), signal: live() })
      const closing = toolbox.close()
      assert.match(runs[0]!.call.signal.reason.message, /shutting down/)
      const late = await toolbox.execute({ ...call("held", "late"), signal: live() })
      assert(late._tag === "Failure")
      assert.deepInclude(late.error, { code: "ABORTED_BEFORE_DISPATCH", detail: { reason: "Shutdown" } })
      assert.isFalse(await settled(closing))
      runs[0]!.finish("")
      await closing
      assert.strictEqual(codeOf(await result), "ABORTED")
    }
  )

  it(cites("await using closes it", "CALL-28", "PROMISE-01"), async () => {
    const { runs, tool } = held("held")
    let result: Promise<ToolResult.ToolResult> | undefined
    {
      await using toolbox = Toolbox.make({ tools: [tool] })
      result = toolbox.execute({ ...call("held"), signal: live() })
      runs[0]!.call.signal.addEventListener("abort", () => runs[0]!.finish("stopped"))
    }
    assert.isTrue(await settled(result))
    assert.strictEqual(codeOf(await result), "ABORTED")
  })

  it(cites("can be closed from inside two calls at once: both are over then", "CALL-28", "PROMISE-01"), async () => {
    const closing = Tool.fromPromise("closing", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      execute: async (_, { token }) => {
        await toolbox.close(token)
        return ""
      }
    })
    const toolbox = Toolbox.make({ tools: [closing] })
    const results = [call("closing"), call("closing")].map((input) => toolbox.execute({ ...input, signal: live() }))
    // The first closes it before the second is made.
    assert.deepStrictEqual((await Promise.all(results)).map(codeOf), ["ABORTED", "ABORTED_BEFORE_DISPATCH"])
    const gate = Promise.withResolvers<void>()
    const late = Tool.fromPromise("late", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      execute: async (_, { token }) => {
        await gate.promise
        await another.close(token)
        return ""
      }
    })
    const another = Toolbox.make({ tools: [late] })
    const both = [call("late"), call("late")].map((input) => another.execute({ ...input, signal: live() }))
    gate.resolve()
    assert.deepStrictEqual((await Promise.all(both)).map(codeOf), ["ABORTED", "ABORTED"])
  })

  for (const name of ["whenIdle", "close"] as const) {
    it(
      cites(`${name} from inside a call does not wait for that call, nor for those around it`, "CALL-28", "PROMISE-01"),
      async () => {
        const other = held("other")
        const events: Array<string> = []
        const outer = Tool.fromPromise("outer", {
          description: "",
          parameters: z.object({}),
          success: z.string(),
          execute: async (_, { signal }) => codeOf(await toolbox.execute({ ...call("inner"), signal }))
        })
        const inner = Tool.fromPromise("inner", {
          description: "",
          parameters: z.object({}),
          success: z.string(),
          execute: async (_, { token }) => {
            await toolbox[name](token)
            events.push("waited")
            return ""
          }
        })
        const toolbox = Toolbox.make({ tools: [outer, inner, other.tool] })
        const others = toolbox.execute({ ...call("other"), signal: live() })
        const result = toolbox.execute({ ...call("outer"), signal: live() })
        assert.isFalse(await settled(result))
        assert.deepStrictEqual(events, [])
        other.runs[0]!.finish("")
        await others
        await result
        assert.deepStrictEqual(events, ["waited"])
      }
    )
  }

  it(cites("a call inside another is one by the signal that its body was given", "CALL-26", "PROMISE-01"), async () => {
    const leaf = held("leaf")
    const outer = Tool.fromPromise("outer", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      execute: async (_, { signal }) => codeOf(await inside.execute({ ...call("leaf"), signal }))
    })
    const inside = Toolbox.make({ tools: [leaf.tool] })
    const toolbox = Toolbox.make({ tools: [outer] })
    const controller = new AbortController()
    const result = toolbox.execute({ ...call("outer", "root"), signal: controller.signal })
    assert.strictEqual(leaf.runs[0]!.call.rootCallId, "root")
    const { signal } = leaf.runs[0]!.call
    controller.abort("the root's reason")
    assert.strictEqual(signal.reason, "the root's reason")
    assert.isFalse(await settled(result))
    leaf.runs[0]!.finish("")
    assert.strictEqual(codeOf(await result), "ABORTED")
    assert.deepStrictEqual(inside.inFlight(), [])
  })
})

describe("the types of a Toolbox", () => {
  it(cites("name nothing of Effect", "PROMISE-01"), () => {
    const source = readFileSync(new URL("../src/Toolbox.ts", import.meta.url), "utf8")
    const interfaces = source.slice(
      source.indexOf("export interface Toolbox"),
      source.indexOf("/** Throws `DuplicateTool`")
    )
    assert.notMatch(interfaces, /\b(Effect|Layer|Stream|Exit|Cause|Fiber|Context|Scope)\./)
  })
})
