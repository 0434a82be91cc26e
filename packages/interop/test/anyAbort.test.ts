/**
 * Whenever a generation is aborted: each call of the repaired history has one result, and that is true.
 */
import { assert, describe, it } from "@effect/vitest"
import { type AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages"
import { RunnableSequence } from "@langchain/core/runnables"
import { fakeModel } from "@langchain/core/testing"
import { Agent, type AgentInputItem, run, user } from "@openai/agents"
import { Tool, Toolbox } from "@quiesce/core"
import * as AiSdk from "@quiesce/interop/AiSdk"
import * as LangChain from "@quiesce/interop/LangChain"
import * as Ledger from "@quiesce/interop/Ledger"
import * as OpenAiAgents from "@quiesce/interop/OpenAiAgents"
import {
  convertToModelMessages,
  generateText,
  type ModelMessage,
  readUIMessageStream,
  streamText,
  type UIMessage
} from "ai"
import { getEventListeners } from "node:events"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import * as AgentModel from "./support/agentModel.ts"
import * as AiModel from "./support/aiModel.ts"

const kinds = ["now", "later", "obeys", "fails"] as const

interface Plan {
  readonly calls: ReadonlyArray<(typeof kinds)[number]>
  /** The abort comes when so many bodies have begun; 0 is before any has. */
  readonly abortAt: number
}

/** Every batch of up to three calls, with an abort at every point of it. */
const plans: ReadonlyArray<Plan> = [1, 2, 3].flatMap((length) =>
  Array.from(
    { length: kinds.length ** length },
    (_, index) => Array.from({ length }, (_, at) => kinds[Math.floor(index / kinds.length ** at) % kinds.length]!)
  ).flatMap((calls) => Array.from({ length: length + 1 }, (_, abortAt) => ({ calls, abortAt })))
)

/** A few of each length, spread evenly: hosts take milliseconds for each. */
const some = plans.filter((_, index) => index % 7 === 0)

/** What a host shows of a call in the end. */
type Shown = readonly [callId: string, text: string]

/** Plays the calls, whose label is their place, until the host has ended, and says how its history is repaired. */
type Host = (
  ledger: Ledger.Ledger,
  plan: Plan,
  signal: AbortSignal
) => Promise<(entries: ReadonlyArray<Ledger.Entry>) => Promise<ReadonlyArray<Shown>>>

const quietly = async (promise: PromiseLike<unknown>): Promise<void> => {
  try {
    await promise
  } catch {
    // An abort is what this is about.
  }
}

const aiSdk: Host = async (ledger, { calls }, abortSignal) => {
  const messages: Array<ModelMessage> = [{ role: "user", content: "go" }]
  const { model } = AiModel.scripted(calls.map((kind, at) => [String(at), "work", { at, kind }]))
  const stream = streamText({ model, messages, tools: AiSdk.tools(ledger), abortSignal, onError: () => {} })
  let last: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream: stream.toUIMessageStream() })) last = message
  const history = [...messages, ...await convertToModelMessages(last === undefined ? [] : [last])]
  return async (entries) => {
    const repaired = AiSdk.repair(history, entries)
    // The SDK itself refuses a history with a call that has no result.
    await generateText({ model: AiModel.scripted("done").model, messages: [...repaired, ...messages] })
    return AiModel.resultsIn(repaired).map(([id, output]) => [id, JSON.stringify(output)])
  }
}

const openAi: Host = async (ledger, { calls }, signal) => {
  const { model } = AgentModel.scripted(calls.map((kind, at) => [String(at), "work", { at, kind }]), "done")
  const agent = new Agent({ name: "agent", model, tools: OpenAiAgents.tools(ledger) })
  const items: Array<AgentInputItem> = [user("go")]
  const result = await run(agent, "go", { signal, stream: true })
  await quietly((async () => {
    for await (const event of result) {
      if (event.type !== "run_item_stream_event") continue
      const { item } = event
      if (item.type === "tool_call_item" || item.type === "tool_call_output_item") {
        items.push(item.rawItem as AgentInputItem)
      }
    }
  })())
  return async (entries) => {
    await quietly(result.completed)
    return AgentModel.resultsIn(OpenAiAgents.repair(items, entries))
  }
}

