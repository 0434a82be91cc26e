import { assert, describe, it } from "@effect/vitest"
import { Tool, Toolbox, ToolRegistry } from "@quiesce/core"
import * as AiSdk from "@quiesce/interop/AiSdk"
import * as Face from "@quiesce/interop/Face"
import * as Ledger from "@quiesce/interop/Ledger"
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  type ModelMessage,
  readUIMessageStream,
  streamText,
  type UIMessage
} from "ai"
import * as Effect from "effect/Effect"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { resultsIn, scripted } from "./support/aiModel.ts"
import { add, held, join, obedient, rejection, settled } from "./support/tools.ts"

const prompt = "go"
const user: ModelMessage = { role: "user", content: prompt }
const error = (value: string) => ({ type: "error-text", value })
const aborted = error("Error: tool call aborted")
const neverStarted = error("Error: tool call aborted before dispatch")

/** Streams until the stream ends, and gives the history that the AI SDK makes of it. */
const streamed = async (
  options: Omit<Parameters<typeof streamText>[0], "prompt" | "messages">,
  messages: Array<ModelMessage> = [user]
): Promise<Array<ModelMessage>> => {
  const stream = streamText({ ...options, messages, onError: () => {} } as Parameters<typeof streamText>[0])
  let last: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream: stream.toUIMessageStream() })) last = message
  return [...messages, ...await convertToModelMessages(last === undefined ? [] : [last])]
}

