import { assert, describe, it } from "@effect/vitest"
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages"
import { RunnableLambda, RunnableSequence } from "@langchain/core/runnables"
import { fakeModel } from "@langchain/core/testing"
import { type StructuredTool, tool, ToolInputParsingException } from "@langchain/core/tools"
import { convertToOpenAITool } from "@langchain/core/utils/function_calling"
import { Tool, Toolbox, type ToolResult } from "@quiesce/core"
import * as Face from "@quiesce/interop/Face"
import * as LangChain from "@quiesce/interop/LangChain"
import * as Ledger from "@quiesce/interop/Ledger"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { add, held, join, obedient, rejection, settled } from "./support/tools.ts"

type Asked = { readonly id: string; readonly name: string; readonly args: Record<string, unknown> }

const ask = (id: string, name: string, args: Record<string, unknown> = {}): Asked => ({ id, name, args })

/** What a program does with LangChain: it asks the model, and invokes the tools that the model calls, all at once. */
const step = async (
  model: ReturnType<typeof fakeModel>,
  tools: ReadonlyArray<StructuredTool>,
  messages: ReadonlyArray<BaseMessage>,
  options?: { readonly signal?: AbortSignal; readonly timeout?: number }
): Promise<Array<BaseMessage>> => {
  const answer = await model.bindTools([...tools]).invoke([...messages])
  const results = await Promise.all(
    (answer.tool_calls ?? []).map((call) =>
      tools.find(({ name }) => name === call.name)!.invoke({ ...call, type: "tool_call" }, options)
    )
  )
  return [...messages, answer, ...results]
}

/** The results in a history: which call, whether it succeeded, and what a model is shown of it. */
const resultsIn = (messages: ReadonlyArray<BaseMessage>) =>
  messages.flatMap((message) =>
    ToolMessage.isInstance(message) ? [[message.tool_call_id, message.status, message.text]] : []
  )

const go = new HumanMessage("go")
const aborted = "Error: tool call aborted"
const neverStarted = "Error: tool call aborted before dispatch"

describe("LangChain.tools", () => {
  it(cites("shows a model the tools, and what its calls came to", "PROMISE-02", "PROMISE-04"), async () => {
    const model = fakeModel()
      .respondWithTools([ask("1", "add", { a: 1, b: 2 }), ask("2", "join", { words: ["no", "more"] })])
      .respond(new AIMessage("done"))
    const toolbox = Toolbox.make({ tools: [add, join] })
    const tools = LangChain.tools(toolbox)
    const history = await step(model, tools, [go])
    assert.deepStrictEqual(resultsIn(history), [["1", "success", "3"], ["2", "success", "\"no more\""]])
    const [message] = history.filter((message) => ToolMessage.isInstance(message))
    assert.deepInclude(message?.artifact, { _tag: "Success", value: 3, dispatched: true })
    // And the model takes the history.
    assert.strictEqual((await model.invoke(history)).text, "done")
    assert.deepStrictEqual(
      tools.map((tool) => convertToOpenAITool(tool).function),
      toolbox.schemas().map(({ description, inputSchema, name }) => ({
        name,
        description,
        parameters: inputSchema
      })) as any
    )
  })

  it(
    cites("tells a model every issue of its arguments, where LangChain tells none", "PROMISE-02", "PROMISE-04"),
    async () => {
      const model = fakeModel().respondWithTools([ask("1", "add", { a: "one" }), ask("2", "join", { words: ["a", 1] })])
      const seen: Array<string> = []
      const toolbox = Toolbox.make({
        tools: [add, join],
        observers: [(_, result) => void seen.push(result._tag === "Failure" ? result.error.code : result._tag)]
      })
      const results = resultsIn(await step(model, LangChain.tools(toolbox), [go]))
      assert.match(JSON.stringify(results[0]), /"1","error",.*\$\.a.*\$\.b/s)
      assert.match(JSON.stringify(results[1]), /"2","error",.*\$\.words\[1\]/s)
      // Calls of the registry like any other.
      assert.deepStrictEqual(seen, ["INVALID_ARGUMENTS", "INVALID_ARGUMENTS"])
    }
  )

  it(cites("tells more of wrong arguments, and of failures, than LangChain's own tools", "PROMISE-02"), async () => {
    const theirs = tool(() => {
      throw new Error("it failed")
    }, { name: "theirs", description: "", schema: Toolbox.make({ tools: [add] }).schemas()[0]!.inputSchema })
    const refused = await rejection(theirs.invoke({ a: "one" }))
    assert.instanceOf(refused, ToolInputParsingException)
    assert.notMatch(refused.message, /\ba\b|one/)
    const failed = theirs.invoke({ type: "tool_call", id: "1", name: "theirs", args: { a: 1, b: 2 } })
    assert.deepInclude(await rejection(failed), { message: "it failed" })
  })

  it(cites("shows of a failure what finalizeContent leaves of it", "PROMISE-02"), async () => {
    const leaky = Tool.fromPromise("leaky", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      finalizeContent: () => [{ type: "text", text: "it failed" }],
      execute: () => {
        throw new Error("the password is 1234")
      }
    })
    const tools = LangChain.tools(Toolbox.make({ tools: [leaky] }))
    const history = await step(fakeModel().respondWithTools([ask("1", "leaky")]), tools, [go])
    assert.deepStrictEqual(resultsIn(history), [["1", "error", "it failed"]])
    // Without a call of a model there is no message to say it in.
    const failed = await rejection(tools[0]!.invoke({}))
    assert.instanceOf(failed, Face.CallFailed)
    assert.deepInclude(failed, { code: "TOOL_FAILURE", message: "it failed" })
  })

  it(cites("answers plain arguments with the content", "PROMISE-02"), async () => {
    const [tool] = LangChain.tools(Toolbox.make({ tools: [add] }))
    assert.strictEqual(await tool!.invoke({ a: 1, b: 2 }), "3")
    assert.deepInclude(await rejection(tool!.invoke({ a: 1 })), { code: "INVALID_ARGUMENTS" })
  })
})