const langChain: Host = async (ledger, { calls }, signal) => {
  const tools = LangChain.tools(ledger)
  const model = fakeModel().respondWithTools(
    calls.map((kind, at) => ({ id: String(at), name: "work", args: { at, kind } }))
  )
  const history: Array<BaseMessage> = [new HumanMessage("go")]
  const sequence = RunnableSequence.from<null, null>([
    async () => {
      const answer = await model.invoke(history)
      history.push(answer)
      return answer
    },
    async (answer: AIMessage, config) => {
      for (const call of answer.tool_calls ?? []) {
        const message: BaseMessage = await tools[0]!.invoke({ ...call, type: "tool_call" }, config)
        if (!signal.aborted) history.push(message)
      }
      return null
    }
  ])
  await quietly(sequence.invoke(null, { signal }))
  // What the host has when it ends: what comes later it does not take.
  const given = [...history]
  return async (entries) =>
    LangChain.repair(given, entries).flatMap((message) =>
      ToolMessage.isInstance(message) ? [[message.tool_call_id, message.text] as const] : []
    )
}

const asked = (host: Host, { abortAt, calls }: Plan) => {
  const began = new Set<string>()
  const controller = new AbortController()
  const work = Tool.fromPromise("work", {
    description: "Works",
    parameters: z.object({ at: z.number(), kind: z.enum(kinds) }),
    success: z.string(),
    execute: async ({ at, kind }, { signal }) => {
      began.add(String(at))
      if (began.size === abortAt) controller.abort()
      if (kind === "fails") throw new Error("it failed")
      if (kind === "now") return "done"
      const soon = new Promise<void>((resolve) => setImmediate(resolve))
      if (kind === "later") await soon
      else {
        await Promise.race([
          soon,
          new Promise((_, reject) => {
            if (signal.aborted) reject(signal.reason)
            signal.addEventListener("abort", () => reject(signal.reason))
          })
        ])
      }
      return "done"
    }
  })
  if (abortAt === 0) controller.abort()
  const toolbox = Toolbox.make({ tools: [work] })
  const ledger = Ledger.make(toolbox)
  const { signal } = controller
  return { began, ledger, signal, toolbox, ended: host(ledger, { abortAt, calls }, signal) }
}

describe("whenever it is aborted,", { timeout: 60_000 }, () => {
  for (const [name, host] of Object.entries({ "the AI SDK": aiSdk, "OpenAI Agents": openAi, LangChain: langChain })) {
    it(
      cites(`${name} has a history in which each call has one result, and a true one`, "PROMISE-02", "CALL-16"),
      async () => {
        let cutOff = 0
        for (const plan of some) {
          const { began, ended, ledger, signal, toolbox } = asked(host, plan)
          const repair = await ended
          if (toolbox.inFlight().length > 0) cutOff++
          const entries = await ledger.settled()
          assert.deepStrictEqual(toolbox.inFlight(), [])
          const shown = await repair(entries)
          assert.deepStrictEqual(getEventListeners(signal, "abort"), [], JSON.stringify(plan))
          const ids = shown.map(([id]) => id)
          const told = JSON.stringify({ plan, shown })
          assert.strictEqual(new Set(ids).size, ids.length, told)
          // All of the model's calls, or none where it was not even asked.
          if (shown.length > 0) assert.deepStrictEqual([...ids].sort(), plan.calls.map((_, at) => String(at)), told)
          for (const [id, text] of shown) {
            assert.strictEqual(/before dispatch/.test(text), !began.has(id), `${id} ${told}`)
          }
          for (const id of began) assert.include(ids, id, told)
        }
        // It is about hosts that do not wait: some of these were left behind.
        assert.isAbove(cutOff, 0)
      }
    )
  }
})
