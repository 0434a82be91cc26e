import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentInputItem, run, type RunItem, user } from "@openai/agents"
import { Tool, Toolbox } from "@quiesce/core"
import * as Ledger from "@quiesce/interop/Ledger"
import * as OpenAiAgents from "@quiesce/interop/OpenAiAgents"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { resultsIn, scripted } from "./support/agentModel.ts"
import { add, held, join, obedient, rejection, settled } from "./support/tools.ts"

const agentOf = (model: Agent["model"], tools: Agent["tools"]) => new Agent({ name: "agent", model, tools })

/** The calls of a run and their results, as far as it has come. */
const rawItems = (items: ReadonlyArray<RunItem>): Array<AgentInputItem> =>
  items.flatMap((item) =>
    item.type === "tool_call_item" || item.type === "tool_call_output_item" ? [item.rawItem as AgentInputItem] : []
  )

const aborted = "Error: tool call aborted"
const neverStarted = "Error: tool call aborted before dispatch"

describe("OpenAiAgents.tools", () => {
  it(cites("shows a model the tools, and what its calls came to", "PROMISE-02", "PROMISE-04"), async () => {
    const { model, inputs, requests } = scripted(
      [["1", "add", { a: 1, b: 2 }], ["2", "join", { words: ["no", "more"] }]],
      "done"
    )
    const toolbox = Toolbox.make({ tools: [add, join] })
    const { finalOutput } = await run(agentOf(model, OpenAiAgents.tools(toolbox)), "go")
    assert.strictEqual(finalOutput, "done")
    assert.deepStrictEqual(
      requests[0]!.tools.map((tool) => tool.type === "function" && [tool.name, tool.description, tool.strict]),
      [["add", "Adds two numbers", false], ["join", "Joins words", false]]
    )
    const [schema] = toolbox.schemas()
    assert.deepInclude((requests[0]!.tools[0] as any).parameters, schema!.inputSchema)
    assert.deepStrictEqual(resultsIn(inputs[1]!), [["1", "3"], ["2", "\"no more\""]])
  })

  it(cites("tells a model every issue of its arguments, and what is no JSON", "PROMISE-02", "PROMISE-04"), async () => {
    const { model, inputs } = scripted([["1", "add", { a: "one" }], ["2", "add", "{\"a\": 1"]], "done")
    const ledger = Ledger.make(Toolbox.make({ tools: [add] }))
    await run(agentOf(model, OpenAiAgents.tools(ledger)), "go")
    const [[, one], [, two]] = resultsIn(inputs[1]!) as [[string, string], [string, string]]
    assert.match(one, /\$\.a/)
    assert.match(one, /\$\.b/)
    assert.match(two, /JSON|parsing/)
    // What was cut off in the middle has not become a call.
    assert.deepStrictEqual((await ledger.settled()).map(({ callId }) => callId), ["1"])
  })

  it(cites("shows of a failure what finalizeContent leaves of it, and goes on", "PROMISE-02"), async () => {
    const { model, inputs } = scripted([["1", "leaky_tool", {}]], "done")
    const leaky = Tool.fromPromise("leaky tool", {
      description: "",
      parameters: z.object({}),
      success: z.string(),
      finalizeContent: () => [{ type: "text", text: "it failed" }],
      execute: () => {
        throw new Error("the password is 1234")
      }
    })
    await run(agentOf(model, OpenAiAgents.tools(Toolbox.make({ tools: [leaky] }))), "go")
    assert.deepStrictEqual(resultsIn(inputs[1]!), [["1", "it failed"]])
  })

  it(cites("is TOOL_TIMEOUT to a model when a tool's own budget is spent", "PROMISE-02"), async () => {
    const { model, inputs } = scripted([["1", "obedient", {}]], "done")
    const slow = obedient("obedient", { timeout: 1 })
    await run(agentOf(model, OpenAiAgents.tools(Toolbox.make({ tools: [slow.tool] }))), "go")
    assert.match(resultsIn(inputs[1]!)[0]![1], /1 ?ms/)
  })

  it(cites("refuses tools that a model could not tell apart", "PROMISE-02"), () => {
    const named = (name: string) => held(name).tool
    const toolbox = Toolbox.make({ tools: [named("read file"), named("read"), named("read_file")] })
    assert.throws(() => OpenAiAgents.tools(toolbox), /"read file" and "read_file" are "read_file" to a model/)
  })

  it(cites("may be invoked by hand", "PROMISE-02"), async () => {
    const [tool] = OpenAiAgents.tools(Toolbox.make({ tools: [add] }))
    assert.strictEqual(await tool!.invoke({} as any, "{\"a\":1,\"b\":2}"), "3")
  })
})