const codeOf = (result: ToolResult.ToolResult | undefined) =>
  result?._tag === "Failure" ? result.error.code : result?._tag

describe("an invoke that is aborted", () => {
  it(
    cites("settles when the call is quiet, where LangChain's own tools have long rejected", "PROMISE-02"),
    async () => {
      const stuck = held()
      const tools = LangChain.tools(Toolbox.make({ tools: [stuck.tool] }))
      const controller = new AbortController()
      const { promise, resolve } = Promise.withResolvers<string>()
      const theirs = tool(() => promise, { name: "theirs", description: "", schema: z.object({}) })
        .invoke({}, { signal: controller.signal })
      const ours = step(fakeModel().respondWithTools([ask("1", "held")]), tools, [go], { signal: controller.signal })
      const run = await stuck.next()
      const reason = new Error("enough")
      controller.abort(reason)
      assert.strictEqual(run.call.signal.reason, reason)
      assert.isTrue(await settled(theirs))
      assert.isFalse(await settled(ours))
      run.finish("late")
      assert.deepStrictEqual(resultsIn(await ours), [["1", "error", aborted]])
      await rejection(theirs)
      resolve("")
    }
  )

  it(cites("by its timeout does so as well; a tool's own budget is TOOL_TIMEOUT", "PROMISE-02"), async () => {
    const stuck = held()
    const budget = obedient("budget", { timeout: 1 })
    const ledger = Ledger.make(Toolbox.make({ tools: [stuck.tool, budget.tool] }))
    const tools = LangChain.tools(ledger)
    const model = fakeModel().respondWithTools([ask("1", "held")]).respondWithTools([ask("2", "budget")])
    const timed = step(model, tools, [go], { timeout: 1 })
    const run = await stuck.next()
    await new Promise<void>((resolve) => run.call.signal.addEventListener("abort", () => resolve()))
    assert.deepInclude(run.call.signal.reason, { name: "TimeoutError" })
    assert.isFalse(await settled(timed))
    run.finish("late")
    assert.deepStrictEqual(resultsIn(await timed), [["1", "error", aborted]])
    assert.match(JSON.stringify(resultsIn(await step(model, tools, [go]))), /1 ?ms/)
    assert.deepStrictEqual((await ledger.settled()).map(({ result }) => codeOf(result)), ["ABORTED", "TOOL_TIMEOUT"])
  })

  it(cites("before it begins reaches no body", "PROMISE-02"), async () => {
    const stuck = held()
    const tools = LangChain.tools(Toolbox.make({ tools: [stuck.tool] }))
    const history = await step(fakeModel().respondWithTools([ask("1", "held")]), tools, [go], {
      signal: AbortSignal.abort()
    })
    assert.deepStrictEqual(resultsIn(history), [["1", "error", neverStarted]])
    assert.strictEqual(stuck.runs.length, 0)
  })
})

describe("events of LangChain that are read no further", () => {
  for (const [what, read, aborts] of [["abort the tool", 1, true], ["let the tool run on", 2, false]] as const) {
    it(cites(`${what} where ${read} of them had been read, and whenIdle waits for it`, "PROMISE-02"), async () => {
      const stuck = held()
      const toolbox = Toolbox.make({ tools: [stuck.tool] })
      const [tool] = LangChain.tools(toolbox)
      const sequence = RunnableLambda.from((_: string, config) =>
        tool!.invoke({ ...ask("1", "held"), type: "tool_call" }, config)
      )
      const begun = stuck.next()
      const events = sequence.streamEvents("go", { version: "v2" })[Symbol.asyncIterator]()
      for (let at = 0; at < read; at++) await events.next()
      const run = await begun
      const ended = events.return!()
      const idle = toolbox.whenIdle()
      assert.isFalse(await settled(idle))
      assert.strictEqual(run.call.signal.aborted, aborts)
      run.finish("late")
      await idle
      await ended
    })
  }
})