describe("AiSdk.tools", () => {
  it(cites("shows a model the tools, and what its calls came to", "PROMISE-02", "PROMISE-04"), async () => {
    const { model, offered, prompts } = scripted(
      [["1", "add", { a: 1, b: 2 }], ["2", "join", { words: ["no", "more"] }]],
      "done"
    )
    const tools = AiSdk.tools(Toolbox.make({ tools: [add, join] }))
    const { steps, text } = await generateText({ model, prompt, tools, stopWhen: isStepCount(5) })
    assert.strictEqual(text, "done")
    assert.deepStrictEqual(
      offered()?.map((tool) => tool.type === "function" && [tool.name, tool.description, tool.inputSchema]),
      Toolbox.make({ tools: [add, join] }).schemas().map((tool) => [tool.name, tool.description, tool.inputSchema])
    )
    assert.deepStrictEqual(resultsIn(prompts()[1]!), [
      ["1", { type: "text", value: "3" }],
      ["2", { type: "text", value: "\"no more\"" }]
    ])
    // And the program that called is given the whole result.
    assert.deepStrictEqual(steps[0]!.toolResults.map(({ output }) => (output as AiSdk.Output).value), [3, "no more"])
  })

  it(cites("takes a registry as it takes a toolbox", "PROMISE-02"), async () => {
    const { model, prompts } = scripted([["1", "add", { a: 1, b: 2 }]], "done")
    await Effect.runPromise(
      Effect.gen(function*() {
        const registry = yield* ToolRegistry.ToolRegistry
        const tools = AiSdk.tools(Face.of(registry))
        yield* Effect.promise(() => generateText({ model, prompt, tools, stopWhen: isStepCount(5) }))
      }).pipe(Effect.provide(ToolRegistry.layer([add])))
    )
    assert.deepStrictEqual(resultsIn(prompts()[1]!), [["1", { type: "text", value: "3" }]])
  })

  it(cites("tells a model every issue of its arguments, with its path", "PROMISE-02", "PROMISE-04"), async () => {
    const { model, prompts } = scripted(
      [["1", "add", { a: "one" }], ["2", "join", { words: ["a", 1] }]],
      "done"
    )
    const tools = AiSdk.tools(Toolbox.make({ tools: [add, join] }))
    await generateText({ model, prompt, tools, stopWhen: isStepCount(5) })
    const [[, one], [, two]] = resultsIn(prompts()[1]!) as [any, any]
    assert.strictEqual(one.type, "error-text")
    assert.match(one.value, /\$\.a/)
    assert.match(one.value, /\$\.b/)
    assert.match(two.value, /\$\.words\[1\]/)
  })

  it(cites("shows of a failure what finalizeContent leaves of it, and nothing else", "PROMISE-02"), async () => {
    const { model, prompts } = scripted([["1", "leaky", {}]], "done")
    const leaky = Tool.fromPromise("leaky", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      finalizeContent: () => [{ type: "text", text: "it failed" }],
      execute: () => {
        throw new Error("the password is 1234")
      }
    })
    const tools = AiSdk.tools(Toolbox.make({ tools: [leaky] }))
    const { steps } = await generateText({ model, prompt, tools, stopWhen: isStepCount(5) })
    assert.deepStrictEqual(resultsIn(prompts()[1]!), [["1", error("it failed")]])
    const failed = steps[0]!.content.find((part) => part.type === "tool-error")?.error
    assert.instanceOf(failed, Face.CallFailed)
    assert.deepInclude(failed, { name: "CallFailed", code: "TOOL_FAILURE", dispatched: true, message: "it failed" })
    assert.match(failed.result.error.message, /1234/)
  })

  it(cites("shows behind a result what its call deferred", "PROMISE-02"), async () => {
    const { model, prompts } = scripted([["1", "note", {}]], "done")
    const note = Tool.fromPromise("note", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      render: (value) => [{ type: "text", text: value }],
      execute: (_, call) => {
        call.deferContext("remember this")
        call.deferContext({ and: ["that"] })
        return "noted"
      }
    })
    await generateText({
      model,
      prompt,
      tools: AiSdk.tools(Toolbox.make({ tools: [note] })),
      stopWhen: isStepCount(5)
    })
    assert.deepStrictEqual(resultsIn(prompts()[1]!), [["1", {
      type: "content",
      value: ["noted", "remember this", "{\"and\":[\"that\"]}"].map((text) => ({ type: "text", text }))
    }]])
  })

  it(cites("takes messages of a client for what they are, whatever is in them", "PROMISE-02"), async () => {
    const tools = AiSdk.tools(Toolbox.make({ tools: [add] }))
    const output = (toolCallId: string, output: unknown): UIMessage["parts"][number] => ({
      type: "dynamic-tool",
      state: "output-available",
      toolName: "add",
      toolCallId,
      input: {},
      output
    })
    const success = await tools["add"]!.execute!({ a: 1, b: 2 }, { toolCallId: "0", messages: [], context: {} })
    const parts = [
      JSON.parse(JSON.stringify(success)),
      { content: 1, contexts: [], concludesTurn: false },
      null,
      "three"
    ]
      .map((value, at) => output(String(at), value))
    const messages = await convertToModelMessages([{ role: "assistant", parts }], { tools })
    assert.deepStrictEqual(resultsIn(messages), [
      ["0", { type: "text", value: "3" }],
      ["1", { type: "json", value: { content: 1, contexts: [], concludesTurn: false } }],
      ["2", { type: "json", value: null }],
      ["3", { type: "json", value: "three" }]
    ])
  })

  it(cites("ends a generation with the call that concludes the turn", "PROMISE-02"), async () => {
    const { model, prompts } = scripted([["1", "add", { a: 1, b: 1 }]], [["2", "finish", {}]], "too far")
    const finish = Tool.fromPromise("finish", {
      description: "",
      parameters: z.object({}),
      success: z.null(),
      execute: (_, call) => {
        call.concludeTurn()
        return null
      }
    })
    const tools = AiSdk.tools(Toolbox.make({ tools: [add, finish] }))
    await generateText({ model, prompt, tools, stopWhen: [AiSdk.concluded, isStepCount(5)] })
    assert.strictEqual(prompts().length, 2)
  })
})

it(cites("a failure that a host of the AI SDK has let go of does not end the process", "PROMISE-02"), async () => {
  const unhandled: Array<unknown> = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on("unhandledRejection", note)
  try {
    const ledger = Ledger.make(Toolbox.make({ tools: [add] }))
    void AiSdk.tools(ledger)["add"]!.execute!({}, { toolCallId: "1", messages: [], context: {} })
    assert.deepInclude((await ledger.settled())[0]?.result, { _tag: "Failure" })
    // Node tells of what nobody handles once the reactions of a turn have run.
    await new Promise<void>((resolve) => setImmediate(resolve))
    assert.deepStrictEqual(unhandled, [])
  } finally {
    process.off("unhandledRejection", note)
  }
})

