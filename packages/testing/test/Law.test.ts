import { assert, describe, it } from "@effect/vitest"
import { Approval, Policy, Tool, ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Law, Script } from "@quiesce/testing"
import { Deferred, Effect, Layer, Schema, Semaphore } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { cites } from "../../../tests/conformance/cites.ts"

/** The laws a subject breaks, without what they say. */
const brokenBy = <S>(suite: Law.Suite<S>, make: () => S) =>
  Effect.map(Law.check(suite, make), (broken) => broken.map(({ law }) => law.replace("law: ", "")))

/** Questions wait until somebody answers them. */
const queued = (): Law.ApprovalSubject => {
  const open = new Map<string, Deferred.Deferred<Approval.Outcome>>()
  return {
    channel: {
      ask: (call) => {
        const question = Deferred.makeUnsafe<Approval.Outcome>()
        open.set(call.callId, question)
        return Effect.ensuring(Deferred.await(question), Effect.sync(() => open.delete(call.callId)))
      }
    },
    answer: (callId, answer) => {
      const question = open.get(callId)
      const outcome = answer === "allow" ? Approval.allowedOnce : Approval.rejected()
      if (question !== undefined) Deferred.doneUnsafe(question, Effect.succeed(outcome))
    }
  }
}

const parameters = Schema.Struct({})
const success = Schema.String