describe("a sequence that is aborted", () => {
  it(cites("gives up at once; whenIdle tells the truth and the history can be repaired", "PROMISE-02"), async () => {
    const stuck = held()
    const toolbox = Toolbox.make({ tools: [add, stuck.tool] })
    const ledger = Ledger.make(toolbox)
    const tools = LangChain.tools(ledger)
    const model = fakeModel()
      .respondWithTools([ask("1", "add", { a: 1, b: 2 }), ask("2", "held"), ask("3", "held")])
      .respond(new AIMessage("done"))
    const history: Array<BaseMessage> = [go]
    // One call after the other, as a program would that keeps what it has.
    const sequence = RunnableSequence.from<ReadonlyArray<BaseMessage>, null>([
      (messages) => model.bindTools(tools).invoke([...messages]),
      async (answer, config) => {
        history.push(answer)
        for (const call of answer.tool_calls ?? []) {
          const named = tools.find(({ name }) => name === call.name)!
          history.push(await named.invoke({ ...call, type: "tool_call" }, config))
        }
        return null
      }
    ])
    const controller = new AbortController()
    const invoked = sequence.invoke([go], { signal: controller.signal })
    const run = await stuck.next()
    controller.abort()
    await rejection(invoked)
    const given = [...history]
    const idle = toolbox.whenIdle()
    assert.isFalse(await settled(idle))
    assert.deepInclude(toolbox.inFlight()[0], { callId: "2", stage: "body" })
    run.finish("late")
    await idle
    const repaired = LangChain.repair(given, await ledger.settled())
    assert.deepStrictEqual(resultsIn(given), [["1", "success", "3"]])
    assert.deepStrictEqual(resultsIn(repaired), [
      ["1", "success", "3"],
      ["2", "error", aborted],
      ["3", "error", neverStarted]
    ])
    assert.strictEqual((await model.invoke([...repaired, go])).text, "done")
  })

  it(cites("has a history in which a late result is put where its call is, and one is enough", "PROMISE-02"), () => {
    const asking = (...ids: ReadonlyArray<string>) =>
      new AIMessage({ content: "", tool_calls: ids.map((id) => ({ ...ask(id, "held"), type: "tool_call" })) })
    const result = (tool_call_id: string, content: string) => new ToolMessage({ tool_call_id, content })
    const history = [
      result("0", "whose?"),
      go,
      asking("1", "2", "3"),
      result("1", "in time"),
      go,
      result("2", "late"),
      result("1", "again"),
      asking("1"),
      result("1", "another"),
      go
    ]
    const repaired = LangChain.repair(history, [])
    assert.deepStrictEqual(repaired.map(({ type }) => type), [
      "tool",
      "human",
      "ai",
      "tool",
      "tool",
      "tool",
      "human",
      "ai",
      "tool",
      "human"
    ])
    assert.deepStrictEqual(resultsIn(repaired).map(([id, , text]) => [id, text]), [
      ["0", "whose?"],
      ["1", "in time"],
      ["2", "late"],
      ["3", neverStarted],
      ["1", "another"]
    ])
    assert.deepStrictEqual(LangChain.repair(repaired, []), repaired)
  })

  it(cites("can be told what its calls did", "PROMISE-02"), async () => {
    const ledger = Ledger.make(Toolbox.make({ tools: [add] }))
    await step(fakeModel().respondWithTools([ask("1", "add", { a: 1, b: 2 })]), LangChain.tools(ledger), [go])
    const messages = LangChain.messagesOf(await ledger.settled())
    assert.deepStrictEqual(AIMessage.isInstance(messages[0]) && messages[0].tool_calls, [
      { type: "tool_call", id: "1", name: "add", args: { a: 1, b: 2 } }
    ])
    assert.deepStrictEqual(resultsIn(messages), [["1", "success", "3"]])
    assert.deepStrictEqual(LangChain.repair(messages, []), messages)
    assert.deepStrictEqual(LangChain.messagesOf([]), [])
  })
})

it(
  cites("LangChain asks nobody before it invokes a tool: a registry's approval is inside of the call", "PROMISE-02"),
  async () => {
    const asked = Promise.withResolvers<AbortSignal>()
    const toolbox = Toolbox.make({
      tools: [add],
      policy: { pre: () => ({ ask: "really?" }) },
      approval: (_, signal) => {
        asked.resolve(signal)
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      }
    })
    const controller = new AbortController()
    const model = fakeModel().respondWithTools([ask("1", "add", { a: 1, b: 2 })])
    const running = step(model, LangChain.tools(toolbox), [go], { signal: controller.signal })
    const question = await asked.promise
    assert.deepInclude(toolbox.inFlight()[0], { stage: "approval" })
    controller.abort()
    assert.isTrue(question.aborted)
    assert.deepStrictEqual(resultsIn(await running), [["1", "error", neverStarted]])
  }
)