describe("a run that is aborted", () => {
  it(cites("rejects when its calls are quiet, and what they did can be told", "PROMISE-02"), async () => {
    const stuck = held()
    const ledger = Ledger.make(Toolbox.make({ tools: [stuck.tool] }))
    const { model } = scripted([["1", "held", {}]])
    const controller = new AbortController()
    const running = run(agentOf(model, OpenAiAgents.tools(ledger)), "go", { signal: controller.signal })
    const body = await stuck.next()
    const reason = new Error("enough")
    controller.abort(reason)
    assert.strictEqual(body.call.signal.reason, reason)
    assert.isFalse(await settled(running))
    body.finish("late")
    assert.strictEqual(await rejection(running), reason)
    assert.notProperty(reason, "state")
    const items = OpenAiAgents.itemsOf(await ledger.settled())
    assert.deepStrictEqual(items.map(({ type }) => type), ["function_call", "function_call_result"])
    assert.deepStrictEqual(resultsIn(items), [["1", aborted]])
    // And the SDK takes them.
    const next = scripted("done")
    await run(agentOf(next.model, []), [user("go"), ...items, user("on")])
    assert.deepStrictEqual(resultsIn(next.inputs[0]!), [["1", aborted]])
  })

  it(
    cites("and streamed ends at once; whenIdle tells the truth and the history can be repaired", "PROMISE-02"),
    async () => {
      const stuck = held()
      const added = Promise.withResolvers<void>()
      const toolbox = Toolbox.make({
        tools: [stuck.tool, add],
        observers: [({ name }) => name === "add" ? added.resolve() : undefined]
      })
      const ledger = Ledger.make(toolbox)
      const { model } = scripted([["1", "held", {}], ["2", "add", { a: 1, b: 2 }]])
      const controller = new AbortController()
      const result = await run(agentOf(model, OpenAiAgents.tools(ledger)), "go", {
        signal: controller.signal,
        stream: true
      })
      const seen: Array<RunItem> = []
      const reading = (async () => {
        for await (const event of result) {
          if (event.type === "run_item_stream_event") seen.push(event.item)
        }
      })()
      const [body] = await Promise.all([stuck.next(), added.promise])
      controller.abort()
      await reading
      const idle = toolbox.whenIdle()
      assert.isFalse(await settled(idle))
      // The SDK has nothing of the calls until all of them have ended; who read the stream has.
      assert.isFalse(result.history.some(({ type }) => type === "function_call"))
      const history = rawItems(seen)
      assert.deepStrictEqual(history.map(({ type }) => type), ["function_call", "function_call"])
      body.finish("late")
      await idle
      const repaired = OpenAiAgents.repair(history, await ledger.settled())
      assert.deepStrictEqual(resultsIn(repaired), [["1", aborted], ["2", "3"]])
      await result.completed
      // What the SDK itself says in the end is the same.
      assert.deepStrictEqual(resultsIn(result.history), resultsIn(repaired))
      const { history: whole } = result
      assert.deepStrictEqual(OpenAiAgents.repair(whole, await ledger.settled()), whole)
    }
  )
})

it(cites("a timeoutMs of the SDK gives up on the call, and whenIdle still tells the truth", "PROMISE-02"), async () => {
  const stuck = held()
  const toolbox = Toolbox.make({ tools: [stuck.tool] })
  const ledger = Ledger.make(toolbox)
  const { model, inputs } = scripted([["1", "held", {}]], "done")
  const tools = OpenAiAgents.tools(ledger).map((tool) => ({ ...tool, timeoutMs: 1 }))
  await run(agentOf(model, tools), "go")
  assert.match(resultsIn(inputs[1]!)[0]![1], /timed out/)
  const idle = toolbox.whenIdle()
  assert.isFalse(await settled(idle))
  assert.deepInclude(toolbox.inFlight()[0], { stage: "body", name: "held" })
  // The body has been told, as by any cancellation.
  assert.isTrue(stuck.runs[0]!.call.signal.aborted)
  stuck.runs[0]!.finish("late")
  await idle
  const [entry] = await ledger.settled()
  assert.deepInclude(entry?.result, { _tag: "Failure", dispatched: true })
})

