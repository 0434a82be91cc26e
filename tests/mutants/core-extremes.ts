/** The mutants of `packages/core` that are about calls in odd places: very deep, held up, astray, waiting for each other. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/core/src/internal"
const test = "packages/core/test"

export const extremeMutants: ReadonlyArray<Mutant> = [
  {
    name: "calls inside calls are launched on one stack",
    clause: ["CALL-01", "CALL-26"],
    file: `${src}/pipeline.ts`,
    find: "    if (needsStack(call)) yield* Effect.yieldNow\n",
    replace: "",
    test: { file: `${test}/Depth.test.ts`, title: "executed by the fiber of a body > are launched" }
  },
  {
    name: "calls inside calls settle on one stack",
    clause: ["CALL-01", "CALL-26"],
    file: `${src}/fiber.ts`,
    find:
      "    } else if (needsStack(call)) fiber.currentDispatcher.scheduleTask(() => call.settle(exit), 0)\n    else call.settle(exit)\n",
    replace: "    } else call.settle(exit)\n",
    test: { file: `${test}/Depth.test.ts`, title: "started by a body > are launched" }
  },
  {
    name: "calls that only the stack knows to nest are launched on one",
    clause: "CALL-01",
    file: `${src}/registry.ts`,
    find: "parent === undefined ? this.#launching : parent.call.depth",
    replace: "parent === undefined ? 0 : parent.call.depth",
    test: { file: `${test}/Depth.test.ts`, title: "that only the stack knows to nest > are launched" }
  },
  {
    name: "a reason is looked up through every call it was passed down",
    clause: "CALL-26",
    file: `${src}/cancellation.ts`,
    find: "new Cancellation(reason, from)",
    replace: "new Cancellation(reason, () => from.abortReason)",
    test: { file: `${test}/Depth.test.ts`, title: "a reason is passed down unchanged, through however many calls" }
  },
  {
    name: "what is inside learns why only as it is interrupted",
    clause: "CALL-26",
    file: `${src}/stopping.ts`,
    find: "    noted.push([target, reason])\n",
    replace: "    target.deliver(reason)\n",
    test: { file: `${test}/Depth.test.ts`, title: "executed by the fiber of a body > are cancelled together" }
  },
  {
    name: "a call that its children hold up does not show that it was cancelled",
    clause: "CALL-27",
    file: `${src}/call.ts`,
    find: "if (this.over || this.cancellation !== undefined) return undefined",
    replace: "if (this.over || this.#phase === \"sealed\" || this.cancellation !== undefined) return undefined",
    test: { file: `${test}/Quiescence.test.ts`, title: "of a wrapper holds up a call that is cancelled only then" }
  },
  {
    name: "a failure that its schema refuses is published as it is",
    clause: "CALL-21",
    file: `${src}/body.ts`,
    find: "        : Outcome.toolFailedAs(thrown, Object.is(written?.thrown, thrown) ? written?.json : undefined)",
    replace:
      "        : written?.json === undefined ? Outcome.toolFailed(thrown) : Outcome.toolFailedAs(thrown, written.json)",
    test: {
      file: `${test}/FailureSchema.test.ts`,
      title: "an effect > publishes nothing of a failure where it refuses it"
    }
  },
  {
    name: "a failure schema that waits is not waited for",
    clause: "CALL-07",
    file: `${src}/value.ts`,
    find: "  work.observe((exit) => done(jsonOf(exit)))\n",
    replace: "  done(work.exit && jsonOf(work.exit))\n",
    test: { file: `${test}/FailureSchema.test.ts`, title: "an effect > may wait: the call is over when it has written" }
  },
  {
    name: "a failure schema is not interrupted with its call",
    clause: ["CALL-07", "CALL-09"],
    file: `${src}/value.ts`,
    find: "  call.track(work)\n  work.start(",
    replace: "  work.start(",
    test: {
      file: `${test}/FailureSchema.test.ts`,
      title: "a promise function > is interrupted with the call while it waits"
    }
  },
  {
    name: "a failure schema holds up a call that was cancelled before",
    clause: "CALL-09",
    file: `${src}/value.ts`,
    find: "  if (body.cancellation !== undefined) stop(work, body.cancellation)\n",
    replace: "  void stop\n",
    test: {
      file: `${test}/FailureSchema.test.ts`,
      title: "an effect > of a call that is being cancelled has no time to wait"
    }
  },
  {
    name: "a stage that ends the call's fiber ends the call",
    clause: ["CALL-01", "CALL-21"],
    file: `${src}/fiber.ts`,
    find: "call.reading !== undefined && faults < maxFaults",
    replace: "call.reading !== undefined && faults > maxFaults",
    test: {
      file: `${test}/Faults.stray.test.ts`,
      title: "at once > fails its call and no other, under its own code: pre-policy"
    }
  },
  {
    name: "a decoder that ends the call's fiber is taken for a policy",
    clause: "CALL-21",
    file: `${src}/pipeline.ts`,
    find: "window(call, call.stage, Outcome.ofDecoding, decode)",
    replace: "window(call, call.stage, Outcome.ofPolicy, decode)",
    test: {
      file: `${test}/Faults.stray.test.ts`,
      title: "at once > fails its call and no other, under its own code: decoder ["
    }
  },
  {
    name: "an encoder ends the fiber it was called from",
    clause: "CALL-21",
    file: `${src}/value.ts`,
    find: "    ? Effect.exit(tie(() => {",
    replace: "    ? call.over === undefined ? Effect.exit(schema) : Effect.exit(schema) || Effect.exit(tie(() => {",
    test: {
      file: `${test}/Faults.stray.test.ts`,
      title: "at once > fails its call and no other, under its own code: encoder inside a wrapper"
    }
  },
  {
    name: "a call settles over what a stage without handlers left running",
    clause: "CALL-07",
    file: `${src}/pipeline.ts`,
    find: "  if (call.works.length > 0) yield* endWorks(call)\n",
    replace: "  void endWorks\n",
    test: { file: `${test}/Faults.stray.test.ts`, title: "before anybody reviews the call: an inner one" }
  },
  {
    name: "two calls wait for each other for ever",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "{ for (const around of waiter.inside) held.add(around) }",
    replace: "{ held.has(call) }",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "whenIdle in two calls at once" }
  },
  {
    name: "a call that waits is waited for by nobody around it",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "        if (concerns(waiter, call)) {",
    replace: "        if (waiter) {",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "waits until that is over, where it began to later" }
  },
  {
    name: "whoever waited for an admission is kept",
    clause: "CALL-27",
    file: `${src}/faces.ts`,
    find: "    return Effect.sync(() => call.admission.unobserve(observer))\n",
    replace: "",
    test: { file: `${test}/Waits.test.ts`, title: "keeps nobody whose wait was interrupted: for its admission" }
  },
  {
    name: "whoever waited for a result is kept",
    clause: "CALL-27",
    file: `${src}/faces.ts`,
    find: "    return Effect.sync(() => call.exit.unobserve(resume))\n",
    replace: "",
    test: { file: `${test}/Waits.test.ts`, title: "keeps nobody whose wait was interrupted: for its result" }
  },
  {
    name: "whoever waited for all to be over is kept",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "      return Effect.sync(() => this.#waiters.delete(waiter))\n",
    replace: "",
    test: { file: `${test}/Waits.test.ts`, title: "keeps nobody whose wait was interrupted: for all to be over" }
  },
  {
    name: "a body that ends its fiber past every finalizer leaves its scope open",
    clause: ["CALL-07", "CALL-31"],
    file: `${src}/body.ts`,
    find: "  if (scope === undefined || scope.state._tag === \"Closed\") return done()\n",
    replace: "  if (scope === undefined || scope.state._tag !== \"Empty\") return done()\n",
    test: {
      file: `${test}/Faults.stray.test.ts`,
      title: "a body that goes on with what is no effect, at once, is over once its scope is closed"
    }
  },
  {
    name: "what a wrapper left starts the body of a call that is over",
    clause: "CALL-07",
    file: `${src}/dispatch.ts`,
    find: "(call.attempted ? late : undefined)",
    replace: "(call.attempted && !late ? late : undefined)",
    test: {
      file: `${test}/Faults.stray.test.ts`,
      title: "what a wrapper leaves to be run later so is never run"
    }
  },
  {
    name: "only two calls that wait for each other are noticed, not more in a circle",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "    for (const call of held) {\n",
    replace: "    for (const call of calls) {\n",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "in a circle of 3" }
  },
  {
    name: "of those around whoever waits, only the innermost counts as waited for",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "    const held = new Set(calls)\n",
    replace: "    const held = new Set([...calls].slice(0, 1))\n",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "waits for one around that which ends it" }
  },
  {
    name: "a circle of waits through another registry is not noticed",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "of call.registry.waits.#waiters",
    replace: "of (call.registry && [...calls][0]?.registry.waits.#waiters) ?? []",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "shutdown of three registries" }
  },
  {
    name: "of calls that wait for each other the first goes on first",
    clause: "CALL-28",
    file: `${src}/waits.ts`,
    find: "Array.from(this.#waiters).reverse()",
    replace: "Array.from(this.#waiters)",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "the one that began to later goes on first" }
  },
  {
    name: "a post-policy that ends its fiber takes the contexts of those before it along",
    clause: "CALL-23",
    file: `${src}/call.ts`,
    find: "    if (this.reviewedContexts !== undefined) return this.reviewedContexts\n",
    replace: "",
    test: {
      file: `${test}/Faults.stray.test.ts`,
      title: "contexts stay when a later post-policy goes on with what is no effect, at once"
    }
  },
  {
    name: "a registry takes more wrappers than a stack has room for",
    clause: ["CALL-01", "CALL-32"],
    file: `${src}/build.ts`,
    find: "wrappers.length > maxWrappers",
    replace: "wrappers.length > maxWrappers * 2",
    test: { file: `${test}/Depth.test.ts`, title: "with more wrappers than a stack has room for" }
  }
]
