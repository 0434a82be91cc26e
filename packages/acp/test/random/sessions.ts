/**
 * Sessions at random: prompts whose calls ask the client for permission and for terminals, and a client that answers late, twice,
 * wrongly or not at all, and stops them in any way at any moment.
 *
 * 1. Each prompt is answered once, and where nothing is asked any more nothing is told.
 * 2. Each call that the client was told of has ended, by what it was told, when its prompt is answered.
 * 3. Each terminal that there is was released, once, or it is said of its call that there may be one: it came when nobody waited
 *    for it any more. Each body that needs permission has begun by an answer that gives it.
 * 4. A request of ours is cancelled at most once, and everything that is sent is what the protocol's schema says.
 */
import { ClientTerminal } from "@quiesce/acp"
import { Session, type Turn } from "@quiesce/agent"
import { Policy, Tool } from "@quiesce/core"
import { Effect, Random, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { agentWith, call, tool } from "../support/agent.ts"
import { cancelRequest, error, type Message, notification, result } from "../support/driver.ts"
import type { Outcome } from "./run.ts"

const below = (limit: number) => Random.nextIntBetween(0, Math.max(limit - 1, 0))

const turns = (n: number) => Effect.repeat(Effect.yieldNow, { times: n })

const pick = <A>(items: ReadonlyArray<A>) => Effect.map(below(items.length), (index) => items[index]!)

/** A turn of some steps, each with some calls. */
const script = Effect.gen(function*() {
  const steps: Array<Turn.Assistant> = []
  for (let step = yield* below(3); step >= 0; step--) {
    const calls = []
    for (let n = yield* below(3); n > 0; n--) {
      calls.push(call(yield* pick(["quick", "slow", "ask", "shell", "fail", "never"]), {}, `${step}-${n}`))
    }
    steps.push({ text: `step ${step}`, calls })
  }
  return steps
})

export const sessions: Effect.Effect<Outcome, never, Scope.Scope> = Effect.gen(function*() {
  let granted = 0
  let begun = 0
  const tools = [
    tool("quick", Effect.as(turns(2), "quick")),
    tool("slow", Effect.ensuring(Effect.as(turns(8), "slow"), turns(8))),
    tool("fail", Effect.andThen(turns(1), Effect.fail(new Error("no")))),
    tool("never", Effect.ensuring(Effect.never, turns(3))),
    tool("ask", Effect.sync(() => `${++begun}`)),
    Tool.make("shell", {
      description: "shell",
      parameters: Schema.Record(Schema.String, Schema.Unknown),
      success: Schema.String,
      execute: (_, call) =>
        Effect.orDie(Effect.map(ClientTerminal.run({ command: "sh" }, call), ({ output }) => output))
    })
  ]
  const scripts: Array<ReadonlyArray<Turn.Assistant>> = []
  for (let n = 0; n < 8; n++) scripts.push(yield* script)
  const { connection, driver, leave, prompt, sessionCancel } = yield* agentWith({
    tools,
    policy: { pre: ({ name }) => Effect.succeed(name === "ask" ? Policy.ask() : Policy.allow) },
    turn: (prompt) => {
      const steps = [...scripts[Number(prompt.text)] ?? []]
      return Session.loop(() => Effect.sync(() => steps.shift() ?? { text: "done", calls: [] }))(prompt)
    },
    limits: { grace: "1 second" }
  })
  const setUp = driver.received.length

  /** What the agent asked and has no answer yet. */
  const answered = new Set<unknown>()
  const open = () =>
    driver.received.filter(({ id, method }) => id !== undefined && method !== undefined && !answered.has(id))
  const terminals = new Set<string>()
  const answer = Effect.fnUntraced(function*(asked: Message, isHonest: boolean) {
    const { id, method } = asked
    // An answer that comes again, or that makes no sense, changes nothing.
    const kind = isHonest ? 0 : yield* below(6)
    const first = !answered.has(id)
    answered.add(id)
    if (kind === 5) return [result("0", {}), result(id!, { outcome: { outcome: "selected", optionId: "?" } })]
    if (kind === 4) return [error(id!, -32800, "Request cancelled")]
    const twice = kind === 3
    const say = (value: unknown) => twice ? [result(id!, value), result(id!, value)] : [result(id!, value)]
    switch (method) {
      case "session/request_permission": {
        const optionId = yield* pick(["allow_once", "allow_once", "reject_once"])
        if (first && optionId === "allow_once") granted++
        return say({ outcome: kind === 2 ? { outcome: "cancelled" } : { outcome: "selected", optionId } })
      }
      case "terminal/create":
        terminals.add(`t${id}`)
        return say({ terminalId: `t${id}` })
      case "terminal/wait_for_exit":
        return say({ exitCode: 0 })
      case "terminal/output":
        return say({ output: "", truncated: false })
      default:
        return say({})
    }
  })

  let prompts = 0
  for (let act = 0; act < 24; act++) {
    const chunk: Array<object> = []
    for (let more = yield* below(3); more >= 0; more--) {
      switch (yield* below(8)) {
        case 0:
        case 1:
          if (prompts < scripts.length) chunk.push(prompt(prompts, `${prompts++}`))
          break
        case 2:
          chunk.push(sessionCancel)
          break
        case 3:
          if (prompts > 0) chunk.push(cancelRequest(yield* below(prompts)))
          break
        case 4:
          chunk.push(notification("session/cancel", { sessionId: "another" }))
          break
        default: {
          const asked = open()
          if (asked.length > 0) chunk.push(...yield* answer(yield* pick(asked), false))
        }
      }
    }
    yield* driver.send(...chunk)
    yield* turns(yield* below(12))
    if ((yield* below(12)) === 0) yield* TestClock.adjust("700 millis")
  }

  const ending = yield* below(3)
  if (ending === 0) yield* driver.send(sessionCancel)
  const closing = yield* Effect.forkScoped(ending === 1 ? connection.close : Effect.void, { startImmediately: true })
  const isOver = () =>
    ending === 1
      ? closing.pollUnsafe() !== undefined
      : Array.from({ length: prompts }, (_, id) => driver.answers(id).length > 0).every((is) => is)
  for (let round = 0; !isOver() && round < 200; round++) {
    for (const asked of open()) yield* driver.send(...yield* answer(asked, true))
    yield* turns(20)
    // A body that never ends is stopped, and a client that was silent is waited for no longer.
    if (round > 20) yield* driver.send(sessionCancel)
    if (round % 10 === 9) yield* TestClock.adjust("1 second")
  }
  const faults: Array<string> = isOver() ? [] : ["it does not come to an end"]
  yield* turns(40)
  yield* leave

  const received = driver.received.slice(setUp)
  const live = new Set<number>(Array.from({ length: prompts }, (_, id) => id))
  const calls = new Map<string, string>()
  const cancels = new Set<unknown>()
  const released = new Map<string, number>()
  for (const { id, method, params } of received) {
    if (method === undefined) {
      // Turns come one after the other: what runs is the first of those that wait.
      const isRunning = id === Math.min(...live)
      if (!live.delete(id as number)) faults.push(`${JSON.stringify(id)} was answered again`)
      if (!isRunning) continue
      const going = [...calls].filter(([, status]) => status !== "completed" && status !== "failed")
      if (going.length > 0) faults.push(`prompt ${id} was answered while ${going.join(", ")}`)
      continue
    }
    if (method === "$/cancel_request") {
      if (cancels.has(params.requestId)) faults.push(`${params.requestId} was cancelled twice`)
      cancels.add(params.requestId)
    } else if (live.size === 0) faults.push(`${method} came when all prompts were answered`)
    if (method === "session/update" && params.update.toolCallId !== undefined && params.update.status !== undefined) {
      calls.set(params.update.toolCallId, params.update.status)
    }
    if (method === "terminal/release") released.set(params.terminalId, (released.get(params.terminalId) ?? 0) + 1)
  }
  if (live.size > 0) faults.push(`prompts ${[...live].join(", ")} were not answered`)
  for (const [terminal, times] of released) if (times > 1) faults.push(`${terminal} was released ${times} times`)
  const left = [...terminals].filter((terminal) => !released.has(terminal))
  const known = received.flatMap(({ params }) => params?.update?._meta?.quiesce?.residue ?? [])
    .filter(({ detail }) => detail.startsWith("terminal/create"))
  if (left.length > known.length) faults.push(`${left.join(", ")} are left, and ${known.length} of them known`)
  if (begun > granted) faults.push(`${begun} calls began, and ${granted} were allowed`)
  return { requests: prompts, frames: received.length, faults: [...faults, ...driver.faults] }
})