it(
  cites("a streamed run that is read no further is aborted, and whenIdle waits for its calls", "PROMISE-02"),
  async () => {
    const stuck = held()
    const toolbox = Toolbox.make({ tools: [stuck.tool] })
    const { model } = scripted([["1", "held", {}]])
    const begun = stuck.next()
    const result = await run(agentOf(model, OpenAiAgents.tools(toolbox)), "go", { stream: true })
    const events = result[Symbol.asyncIterator]()
    await events.next()
    const body = await begun
    await events.return!()
    assert.isTrue(body.call.signal.aborted)
    const idle = toolbox.whenIdle()
    assert.isFalse(await settled(idle))
    body.finish("late")
    await idle
    await result.completed
  }
)

describe("an approval of the SDK", () => {
  const ask = async () => {
    const ledger = Ledger.make(Toolbox.make({ tools: [add] }))
    const { model } = scripted([["1", "add", { a: 1, b: 2 }]], "done")
    const agent = agentOf(
      model,
      OpenAiAgents.tools(ledger).map((tool) => ({ ...tool, needsApproval: async () => true }))
    )
    const result = await run(agent, "go")
    return { agent, ledger, result }
  }

  it(cites("is no call yet; once given, it is", "PROMISE-02"), async () => {
    const { agent, ledger, result } = await ask()
    assert.strictEqual(result.interruptions.length, 1)
    assert.deepStrictEqual(await ledger.settled(), [])
    result.state.approve(result.interruptions[0]!)
    const { finalOutput } = await run(agent, result.state)
    assert.strictEqual(finalOutput, "done")
    assert.deepStrictEqual((await ledger.settled()).map(({ callId }) => callId), ["1"])
  })

  it(cites("that nobody gave is closed by the repair", "PROMISE-02"), async () => {
    const { ledger, result } = await ask()
    const repaired = OpenAiAgents.repair(rawItems(result.newItems), await ledger.settled())
    assert.deepStrictEqual(resultsIn(repaired), [["1", neverStarted]])
  })
})

describe("OpenAiAgents.repair", () => {
  const call = (callId: string): AgentInputItem => ({
    type: "function_call",
    callId,
    name: "t",
    status: "completed",
    arguments: "{"
  })
  const result = (callId: string): AgentInputItem => ({
    type: "function_call_result",
    callId,
    name: "t",
    status: "completed",
    output: { type: "text", text: "there" }
  })
  const shape = (items: ReadonlyArray<AgentInputItem>) =>
    items.map((item) =>
      item.type === "function_call" ? item.callId : item.type === "function_call_result" ? `=${item.callId}` : "user"
    )

  it(cites("puts what is missing behind the calls it belongs to", "PROMISE-02"), () => {
    const items = [user("a"), call("1"), call("2"), result("2"), user("b"), call("1"), result("1"), call("3")]
    assert.deepStrictEqual(shape(OpenAiAgents.repair(items, [])), [
      "user",
      "1",
      "2",
      "=2",
      "=1",
      "user",
      "1",
      "=1",
      "3",
      "=3"
    ])
  })

  it(cites("puts a late result where its call is, and one is enough", "PROMISE-02"), () => {
    const thinking: AgentInputItem = { type: "reasoning", content: [] }
    const items = [
      result("0"),
      call("1"),
      thinking,
      call("2"),
      result("1"),
      user("a"),
      result("2"),
      result("1"),
      call("1")
    ]
    const repaired = OpenAiAgents.repair([...items, result("1")], [])
    const kept = ["=0", "1", "user", "2", "=1", "=2", "user", "1", "=1"]
    assert.deepStrictEqual(shape(repaired), kept)
    assert.deepStrictEqual(shape(OpenAiAgents.repair(repaired, [])), kept)
  })
})
