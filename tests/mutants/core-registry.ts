/** The mutants of the registry: what a call is among others, and what it shows, inherits and leaves. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/core/src"
const test = "packages/core/test"

export const registryMutants: ReadonlyArray<Mutant> = [
  {
    name: "post-policy gives a failed call a value",
    clause: "CALL-23",
    file: `${src}/internal/pipeline.ts`,
    find: "    if (outcome._tag === \"Failure\") throw new TypeError(\"post-policy gave a failed call a value\")\n",
    replace: "",
    test: { file: `${test}/Policy.review.test.ts`, title: "that gives a failure a value is a POLICY_FAILURE" }
  },
  {
    name: "a block keeps what was deferred before",
    clause: "CALL-23",
    file: `${src}/internal/pipeline.ts`,
    find: "      call.reviewedContexts = Object.freeze(contexts)\n",
    replace: "      call.reviewedContexts = [...deferred, ...contexts]\n",
    test: { file: `${test}/Policy.review.test.ts`, title: "blocks: a failure with its feedback" }
  },
  {
    name: "post-policy replaces value and content at once",
    clause: "CALL-23",
    file: `${src}/internal/pipeline.ts`,
    find: "if (review.content !== undefined && review.value !== undefined) {",
    replace: "if (review.content === null) {",
    test: {
      file: `${test}/Policy.review.test.ts`,
      title: "that replaces value and content at once is a POLICY_FAILURE"
    }
  },
  {
    name: "a value of post-policy is not checked",
    clause: "CALL-23",
    file: `${src}/internal/pipeline.ts`,
    find: "yield* Effect.exit(call.withServices(accept(call, review.value)))",
    replace:
      "yield* Effect.exit(Effect.succeed<Outcome.Outcome>({ _tag: \"Success\", value: review.value, content: [] }))",
    test: { file: `${test}/Policy.review.test.ts`, title: "replaces the value, which is checked and rendered" }
  },
  {
    name: "the contexts of wrappers come before those of the body",
    clause: "CALL-23",
    file: `${src}/internal/call.ts`,
    find: "[...this.bodyContexts, ...this.wrapperContexts]",
    replace: "[...this.wrapperContexts, ...this.bodyContexts]",
    test: { file: `${test}/Policy.review.test.ts`, title: "come in the order body, wrapper, post" }
  },
  {
    name: "a later review sees the content of a value that is gone",
    clause: "CALL-23",
    file: `${src}/internal/composed.ts`,
    find: "return partsOf.has(post) ? flatten([post]) : [",
    replace: "return [",
    test: { file: `${test}/Policy.review.test.ts`, title: "shows each review what the ones before made of the outcome" }
  },
  {
    name: "a failure of post-policy drops what was deferred",
    clause: "CALL-23",
    file: `${src}/internal/pipeline.ts`,
    find: "    return Outcome.policyFailed(thrown)\n",
    replace: "    call.reviewedContexts = []\n    return Outcome.policyFailed(thrown)\n",
    test: { file: `${test}/Policy.review.test.ts`, title: "stay on a cancellation, a misuse and a denial" }
  },
  {
    name: "the caller gets the result before the observers",
    clause: "CALL-24",
    file: `${src}/internal/registry.ts`,
    find: "    this.observers.settled(call, result)\n",
    replace: "    void Promise.resolve().then(() => this.observers.settled(call, result))\n",
    test: { file: `${test}/Observer.test.ts`, title: "that the caller of execute gets" }
  },
  {
    name: "an observer that throws ends the call",
    clause: "CALL-24",
    file: `${src}/internal/observers.ts`,
    find: "effectOf(tell),",
    replace: "tell(),",
    test: { file: `${test}/Observer.test.ts`, title: "that throws changes nothing and starves nobody" }
  },
  {
    name: "what an observer still does outlives shutdown",
    clause: "CALL-24",
    file: `${src}/internal/registry.ts`,
    find: "Effect.andThen(this.waits.idle(except), this.observers.interrupt)",
    replace: "this.waits.idle(except)",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "ends what observers still do, once the calls are quiet"
    }
  },
  {
    name: "an observer that is added hears of the result at hand",
    clause: "CALL-24",
    file: `${src}/internal/observers.ts`,
    find: "this.#listeners = [...this.#listeners, added]",
    replace: ";(this.#listeners as Array<Listener>).push(added)",
    test: { file: `${test}/Observer.test.ts`, title: "that adds another hears of each result once" }
  },
  {
    name: "the methods of an observer lose their object",
    clause: "CALL-24",
    file: `${src}/internal/observers.ts`,
    find: "settled: observer.settled?.bind(observer)",
    replace: "settled: observer.settled",
    test: { file: `${test}/Observer.test.ts`, title: "can be an instance of a class" }
  },
  {
    name: "the residue of a result can be changed",
    clause: "CALL-24",
    file: `${src}/internal/outcome.ts`,
    find: "Object.freeze([...call.residue])",
    replace: "[...call.residue]",
    test: { file: `${test}/Observer.test.ts`, title: "hears of SUCCESS once, all of it frozen" }
  },
  {
    name: "a failure of an observer is not even logged",
    clause: "CALL-24",
    file: `${src}/internal/observers.ts`,
    find: "Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logWarning(\"An observer failed\", cause)",
    replace: "Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.void",
    test: { file: `${test}/Observer.test.ts`, title: "that rejects changes nothing and starves nobody" }
  },
  {
    name: "the end of a registration leaves its calls running",
    clause: "CALL-25",
    file: `${src}/internal/registry.ts`,
    find: "      for (const call of calls) call.cancel(shutdown)\n",
    replace: "",
    test: { file: `${test}/ToolRegistry.registration.test.ts`, title: "ends with its scope: the tool is gone" }
  },
  {
    name: "the end of a registration does not wait for its calls",
    clause: "CALL-25",
    file: `${src}/internal/registry.ts`,
    find: "return this.waits.idle(except, new Set(calls))",
    replace: "return Effect.asVoid(Effect.forkDetach(this.waits.idle(except, new Set(calls))))",
    test: { file: `${test}/ToolRegistry.registration.test.ts`, title: "ends with its scope: the tool is gone" }
  },
  {
    name: "half of a refused registration stays",
    clause: "CALL-25",
    file: `${src}/internal/registry.ts`,
    find: "      names.add(name)\n",
    replace:
      "      names.add(name)\n      const tool = tools.find((tool) => tool.name === name)!\n      this.#tools.set(name, { tool, definition: tool[TypeId], context })\n",
    test: { file: `${test}/ToolRegistry.registration.test.ts`, title: "of a name that is taken is refused" }
  },
  {
    name: "a tool that comes while a call waits is run without its services",
    clause: "CALL-25",
    file: `${src}/internal/call.ts`,
    find: "return services === this.context ? effect : Effect.provideContext(effect, services)",
    replace: "return effect",
    test: {
      file: `${test}/ToolRegistry.registration.test.ts`,
      title: "that comes while a call waits is the one whose body runs"
    }
  },
  {
    name: "a registration that waits for the call that ends it",
    clause: "CALL-25",
    file: `${src}/internal/registry.ts`,
    find: "return this.waits.idle(except, new Set(calls))",
    replace: "return this.waits.idle(except && new Set(), new Set(calls))",
    test: { file: `${test}/ToolRegistry.registration.test.ts`, title: "can be ended by a body of its own tool" }
  },
  {
    name: "an inner call does not hear the signal of a part of a body",
    clause: "CALL-26",
    file: `${src}/internal/faces.ts`,
    find: "{ caller: parent?.call.context, parent, signal })",
    replace: "{ caller: parent?.call.context, parent, signal: parent === undefined ? signal : undefined })",
    test: { file: `${test}/ToolRegistry.nested.test.ts`, title: "is interrupted alone when only the part around it is" }
  },
  {
    name: "the token of a call that is over is good for another call",
    clause: "CALL-26",
    file: `${src}/internal/call.ts`,
    find: "      this.#owner.over = this.#phase !== \"open\"\n",
    replace: "",
    test: { file: `${test}/ToolRegistry.nested.test.ts`, title: "after the body is over never starts" }
  },
  {
    name: "a stage of a cancelled call can call",
    clause: "CALL-26",
    file: `${src}/internal/call.ts`,
    find: "      if (this.cancellation !== undefined) this.#owner.note(this.cancellation)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.nested.test.ts`,
      title: "by a pre-policy never starts once that call is being cancelled"
    }
  },
  {
    name: "what a body leaves running is left running",
    clause: "CALL-26",
    file: `${src}/internal/work.ts`,
    find: "    else owns.end(() => this.#prepare(exit))\n",
    replace: "    else this.#prepare(exit)\n",
    test: { file: `${test}/ToolRegistry.nested.test.ts`, title: "left running by an effect body is cancelled" }
  },
  {
    name: "what a body leaves running is cancelled and not awaited",
    clause: "CALL-26",
    file: `${src}/internal/ward.ts`,
    find: "        if (--running === 0) done()\n      })\n    }\n",
    replace: "        --running\n      })\n    }\n    done()\n",
    test: { file: `${test}/ToolRegistry.nested.test.ts`, title: "left running by a promise body is cancelled" }
  },
  {
    name: "what a stage leaves running is left running",
    clause: "CALL-26",
    file: `${src}/internal/pipeline.ts`,
    find: "  if (nested !== undefined) yield* endNested(nested)\n",
    replace: "  void [nested, endNested]\n",
    test: {
      file: `${test}/ToolRegistry.nested.test.ts`,
      title: "by a wrapper left running, it is cancelled before that call settles"
    }
  },
  {
    name: "the root's reason is lost on the way down",
    clause: "CALL-26",
    file: `${src}/internal/ward.ts`,
    find: "this.#cancellation = Cancellation.inherit(this.#reason, cancellation)",
    replace: "this.#cancellation = Cancellation.make(this.#reason)",
    test: {
      file: `${test}/ToolRegistry.nested.test.ts`,
      title: "for the root's own reason, and awaited, through its token"
    }
  },
  {
    name: "an inner call is its own root",
    clause: "CALL-26",
    file: `${src}/internal/call.ts`,
    find: "this.parent?.call.pending.rootCallId ?? callId",
    replace: "callId",
    test: {
      file: `${test}/ToolRegistry.nested.test.ts`,
      title: "knows its root, and its result goes to the body, through the fiber of its body"
    }
  },
  {
    name: "a signal does not say whose it is",
    clause: "CALL-26",
    file: `${src}/internal/faces.ts`,
    find: "parentOf(input) ?? Ward.ofSignal(signal)",
    replace: "parentOf(input)",
    test: {
      file: `${test}/ToolRegistry.nested.test.ts`,
      title: "knows its root, and its result goes to the body, through the signal of its promise body"
    }
  },
  {
    name: "a token is not taken for a parent",
    clause: "CALL-26",
    file: `${src}/internal/faces.ts`,
    find: "parent === undefined ? undefined : Token.call(parent).currentOwner",
    replace: "void Token.call || parent === undefined ? undefined : undefined",
    test: {
      file: `${test}/ToolRegistry.nested.test.ts`,
      title: "knows its root, and its result goes to the body, through its token"
    }
  },
  {
    name: "a call that is not quiet is not watched",
    clause: "CALL-27",
    file: `${src}/internal/call.ts`,
    find: "    if (!this.over) this.registry.watch(this)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.visibility.test.ts`,
      title: "is reported after the grace: to observers, in the log, as a metric"
    }
  },
  {
    name: "a call that is not quiet is reported once",
    clause: "CALL-27",
    file: `${src}/internal/watch.ts`,
    find: "    if (Number.isFinite(next)) this.#arm(next)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.visibility.test.ts`,
      title: "is reported again with back-off, and never released early"
    }
  },
  {
    name: "reports do not back off",
    clause: "CALL-27",
    file: `${src}/internal/watch.ts`,
    find: "        due.waitMillis *= backOff\n",
    replace: "        due.waitMillis *= backOff / backOff\n",
    test: {
      file: `${test}/ToolRegistry.visibility.test.ts`,
      title: "is reported again with back-off, and never released early"
    }
  },
  {
    name: "a timer for the next report outlives the last call",
    clause: "CALL-27",
    file: `${src}/internal/watch.ts`,
    find: "if (this.#due.delete(call) && this.#due.size === 0) this.#disarm()",
    replace: "this.#due.delete(call)",
    test: { file: `${test}/ToolRegistry.visibility.test.ts`, title: "has one timer with all others" }
  },
  {
    name: "each call has a timer of its own",
    clause: "CALL-27",
    file: `${src}/internal/watch.ts`,
    find: "    this.#disarm()\n    const fiber",
    replace: "    const fiber",
    test: { file: `${test}/ToolRegistry.visibility.test.ts`, title: "has one timer with all others" }
  },
  {
    name: "a call does not show that it was asked to stop",
    clause: "CALL-27",
    file: `${src}/internal/faces.ts`,
    find: ", sinceMillis, cancelling: cancellation.reason }",
    replace: ", sinceMillis }",
    test: {
      file: `${test}/ToolRegistry.visibility.test.ts`,
      title: "shows that a call was asked to stop and is not quiet yet"
    }
  },
  {
    name: "the stage a call enters is told to nobody",
    clause: "CALL-27",
    file: `${src}/internal/call.ts`,
    find: "    this.trace?.event(stage)\n    this.registry.changed(this)\n",
    replace: "    this.trace?.event(stage)\n",
    test: { file: `${test}/ToolRegistry.visibility.test.ts`, title: "tells each stage that a call enters" }
  },
  {
    name: "a stage is as old as its call",
    clause: "CALL-27",
    file: `${src}/internal/call.ts`,
    find: "    this.stage = stage\n    this.sinceMillis = this.clock.currentTimeMillisUnsafe()\n",
    replace: "    this.stage = stage\n",
    test: { file: `${test}/ToolRegistry.visibility.test.ts`, title: "shows the stage a call is in, and since when" }
  },
  {
    name: "a consumer that lags keeps the oldest news",
    clause: "CALL-27",
    file: `${src}/internal/faces.ts`,
    find: "strategy: \"sliding\"",
    replace: "strategy: \"dropping\"",
    test: {
      file: `${test}/ToolRegistry.visibility.test.ts`,
      title: "keeps the latest of a burst for a consumer that lags"
    }
  },
  {
    name: "the report is not told to observers",
    clause: "CALL-27",
    file: `${src}/internal/registry.ts`,
    find: "      this.observers.notQuiescent(call)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.visibility.test.ts`,
      title: "is reported whatever holds it: a policy, an inner call, a promise"
    }
  },
  {
    name: "shutdown accepts calls",
    clause: "CALL-28",
    file: `${src}/internal/registry.ts`,
    find: "    if (this.closed) call.refuse(shutdown)\n    else if (parent",
    replace: "    if (parent",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "shutdown refuses every call that comes then, for good"
    }
  },
  {
    name: "the end of the registry's scope is no shutdown",
    clause: "CALL-28",
    file: `${src}/ToolRegistry.ts`,
    find: "      yield* Effect.addFinalizer(() => registry.shutdown)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "closing the registry's scope refuses every call that comes then, for good"
    }
  },
  {
    name: "shutdown leaves calls running",
    clause: "CALL-28",
    file: `${src}/internal/registry.ts`,
    find: "      for (const call of Array.from(this.inFlight)) call.cancel(shutdown)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "shutdown cancels every call and waits until all are quiet"
    }
  },
  {
    name: "who waits inside a call waits for itself",
    clause: "CALL-28",
    file: `${src}/internal/call.ts`,
    find: "new Set<Call>([this])",
    replace: "new Set<Call>()",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "whenIdle in its body waits for the others and not for that call"
    }
  },
  {
    name: "who waits inside a call waits for the calls around it",
    clause: "CALL-28",
    file: `${src}/internal/call.ts`,
    find: "    for (let { parent } = this; parent !== undefined; { parent } = parent.call) calls.add(parent.call)\n",
    replace: "",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "whenIdle of an inner call waits for none of those around it"
    }
  },
  {
    name: "whenIdle waits for nothing",
    clause: "CALL-28",
    file: `${src}/internal/waits.ts`,
    find: "      if (!this.#isIdle(waiter) || ",
    replace: "      if ((!this.#isIdle(waiter) && waiter.among !== undefined) || ",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "resolves for everybody once the last call is quiet"
    }
  },
  {
    name: "a waiter inside a Toolbox's call waits for that call",
    clause: "CALL-28",
    file: `${src}/Toolbox.ts`,
    find: "inside === undefined ? new Set() : Token.call(inside).lineage",
    replace: "inside === undefined || Token.call(inside) ? new Set() : Token.call(inside).lineage",
    test: { file: `${test}/Toolbox.test.ts`, title: "whenIdle from inside a call does not wait for that call" }
  },
  {
    name: "cancelling one call cancels its siblings",
    clause: "CALL-29",
    file: `${src}/internal/faces.ts`,
    find: "cancel: (reason) => Effect.sync(() => call.cancel(byHand(reason))),",
    replace: "cancel: (reason) => Effect.sync(() => registry.inFlight.forEach((call) => call.cancel(byHand(reason)))),",
    test: {
      file: `${test}/ToolRegistry.lifecycle.test.ts`,
      title: "that is cancelled, fails or hangs touches no other"
    }
  },
  {
    name: "a body that changes its view of the call changes the call",
    clause: "CALL-29",
    file: `${src}/internal/body.ts`,
    find: "new Running(call, this.work)",
    replace:
      "Object.assign(call.pending, { signal: this.work.signal, deferContext: () => {}, concludeTurn: () => {}, declareResidue: () => {}, progress: () => {} })",
    test: { file: `${test}/ToolCall.test.ts`, title: "is its own: what it changes there changes the call for nobody" }
  },
  {
    name: "the promise face takes a call without a signal",
    clause: "CALL-30",
    file: `${src}/ToolRegistry.ts`,
    find: "  readonly executePromise: (\n    input: ToolCall.Input & { readonly signal: AbortSignal }",
    replace: "  readonly executePromise: (\n    input: ToolCall.Input & { readonly signal?: AbortSignal }",
    test: { file: `${test}/Types.test.ts`, title: "the promise face requires a signal" }
  },
  {
    name: "a lease can be made",
    clause: "CALL-30",
    file: `${src}/Wrapper.ts`,
    find: "  private constructor() {}\n",
    replace: "  constructor() {}\n",
    test: { file: `${test}/Types.test.ts`, title: "a wrapper cannot drop or forge the dispatch scope" }
  },
  {
    name: "next takes any signal",
    clause: "CALL-30",
    file: `${src}/Wrapper.ts`,
    find: "export type LiveSignal = AbortSignal & { readonly [live]: true }",
    replace: "export type LiveSignal = AbortSignal",
    test: { file: `${test}/Types.test.ts`, title: "a wrapper cannot drop or forge the dispatch scope" }
  },
  {
    name: "a policy can change the name of a call",
    clause: "CALL-30",
    file: `${src}/ToolCall.ts`,
    find: "  readonly name: string\n  readonly arguments: Json\n",
    replace: "  name: string\n  readonly arguments: Json\n",
    test: {
      file: `${test}/Types.test.ts`,
      title: "policies, observers, wrappers, channels and bodies get readonly views"
    }
  },
  {
    name: "what a tool needs does not show",
    clause: "CALL-30",
    file: `${src}/Tool.ts`,
    find: "  R | SchemaServices<P> | SchemaServices<S> | SchemaServices<F>\n",
    replace: "  never\n",
    test: { file: `${test}/Types.test.ts`, title: "bodies infer their parameters and `signal`" }
  },
  {
    name: "a typed call decodes without the tool's services",
    clause: "CALL-30",
    file: `${src}/internal/faces.ts`,
    find: "(result) => Effect.provideContext(decode(tool, result), services)",
    replace: "(result) => services && decode(tool, result)",
    test: {
      file: `${test}/ToolRegistry.call.test.ts`,
      title: "needs none of the services that the tool's schemas need"
    }
  },
  {
    name: "a declared failure is written without the tool's services",
    clause: "CALL-30",
    file: `${src}/internal/value.ts`,
    find: "work.start(Ward.enter(call.services, body))",
    replace: "work.start(Ward.enter(call.registry.fiberContext(Context.empty()), body))",
    test: {
      file: `${test}/ToolRegistry.call.test.ts`,
      title: "needs none of the services that the tool's schemas need"
    }
  },
  {
    name: "a declared failure comes back without its type",
    clause: "CALL-30",
    file: `${src}/internal/faces.ts`,
    find: "    onSuccess: fail\n",
    replace: "    onSuccess: () => fail(undefined)\n",
    test: { file: `${test}/ToolRegistry.call.test.ts`, title: "fails with what the body failed with, typed" }
  },
  {
    name: "what a body throws at once is not caught",
    clause: "CALL-31",
    file: `${src}/internal/work.ts`,
    find:
      "    let returned: PromiseLike<A> | A\n    try {\n      returned = this.#execute(this)\n    } catch (thrown) {\n      return this.settle(Exit.fail(thrown))\n    }\n    void this.#settleWith(returned)\n",
    replace: "    void this.#settleWith(this.#execute(this))\n",
    test: { file: `${test}/Bodies.test.ts`, title: "a promise body that throws synchronously is handled" }
  },
  {
    name: "a foreign thenable is a value",
    clause: "CALL-31",
    file: `${src}/internal/work.ts`,
    find: "      value = await returned\n",
    replace: "      value = returned instanceof Promise ? await returned : returned as A\n",
    test: { file: `${test}/Bodies.test.ts`, title: "a promise body that returns a foreign thenable is handled" }
  },
  {
    name: "the promise of a body is asked by its own `then`",
    clause: "CALL-31",
    file: `${src}/internal/work.ts`,
    find: "      value = await returned\n",
    replace:
      "      value = await new Promise<A>((resolve, reject) => (returned as Promise<A>).then(resolve, reject))\n",
    test: {
      file: `${test}/Bodies.test.ts`,
      title: "a promise body that returns a promise with an overridden `then` is handled"
    }
  },
  {
    name: "a rejection is left unhandled beside the call",
    clause: "CALL-31",
    file: `${src}/internal/work.ts`,
    find: "    void this.#settleWith(returned)\n",
    replace: "    void this.#settleWith(returned)\n    if (returned instanceof Promise) void returned.then(() => {})\n",
    test: { file: `${test}/Bodies.test.ts`, title: "a promise body that returns a promise already rejected is handled" }
  },
  {
    name: "a body that returns no effect ends its fiber past every handler",
    clause: "CALL-31",
    file: `${src}/internal/body.ts`,
    find: "return begin(() => this.#invoke() as Effect.Effect<unknown, unknown>)",
    replace: "return this.#invoke() as Effect.Effect<unknown, unknown>",
    test: { file: `${test}/Bodies.test.ts`, title: "an effect body that returns nothing is handled" }
  },
  {
    name: "an observer that returns no effect starves the others",
    clause: "CALL-24",
    file: `${src}/internal/foreign.ts`,
    find:
      "    return Effect.isEffect(returned)\n      ? returned\n      : Effect.die(new TypeError(\"a function returned something that is no effect\"))\n",
    replace: "    return returned\n",
    test: { file: `${test}/Observer.test.ts`, title: "that returns no effect changes nothing and starves nobody" }
  },
  {
    name: "a policy beside the registry is not missed",
    clause: "CALL-32",
    file: `${src}/internal/wiring.ts`,
    find: "if (seen === undefined ? isDefault && provisions.isLost : seen !== value) {",
    replace: "if (seen === undefined ? isDefault && provisions.isLost : seen !== value && what !== \"policy\") {",
    test: { file: `${test}/Context.test.ts`, title: "refuses to work, and says where the policy belongs: execute" }
  },
  {
    name: "a list of wrappers beside the registry is not missed",
    clause: "CALL-32",
    file: `${src}/internal/build.ts`,
    find: "  [\"list of wrappers\", Wrapper.Current]\n",
    replace: "",
    test: {
      file: `${test}/Context.test.ts`,
      title: "refuses to work, and says where the list of wrappers belongs: call"
    }
  },
  {
    name: "tools come with a policy that nobody asks",
    clause: "CALL-32",
    file: `${src}/internal/faces.ts`,
    find: "          registry.check(context)\n",
    replace: "",
    test: { file: `${test}/Context.test.ts`, title: "refuses tools that come with a policy of their own" }
  },
  {
    name: "a registry inside a body looks miswired",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "    Policy.Current,\n    Approval.Current,\n",
    replace: "    Approval.Current,\n",
    test: { file: `${test}/Context.test.ts`, title: "is none inside a call: another registry has a policy of its own" }
  },
  {
    name: "a call keeps the clock of the registration",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "  Clock.Clock,\n  Scheduler.Scheduler,\n",
    replace: "  Scheduler.Scheduler,\n",
    test: { file: `${test}/Context.test.ts`, title: "has the clock of the caller" }
  },
  {
    name: "a call keeps the scheduler of the registration",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "  Clock.Clock,\n  Scheduler.Scheduler,\n",
    replace: "  Clock.Clock,\n",
    test: { file: `${test}/Context.test.ts`, title: "has the scheduler of the caller" }
  },
  {
    name: "a call keeps the loggers of the registration",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "  Logger.CurrentLoggers,\n",
    replace: "",
    test: { file: `${test}/Context.test.ts`, title: "has the loggers of the caller" }
  },
  {
    name: "a call takes the caller's services",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "  let result = base\n",
    replace: "  let result = Context.merge(base, caller)\n",
    test: { file: `${test}/Context.test.ts`, title: "has the services the tool was registered with" }
  },
  {
    name: "promise code inside a call forgets where it is",
    clause: "CALL-32",
    file: `${src}/internal/faces.ts`,
    find: "{ caller: parent?.call.context, parent, signal })",
    replace: "{ caller: undefined, parent, signal })",
    test: {
      file: `${test}/Context.test.ts`,
      title: "has the clock of the registry for promise code, and inside a call those of that"
    }
  },
  {
    name: "a registration keeps the log annotations of its moment",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "    References.CurrentLogAnnotations,\n    References.CurrentLogSpans,\n    Wrapper",
    replace: "    Wrapper",
    test: { file: `${test}/Context.test.ts`, title: "does not hold the log annotations and spans of the moment" }
  },
  {
    name: "every call has a span",
    clause: "CALL-32",
    file: `${src}/internal/trace.ts`,
    find:
      "  if (\n    Context.getOrUndefined(context, Tracer.Tracer) === undefined &&\n    Context.getOrUndefined(context, Tracer.ParentSpan) === undefined\n  ) return undefined\n",
    replace: "",
    test: { file: `${test}/Tracing.test.ts`, title: "is none where nobody listens" }
  },
  {
    name: "the span of a call is a root",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "  Tracer.Tracer,\n  Tracer.ParentSpan,\n",
    replace: "  Tracer.Tracer,\n",
    test: { file: `${test}/Tracing.test.ts`, title: "is inside that of the caller, and the body is inside it" }
  },
  {
    name: "the body of a call is beside its span",
    clause: "CALL-32",
    file: `${src}/internal/call.ts`,
    find: "    if (this.trace !== undefined) this.context = this.trace.context\n",
    replace: "",
    test: { file: `${test}/Tracing.test.ts`, title: "is that of every stage and of the observers" }
  },
  {
    name: "the span of a call never ends",
    clause: "CALL-32",
    file: `${src}/internal/registry.ts`,
    find: "    call.trace?.end(result)\n",
    replace: "",
    test: { file: `${test}/Tracing.test.ts`, title: "ends as the call did: a failure is one" }
  },
  {
    name: "a registration outlives the span it was made in",
    clause: "CALL-32",
    file: `${src}/internal/context.ts`,
    find: "    Tracer.ParentSpan,\n    References.CurrentLogAnnotations,\n",
    replace: "    References.CurrentLogAnnotations,\n",
    test: { file: `${test}/Tracing.test.ts`, title: "is by the tracer of the registry for promise code" }
  },
  {
    name: "a label reaches one call",
    clause: "CALL-33",
    file: `${src}/internal/faces.ts`,
    find: "  const reached = [...registry.inFlight].filter((call) =>",
    replace: "  const reached = [...registry.inFlight].slice(0, 1).filter((call) =>",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "by label reaches every call that bears it" }
  },
  {
    name: "a token is good for every call of its label",
    clause: "CALL-33",
    file: `${src}/internal/faces.ts`,
    find: ": call.token === which",
    replace: ": call.pending.callId === Token.call(which).pending.callId",
    test: { file: `${test}/ToolRegistry.lifecycle.test.ts`, title: "by label reaches every call that bears it" }
  },
  {
    name: "a typed call has the label of its tool",
    clause: "CALL-33",
    file: `${src}/internal/faces.ts`,
    find: "`${tool.name}-${++lastId}`",
    replace: "`${tool.name}-${lastId}`",
    test: { file: `${test}/ToolRegistry.call.test.ts`, title: "has a label of its own each time" }
  },
  {
    name: "a mark that cannot be written prevents nothing",
    clause: "CALL-34",
    file: `${src}/internal/dispatch.ts`,
    find: "return Effect.flatMap(mark, () => {",
    replace: "return Effect.flatMap(Effect.exit(mark), () => {",
    test: { file: `${test}/Journal.test.ts`, title: "that fails prevents the body" }
  },
  {
    name: "a retry writes a second mark",
    clause: "CALL-34",
    file: `${src}/internal/dispatch.ts`,
    find: "      call.journaled = true\n",
    replace: "",
    test: { file: `${test}/Journal.test.ts`, title: "writes one mark, also when a wrapper runs the body again" }
  },
  {
    name: "the mark is not awaited",
    clause: "CALL-34",
    file: `${src}/internal/dispatch.ts`,
    find: "return Effect.flatMap(mark, () => {",
    replace: "return Effect.flatMap(Effect.forkDetach(mark, { startImmediately: true }), () => {",
    test: { file: `${test}/Journal.test.ts`, title: "is awaited directly before the body, inside every wrapper" }
  },
  {
    name: "the journal is that of the registry",
    clause: "CALL-34",
    file: `${src}/internal/context.ts`,
    find: "  Logger.CurrentLoggers,\n  Journal.Current\n",
    replace: "  Logger.CurrentLoggers\n",
    test: { file: `${test}/Journal.test.ts`, title: "is that of the caller, not of the registry" }
  },
  {
    name: "a failure carries no residue",
    clause: "CALL-35",
    file: `${src}/internal/outcome.ts`,
    find: "return toFailure(call, outcome, contexts, residue)",
    replace: "return toFailure(call, outcome, contexts)",
    test: {
      file: `${test}/ToolCall.test.ts`,
      title: "is on a cancelled result, also what is declared while the body stops"
    }
  },
  {
    name: "a success carries no residue",
    clause: "CALL-35",
    file: `${src}/internal/outcome.ts`,
    find: "      residue,\n      concludesTurn",
    replace: "      residue: none,\n      concludesTurn",
    test: { file: `${test}/ToolCall.test.ts`, title: "that a body declared is on its result: SUCCESS" }
  },
  {
    name: "a body is heard after it has settled",
    clause: "CALL-35",
    file: `${src}/internal/running.ts`,
    find: "return this.#work.exit === undefined",
    replace: "return true",
    test: { file: `${test}/Observer.test.ts`, title: "that comes after the body settled is told to nobody" }
  },
  {
    name: "the reason null is replaced",
    clause: "PROMISE-01",
    file: `${src}/Toolbox.ts`,
    find: "cause === undefined ? Faces",
    replace: "cause === undefined || cause === null ? Faces",
    test: { file: `${test}/Toolbox.test.ts`, title: "for the caller's own reason: null" }
  },
  {
    name: "a Toolbox takes nonsense for a permission",
    clause: "PROMISE-01",
    file: `${src}/Toolbox.ts`,
    find: "  throw new TypeError(\"pre-policy returned something that is no decision\")\n",
    replace: "  return Policy.allow\n",
    test: { file: `${test}/Toolbox.test.ts`, title: "never takes nonsense for a permission: a policy answers {}" }
  },
  {
    name: "a Toolbox takes two tools of one name",
    clause: "PROMISE-01",
    file: `${src}/Toolbox.ts`,
    find: "  if (added instanceof ToolRegistry.DuplicateTool) throw added\n",
    replace: "  void added\n",
    test: { file: `${test}/Toolbox.test.ts`, title: "refuses two tools of one name where it is made" }
  },
  {
    name: "a model is told that a number may be text",
    clause: "PROMISE-04",
    file: `${src}/internal/description.ts`,
    find: "      return { ...representation, checks: [...representation.checks, is({ type: \"number\" })] }\n",
    replace: "      return representation\n",
    test: { file: `${test}/Tool.test.ts`, title: "a number is no text, and the decoder takes what it says" }
  },
  {
    name: "a model is told that an optional field may be null",
    clause: "PROMISE-04",
    file: `${src}/internal/description.ts`,
    find: "representation.types.filter(({ _tag }) => _tag !== \"Undefined\")",
    replace: "representation.types",
    test: { file: `${test}/Tool.test.ts`, title: "an optional field is absent and not null" }
  },
  {
    name: "a model is told that no parameters are anything but null",
    clause: "PROMISE-04",
    file: `${src}/internal/description.ts`,
    find: "  representation._tag === \"Objects\" && representation.propertySignatures.length === 0 &&",
    replace: "  representation._tag === \"Objects\" && representation.propertySignatures.length < 0 &&",
    test: { file: `${test}/Tool.test.ts`, title: "no parameters are an object, and the decoder takes what it says" }
  },
  {
    name: "a tool takes parameters that nobody can give",
    clause: "PROMISE-04",
    file: `${src}/internal/description.ts`,
    find: "  if (some(encoded, isOpaque)) throw",
    replace: "  if (some(encoded, isOpaque) && !isOpaque) throw",
    test: { file: `${test}/Tool.test.ts`, title: "is refused: a class that does not say how it is JSON" }
  },
  {
    name: "a schema that answers nonsense has decoded nothing",
    clause: "PROMISE-04",
    file: `${src}/internal/shape.ts`,
    find:
      "  return Predicate.hasProperty(result, \"value\")\n    ? Effect.succeed(result.value)\n    : Effect.die(new TypeError(\"the schema answered with neither a value nor issues\"))\n",
    replace: "  return Effect.succeed(result.value)\n",
    test: { file: `${test}/Tool.test.ts`, title: "by throwing or by answering nonsense are refused all the same" }
  },
  {
    name: "a budget may be negative",
    clause: "TIME-05",
    file: `${src}/Tool.ts`,
    find: "millis > 0 && millis <= 2 ** 31 - 1",
    replace: "millis <= 2 ** 31 - 1",
    test: { file: `${test}/Tool.test.ts`, title: "below 2^31 ms is refused: -1 " }
  },
  {
    name: "a budget may be longer than a timer can count",
    clause: "TIME-05",
    file: `${src}/Tool.ts`,
    find: "millis > 0 && millis <= 2 ** 31 - 1",
    replace: "millis > 0",
    test: { file: `${test}/Tool.test.ts`, title: "below 2^31 ms is refused: 2147483648" }
  },
  {
    name: "promise code is served without the policy beside its registry",
    clause: "CALL-32",
    file: `${src}/internal/wiring.ts`,
    find: "isDefault && provisions.isLost : seen",
    replace: "false : seen",
    test: {
      file: `${test}/Context.test.ts`,
      title: "refuses promise code as well, which has no context to show: policy"
    }
  },
  {
    name: "promise code does not show the context it is run in",
    clause: "CALL-32",
    file: `${src}/internal/faces.ts`,
    find: "Fiber.getCurrent()?.context ?? Context.empty()",
    replace: "Fiber.getCurrent === undefined ? Context.empty() : Context.empty()",
    test: { file: `${test}/Context.test.ts`, title: "refuses promise code that an effect with another policy runs" }
  },
  {
    name: "a policy that another registry has counts as lost",
    clause: "CALL-32",
    file: `${src}/internal/wiring.ts`,
    find: "    provisions.taken.add(value)\n",
    replace: "",
    test: { file: `${test}/Context.test.ts`, title: "serves promise code where a policy was taken up" }
  }
]