describe("a streamText that is read no further", () => {
  it(cites("aborts nothing: the tool runs on, and whenIdle waits for it", "PROMISE-02"), async () => {
    const stuck = held()
    const toolbox = Toolbox.make({ tools: [stuck.tool] })
    const { model } = scripted([["1", "held", {}]], "done")
    const begun = stuck.next()
    for await (const { type } of streamText({ model, prompt, tools: AiSdk.tools(toolbox) }).fullStream) {
      if (type === "tool-call") break
    }
    const run = await begun
    const idle = toolbox.whenIdle()
    assert.isFalse(await settled(idle))
    assert.isFalse(run.call.signal.aborted)
    run.finish("late")
    await idle
  })
})

describe("a generateText that is aborted", () => {
  it(cites("rejects when its calls are quiet, and each has its one outcome", "PROMISE-02"), async () => {
    const stuck = held()
    const nice = obedient()
    const ledger = Ledger.make(Toolbox.make({ tools: [stuck.tool, nice.tool] }))
    const { model } = scripted([["1", "held", {}], ["2", "obedient", {}]])
    const controller = new AbortController()
    const generation = generateText({
      model,
      prompt,
      tools: AiSdk.tools(ledger),
      abortSignal: controller.signal,
      stopWhen: isStepCount(5)
    })
    const [run] = await Promise.all([stuck.next(), nice.next()])
    const reason = new Error("enough")
    controller.abort(reason)
    assert.strictEqual(run.call.signal.reason, reason)
    assert.isFalse(await settled(generation))
    run.finish("late")
    assert.strictEqual(await rejection(generation), reason)
    assert.deepStrictEqual(
      (await ledger.settled()).map(({ callId, result }) => [callId, result._tag === "Failure" && result.error.code]),
      [["1", "ABORTED"], ["2", "ABORTED"]]
    )
  })
})

describe("a streamText that is aborted", () => {
  const start = async () => {
    const stuck = held()
    const toolbox = Toolbox.make({ tools: [add, stuck.tool] })
    const ledger = Ledger.make(toolbox)
    const { model } = scripted([["1", "add", { a: 1, b: 2 }], ["2", "held", {}], ["3", "held", {}]])
    const controller = new AbortController()
    const stream = streamed(
      {
        model,
        tools: AiSdk.tools(ledger),
        abortSignal: controller.signal,
        // So that the third is never started.
        toolCallConcurrency: 2
      } as Parameters<typeof streamed>[0]
    )
    const run = await stuck.next()
    return { controller, ledger, run, stream, toolbox, stuck }
  }

  it(cites("ends at once, and whenIdle still tells the truth", "PROMISE-02"), async () => {
    const { controller, ledger, run, stream, toolbox } = await start()
    const reason = new Error("enough")
    controller.abort(reason)
    await stream
    assert.strictEqual(run.call.signal.reason, reason)
    const idle = toolbox.whenIdle()
    const all = ledger.settled()
    assert.isFalse(await settled(idle))
    assert.isFalse(await settled(all))
    assert.deepInclude(toolbox.inFlight().find(({ callId }) => callId === "2"), {
      stage: "body",
      cancelling: { _tag: "Caller", cause: reason }
    })
    run.finish("late")
    await all
    await toolbox.whenIdle()
    assert.deepStrictEqual(toolbox.inFlight(), [])
    await idle
  })

  it(cites("has a history that is repaired to one result for each call", "PROMISE-02"), async () => {
    const { controller, ledger, run, stream, stuck } = await start()
    controller.abort(new Error("enough"))
    const history = await stream
    run.finish("late")
    const repaired = AiSdk.repair(history, await ledger.settled())
    assert.deepStrictEqual(resultsIn(repaired).map(([id]) => id).sort(), ["1", "2", "3"])
    const byId = Object.fromEntries(resultsIn(repaired))
    assert.deepStrictEqual(byId["1"], { type: "text", value: "3" })
    assert.deepStrictEqual(byId["2"], aborted)
    assert.deepStrictEqual(byId["3"], neverStarted)
    assert.strictEqual(stuck.runs.length, 1)
    assert.deepStrictEqual(AiSdk.repair(repaired, await ledger.settled()), repaired)
    // The AI SDK goes on from the repaired history, and does not from the other.
    const goOn = (messages: Array<ModelMessage>) =>
      generateText({ model: scripted("done").model, messages: [...messages, user] })
    assert.deepInclude(await rejection(goOn(history)), { name: "AI_MissingToolResultsError" })
    assert.strictEqual((await goOn(repaired)).text, "done")
  })

  it(
    cites("has a history in which a late result is put where its call is, and one is enough", "PROMISE-02"),
    async () => {
      const call = (toolCallId: string) => ({ type: "tool-call" as const, toolCallId, toolName: "add", input: {} })
      const result = (toolCallId: string, value: string) => ({
        type: "tool-result" as const,
        toolCallId,
        toolName: "add",
        output: { type: "text" as const, value }
      })
      const history: Array<ModelMessage> = [
        user,
        { role: "assistant", content: [call("1"), call("2"), call("3")] },
        { role: "tool", content: [result("1", "in time")] },
        user,
        { role: "tool", content: [result("2", "late"), result("1", "again")] },
        { role: "tool", content: [result("2", "again")] },
        { role: "assistant", content: [call("1")] },
        { role: "tool", content: [result("1", "another")] },
        user
      ]
      const repaired = AiSdk.repair(history, [])
      assert.deepStrictEqual(repaired.map(({ role }) => role), [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
        "user"
      ])
      assert.deepStrictEqual(resultsIn(repaired), [
        ["1", { type: "text", value: "in time" }],
        ["2", { type: "text", value: "late" }],
        ["3", neverStarted],
        ["1", { type: "text", value: "another" }]
      ])
      assert.deepStrictEqual(AiSdk.repair(repaired, []), repaired)
      assert.strictEqual((await generateText({ model: scripted("done").model, messages: repaired })).text, "done")
      // A result of nobody's call is not ours to judge.
      const orphan: ModelMessage = { role: "tool", content: [result("0", "whose?")] }
      assert.deepStrictEqual(AiSdk.repair([orphan, user], []), [orphan, user])
    }
  )

  it(cites("tells what its calls did where no history has them", "PROMISE-02"), async () => {
    const { controller, ledger, run, stream } = await start()
    controller.abort(new Error("enough"))
    await stream
    run.fail(new Error("half of it is done"))
    const messages = [user, ...AiSdk.messagesOf(await ledger.settled()), user]
    const { model, prompts } = scripted("done")
    await generateText({ model, messages })
    assert.deepStrictEqual(resultsIn(prompts()[0]!).slice(0, 2), [
      ["1", { type: "text", value: "3" }],
      // What it failed with says more than that it was aborted.
      ["2", error("Error: half of it is done")]
    ])
    assert.deepStrictEqual(AiSdk.messagesOf([]), [])
  })
})

