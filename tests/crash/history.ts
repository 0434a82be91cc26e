/**
 * A history made of a seed: turns of a scripted model, cancels at any moment, and crashes, after each of which the log is
 * opened again. Everything that happens is decided by the seed, so that a fault can be had again.
 */
import { Replay, SessionLog, Turn } from "@quiesce/agent"
import { type Json, Tool, ToolRegistry } from "@quiesce/core"
import { Effect, Exit, Layer, Schema, Scope, Stream } from "effect"
// A crash is a storage that takes nothing more, and is read by the next writer: no public layer does that.
import type { Row } from "../../packages/agent/src/internal/record.ts"
import { memory, type Storage } from "../../packages/agent/src/internal/storage.ts"

export const explain = (seed: number): string => `history(${seed}) shows it again`

/** Numbers below `n`, from a seed. **Source**: mulberry32, of which nothing is asked but that it spreads. */
const randomOf = (seed: number) => {
  let state = seed
  return (n: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) % n
  }
}

type Random = ReturnType<typeof randomOf>

const AnyJson = Schema.Json as Schema.Codec<Json>

/** A tool whose body takes some steps, and ends in some way. */
const toolOf = (name: string, mode: Tool.Mode, random: Random): Tool.AnyNoServices =>
  Tool.make(name, {
    description: name,
    parameters: AnyJson,
    success: AnyJson,
    mode,
    execute: (json, call) =>
      Effect.gen(function*() {
        if (random(3) === 0) call.deferContext({ from: call.callId })
        if (random(9) === 0) call.concludeTurn()
        const work = Effect.repeat(Effect.yieldNow, { times: random(30) })
        yield* random(3) === 0 ? Effect.uninterruptible(work) : work
        switch (random(6)) {
          case 0:
            return yield* Effect.fail(new Error("broken"))
          case 1:
            return yield* Effect.die("worse")
          default:
            return json
        }
      })
  })

const requestOf = (random: Random): Turn.Request => ({
  // Models repeat themselves.
  callId: `call_${random(4)}`,
  name: ["parallel", "exclusive", "none"][random(3)]!,
  arguments: random(6) === 0
    ? Turn.incomplete(`{"cut": "of`)
    : Turn.complete(random(8) === 0 ? { now: new Date(0) } : { n: random(10) })
})

/** Stops taking anything after some commits: what was not committed by then is lost, like the process. */
const mortal = (rows: Array<Row>, commits: number): Storage & { readonly isDead: () => boolean } => {
  const storage = memory(rows)
  let left = commits
  return {
    ...storage,
    isDead: () => left < 0,
    commit: (added, durable) => Effect.suspend(() => left-- > 0 ? storage.commit(added, durable) : Effect.never)
  }
}

/** One process: it opens the log, runs some turns, and ends by itself or by a crash. */
const life = Effect.fnUntraced(function*(rows: Array<Row>, random: Random) {
  const dies = random(2) === 0
  const storage = mortal(rows, dies ? random(25) : Number.POSITIVE_INFINITY)
  const acknowledged: Array<number> = []
  const scope = yield* Scope.make()
  const registry = ToolRegistry.layer([
    toolOf("parallel", "parallel", random),
    toolOf("exclusive", "exclusive", random)
  ])
  const work = Effect.gen(function*() {
    const log = yield* SessionLog.make(storage)
    // What was acknowledged is what the writer got an answer for.
    const heard: SessionLog.Shape = {
      ...log,
      append: (...events) =>
        Effect.tap(
          log.append(...events),
          (entries) => Effect.sync(() => entries.forEach(({ seq }) => acknowledged.push(seq)))
        )
    }
    const context = yield* Layer.build(Layer.merge(registry, Layer.succeed(SessionLog.SessionLog, heard)))
    for (let turns = random(3); turns >= 0; turns--) {
      const body = Effect.gen(function*() {
        const turn = yield* Turn.make({
          maxParallel: 1 + random(4),
          onFailure: (["continue", "skip", "cancel"] as const)[random(3)]
        })
        yield* turn.input("go")
        yield* Effect.forkScoped(Effect.gen(function*() {
          yield* Effect.repeat(Effect.yieldNow, { times: random(120) })
          if (random(3) > 0) yield* turn.cancelCall(`call_${random(4)}`)
          yield* Effect.repeat(Effect.yieldNow, { times: random(60) })
          if (random(2) === 0) yield* turn.cancel("user")
        }))
        for (let steps = random(3); steps >= 0; steps--) {
          const calls = Array.from({ length: random(6) }, () => requestOf(random))
          yield* Effect.forkScoped(Effect.ignore(turn.input("and")))
          yield* turn.step({ text: random(2) === 0 ? "so" : "", calls })
        }
      })
      yield* Effect.scoped(Effect.provide(body, context))
    }
  })
  const fiber = yield* Effect.forkDetach(Scope.provide(work, scope))
  // A process that crashed never ends, since its log answers nothing. It gets some time to do what it should not, and one
  // that goes on gets far more than it needs.
  for (let turns = 0, late = 0; turns < 20_000 && late < 200 && fiber.pollUnsafe() === undefined; turns++) {
    if (storage.isDead()) late++
    yield* Effect.yieldNow
  }
  const exit = fiber.pollUnsafe()
  if (exit === undefined && !storage.isDead()) return ["it did not end"]
  if (exit !== undefined && Exit.isFailure(exit)) return [`it failed: ${String(exit.cause)}`]
  if (exit !== undefined) yield* Scope.close(scope, Exit.void)
  return acknowledged.filter((seq) => seq > rows.length).map((seq) => `acknowledged and lost: ${seq}`)
})

/** Runs the history of a seed, and says what is wrong with the log it leaves. */
export const history = Effect.fnUntraced(function*(seed: number): Effect.fn.Return<ReadonlyArray<string>> {
  const random = randomOf(seed)
  const rows: Array<Row> = []
  const faults: Array<string> = []
  for (let lives = 1 + random(3); lives > 0; lives--) {
    faults.push(...(yield* life(rows, random)))
    // What a crashed process would still do, it does to a disk that is no longer there.
    rows.splice(0, rows.length, ...rows.map((row) => ({ ...row })))
  }
  yield* Effect.scoped(Effect.orDie(Effect.gen(function*() {
    const log = yield* SessionLog.make(memory(rows))
    const report = yield* log.verify
    if (!SessionLog.isBalanced(report)) faults.push(JSON.stringify(report))
    faults.push(...unadjacent(Replay.toOpenAi(Replay.messages(yield* Stream.runCollect(log.read())))))
  })))
  return faults
})

/** In a history that a model is shown, each call's result follows, in order, before anything else. */
const unadjacent = (messages: ReadonlyArray<Replay.OpenAiMessage>): ReadonlyArray<string> => {
  const expected: Array<string> = []
  for (const message of messages) {
    if (message.role === "tool") {
      if (expected.shift() !== message.tool_call_id) {
        return [`a result of ${message.tool_call_id} where it does not belong`]
      }
    } else if (expected.length > 0) return [`no result of ${expected[0]}`]
    if (message.role === "assistant") expected.push(...(message.tool_calls ?? []).map(({ id }) => id))
  }
  return expected.map((id) => `no result of ${id}`)
}