describe("Law", () => {
  // As users write it: the laws of our own parts, as tests of this file.
  Law.test(Law.registry, () => Script.core, (name, run) => it(cites(`the registry, ${name}`, "KIT-04"), run))
  Law.test(Law.wrapper, () => Wrapper.timeout, (name, run) => it(cites(`Wrapper.timeout, ${name}`, "KIT-04"), run))
  Law.test(
    Law.wrapper,
    (): Wrapper.Wrapper => {
      const semaphore = Semaphore.makeUnsafe(1)
      return (next) => semaphore.withPermit(next)
    },
    (name, run) => it(cites(`a wrapper that limits, ${name}`, "KIT-04"), run)
  )
  Law.test(
    Law.policy,
    () =>
      Policy.sequence({ pre: () => Effect.as(Effect.sleep(10), Policy.allow) }, {
        post: () => Effect.succeed(Policy.accept())
      }),
    (name, run) => it(cites(`a policy that takes its time, ${name}`, "KIT-04"), run)
  )
  Law.test(Law.approval, queued, (name, run) => it(cites(`a queue of approvals, ${name}`, "KIT-04"), run))
  Law.test(
    Law.body,
    () => ({
      arguments: {},
      tool: Tool.make("sleeps", {
        description: "",
        parameters,
        success,
        execute: () => Effect.as(Effect.sleep(10), "ok")
      })
    }),
    (name, run) => it(cites(`a body that sleeps, ${name}`, "KIT-04"), run)
  )

  const twice: Wrapper.Wrapper = (next) =>
    Effect.map(Effect.all([next, next], { concurrency: "unbounded" }), ([value]) => value)
  const inventing: Wrapper.Wrapper = (next) => Effect.as(next, 7)
  const hanging: Wrapper.Wrapper = (next) => Effect.onInterrupt(next, () => Effect.never)
  const watching: Wrapper.Wrapper = (next) => Effect.andThen(Effect.forkDetach(Effect.sleep(60_000)), next)

  for (
    const [name, wrapper, law] of [
      ["runs the body twice", twice, "the body never runs twice at once"],
      ["invents a value", inventing, "a call that nobody cancels settles, with a value of its schema"],
      ["never ends its clean-up", hanging, "a cancelled call settles when its body has obeyed"],
      ["leaves a watchdog", watching, "no timer of it outlives the call"]
    ] as const
  ) {
    it.live(cites(`a wrapper that ${name} is caught at that`, "KIT-04"), () =>
      Effect.gen(function*() {
        assert.include(yield* brokenBy(Law.wrapper, () => wrapper), law)
      }))
  }

  it.live(cites("a policy is caught at what it does wrong", "KIT-04"), () =>
    Effect.gen(function*() {
      const stubborn: Policy.Policy = { pre: () => Effect.uninterruptible(Effect.never) }
      assert.include(yield* brokenBy(Law.policy, () => stubborn), "a call that is cancelled while it decides settles")

      const generous: Policy.Policy = { post: () => Effect.succeed(Policy.accept({ value: "better" })) }
      assert.deepStrictEqual(yield* brokenBy(Law.policy, () => generous), [
        "a review never makes a success of a call that failed"
      ])
    }))

  it.live(cites("an approval channel is caught at what it does wrong", "KIT-04"), () =>
    Effect.gen(function*() {
      const stubborn = (): Law.ApprovalSubject => {
        const { answer, channel } = queued()
        return { answer, channel: { ask: (call) => Effect.uninterruptible(channel.ask(call)) } }
      }
      assert.deepStrictEqual(yield* brokenBy(Law.approval, stubborn), [
        "a question that nobody answers is closed when its call is cancelled"
      ])
    }))

  it.live(
    cites("a body is caught at what it does wrong, and a body that escapes is not passed", "KIT-04", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const failing = () => ({
          arguments: {},
          tool: Tool.fromPromise("fails", {
            description: "",
            parameters,
            success,
            execute: (_parameters, { signal }) =>
              new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(new Error("no!"))))
          })
        })
        assert.deepStrictEqual(yield* brokenBy(Law.body, failing), [
          "a call that nobody cancels settles, with a value of its schema",
          "being cancelled is no failure of its own"
        ])

        const escaping = () => ({
          arguments: {},
          tool: Tool.fromPromise("escapes", {
            description: "",
            parameters,
            success,
            execute: () => new Promise<string>((resolve) => setImmediate(() => resolve("ok")))
          })
        })
        const broken = yield* Law.check(Law.body, escaping)
        assert.lengthOf(broken, Law.body.length)
        assert.include(broken[0]!.message, "setImmediate at packages/testing/test/Law.test.ts")
      })
  )

  /** The core's registry with something of it replaced. */
  const replaced =
    (replace: (registry: ToolRegistry.Shape) => Partial<ToolRegistry.Shape>): Script.Subject => (tools, services) =>
      Layer.effect(
        ToolRegistry.ToolRegistry,
        Effect.map(ToolRegistry.ToolRegistry, (registry): ToolRegistry.Shape => ({ ...registry, ...replace(registry) }))
      ).pipe(Layer.provide(Script.core(tools, services)))
  const answering = (answer: (result: ToolResult.ToolResult) => ToolResult.ToolResult) =>
    replaced((registry) => ({ executePromise: async (input) => answer(await registry.executePromise(input)) }))
  const fails = (result: ToolResult.ToolResult, code: string) => result._tag === "Failure" && result.error.code === code
  const aborted = { _tag: "Failure", dispatched: true, error: { code: "ABORTED" } } as ToolResult.ToolResult
  const deaf = replaced((registry) => ({
    executePromise: (input) => registry.executePromise({ ...input, signal: new AbortController().signal })
  }))

  for (
    const [name, subject, law] of [
      [
        "answers before the body is over",
        replaced((registry) => ({
          executePromise: (input) =>
            Promise.race([
              registry.executePromise(input),
              new Promise<ToolResult.ToolResult>((resolve) =>
                input.signal.addEventListener("abort", () => resolve(aborted), { once: true })
              )
            ])
        })),
        "a started body is awaited"
      ],
      [
        "hands out late successes",
        answering((result) => fails(result, "ABORTED") ? { ...result, _tag: "Success" } as never : result),
        "a success that comes after the cancellation is dropped"
      ],
      [
        "forgets late failures",
        answering((result) => fails(result, "TOOL_FAILURE") ? aborted : result),
        "a failure that comes after the cancellation is kept"
      ],
      ["does not listen", deaf, "cancelled before it was invoked, a body never runs"],
      ["does not pass it on", deaf, "the body is told in the step of the abort"],
      [
        "lies about dispatch",
        answering((result) => ({ ...result, dispatched: true })),
        "a result says whether the body was invoked"
      ],
      [
        "hands out a copy",
        answering((result) => ({ ...result })),
        "a call has one result, published before its caller gets it"
      ],
      [
        "leaves a listener",
        replaced((registry) => ({
          executePromise: (input) => {
            input.signal.addEventListener("abort", () => {})
            return registry.executePromise(input)
          }
        })),
        "no listener is left when the caller has the result"
      ],
      ["does not wait for shutdown", replaced(() => ({ shutdown: Effect.void })), "when shutdown is over"],
      ["is always idle", replaced(() => ({ whenIdle: Effect.void })), "when it is idle nothing runs"],
      ["never shows a call", replaced(() => ({ inFlight: Effect.succeed([]) })), "whatever the script"]
    ] as const
  ) {
    it.live(
      cites(`a registry that ${name} is caught, with the interleaving or script`, "KIT-04"),
      () =>
        Effect.gen(function*() {
          const broken = yield* Law.check(Law.registry.filter((it) => it.name.startsWith(`law: ${law}`)), () => subject)
          assert.lengthOf(broken, 1)
          assert.match(broken[0]!.message, /ABORT|SHUTDOWN|f0|start \d/)
        })
    )
  }

  it.live(cites("laws run in node:test as they stand", "KIT-04", "KIT-07"), () =>
    Effect.sync(() => {
      const script = fileURLToPath(new URL("fixtures/laws.node.ts", import.meta.url))
      const child = spawnSync(process.execPath, ["--conditions=@quiesce/source", "--test-reporter=tap", script], {
        encoding: "utf8"
      })
      assert.strictEqual(child.status, 0, child.stdout + child.stderr)
      assert.include(child.stdout, `# pass ${Law.wrapper.length}`)
    }))
})