describe("a timeout of the AI SDK", () => {
  it(cites("cancels the call, which is over when it is quiet; the generation goes on", "PROMISE-02"), async () => {
    const stuck = held()
    const { model, prompts } = scripted([["1", "held", {}]], "done")
    const tools = AiSdk.tools(Toolbox.make({ tools: [stuck.tool] }))
    const generation = generateText({ model, prompt, tools, stopWhen: isStepCount(5), timeout: { toolMs: 1 } })
    const run = await stuck.next()
    await new Promise<void>((resolve) => run.call.signal.addEventListener("abort", () => resolve()))
    assert.deepInclude(run.call.signal.reason, { name: "TimeoutError" })
    assert.isFalse(await settled(generation))
    run.finish("late")
    assert.strictEqual((await generation).text, "done")
    assert.deepStrictEqual(resultsIn(prompts()[1]!), [["1", aborted]])
  })

  it(cites("is not needed: a tool's own budget is TOOL_TIMEOUT to the model", "PROMISE-02"), async () => {
    const { model, prompts } = scripted([["1", "obedient", {}]], "done")
    const tools = AiSdk.tools(Toolbox.make({ tools: [obedient("obedient", { timeout: 1 }).tool] }))
    const { steps } = await generateText({ model, prompt, tools, stopWhen: isStepCount(5) })
    const failed = steps[0]!.content.find((part) => part.type === "tool-error")?.error
    assert.deepInclude(failed, { code: "TOOL_TIMEOUT", dispatched: true })
    assert.match((resultsIn(prompts()[1]!) as [any])[0][1].value, /1 ?ms/)
  })
})

describe("an approval", () => {
  const ask = async () => {
    const stuck = held()
    const ledger = Ledger.make(Toolbox.make({ tools: [stuck.tool] }))
    const tools = AiSdk.tools(ledger)
    const { model } = scripted([["1", "held", {}]], "done")
    const options = { model, tools, toolApproval: { held: "user-approval" as const } }
    const { content, response } = await generateText({ ...options, prompt })
    const request = content.find((part) => part.type === "tool-approval-request")!
    const messages: Array<ModelMessage> = [user, ...response.messages]
    const answer = (approved: boolean): ModelMessage => ({
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved }]
    })
    return { answer, ledger, messages, options, stuck }
  }

  it(cites("that the AI SDK waits for is no call yet; once given, it is", "PROMISE-02"), async () => {
    const { answer, ledger, messages, options, stuck } = await ask()
    assert.deepStrictEqual(await ledger.settled(), [])
    const answered = [...messages, answer(true)]
    // It is the next generation's to run: nothing is to be repaired.
    assert.deepStrictEqual(AiSdk.repair(answered, []), answered)
    const generation = generateText({ ...options, messages: answered })
    const run = await stuck.next()
    run.finish("ok")
    assert.strictEqual((await generation).text, "done")
  })

  it(cites("that nobody gave is closed by the repair, and a late one runs nothing", "PROMISE-02"), async () => {
    const { answer, ledger, messages, options, stuck } = await ask()
    const repaired = AiSdk.repair(messages, await ledger.settled())
    assert.deepStrictEqual(resultsIn(repaired), [["1", neverStarted]])
    const last = repaired.at(-1) as Extract<ModelMessage, { role: "tool" }>
    const late: ModelMessage = {
      role: "tool",
      content: [...last.content, ...answer(true).content as typeof last.content]
    }
    await generateText({ ...options, messages: [...repaired.slice(0, -1), late] })
    assert.strictEqual(stuck.runs.length, 0)
  })

  it(cites("that was given to a call which was then cut off is not asked for again", "PROMISE-02"), async () => {
    const { answer, ledger, messages, options, stuck } = await ask()
    const controller = new AbortController()
    const answered = [...messages, answer(true)]
    const stream = streamed({ ...options, abortSignal: controller.signal }, answered)
    const run = await stuck.next()
    controller.abort()
    await stream
    run.finish("late")
    const repaired = AiSdk.repair(answered, await ledger.settled())
    assert.deepStrictEqual(resultsIn(repaired), [["1", aborted]])
    await generateText({ ...options, model: scripted("done").model, messages: repaired })
    assert.strictEqual(stuck.runs.length, 1)
  })

  it(cites("of ours is asked inside of the call, and taken back when that is cancelled", "PROMISE-02"), async () => {
    const stuck = held()
    const asked = Promise.withResolvers<AbortSignal>()
    const toolbox = Toolbox.make({
      tools: [stuck.tool],
      policy: { pre: () => ({ ask: "really?" }) },
      approval: (_, signal) => {
        asked.resolve(signal)
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      }
    })
    const ledger = Ledger.make(toolbox)
    const controller = new AbortController()
    const { model } = scripted([["1", "held", {}]])
    const generation = generateText({
      model,
      prompt,
      tools: AiSdk.tools(ledger),
      abortSignal: controller.signal,
      stopWhen: isStepCount(5)
    })
    const question = await asked.promise
    assert.deepInclude(toolbox.inFlight()[0], { stage: "approval" })
    controller.abort()
    await rejection(generation)
    assert.isTrue(question.aborted)
    const [entry] = await ledger.settled()
    assert.deepInclude(entry?.result, { dispatched: false })
    assert.strictEqual(stuck.runs.length, 0)
  })
})

describe("a generation inside of a call", () => {
  it(
    cites("has calls that end with that call, also where it is given no signal", "PROMISE-02", "CALL-26"),
    async () => {
      const stuck = held()
      const inner = Toolbox.make({ tools: [stuck.tool] })
      const agent = Tool.fromPromise("agent", {
        description: "",
        parameters: z.object({}),
        success: z.string(),
        execute: async (_, call) => {
          const { model } = scripted([["inner", "held", {}]], "done")
          const tools = AiSdk.tools(Face.inside(inner, call.token))
          return (await generateText({ model, prompt, tools, stopWhen: isStepCount(5) })).text
        }
      })
      const outer = Toolbox.make({ tools: [agent] })
      const controller = new AbortController()
      const result = outer.execute({ callId: "outer", name: "agent", arguments: {}, signal: controller.signal })
      const run = await stuck.next()
      assert.strictEqual(run.call.rootCallId, "outer")
      const reason = new Error("enough")
      controller.abort(reason)
      assert.strictEqual(run.call.signal.reason, reason)
      run.finish("late")
      assert.deepInclude(await result, { _tag: "Failure", dispatched: true })
    }
  )
})
