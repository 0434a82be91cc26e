/** The mutants of `packages/core` against CALL-01 to CALL-22: one call, from its arguments to its result. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/core/src"
const test = "packages/core/test"

export const callMutants: ReadonlyArray<Mutant> = [
  {
    name: "a result is published twice",
    clause: "CALL-01",
    file: `${src}/internal/registry.ts`,
    find: "    this.observers.settled(call, result)\n",
    replace: "    this.observers.settled(call, result)\n    this.observers.settled(call, result)\n",
    test: { file: `${test}/Stages.test.ts`, title: "an outcome decided by the body > which stages run" }
  },
  {
    name: "-0 is taken for 0",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "return Object.is(value, -0) ? refuse(walk, \"the number -0\") : value",
    replace: "return value",
    test: { file: `${test}/Materialize.test.ts`, title: "materialize > -0 is refused, with its path" }
  },
  {
    name: "513 levels pass",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "walk.path.length >= maxDepth",
    replace: "walk.path.length > maxDepth",
    test: { file: `${test}/Materialize.test.ts`, title: "arguments may be 512 levels deep" }
  },
  {
    name: "a shared reference counts once",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "const copyArray = (value: ReadonlyArray<unknown>, walk: Walk): Json => {\n",
    replace:
      "const seen = new WeakSet<object>()\nconst copyArray = (value: ReadonlyArray<unknown>, walk: Walk): Json => {\n  if (seen.has(value)) return []\n  seen.add(value)\n",
    test: { file: `${test}/Materialize.test.ts`, title: "a shared reference counts each time" }
  },
  {
    name: "`__proto__` sets a prototype",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "key === \"__proto__\"",
    replace: "false",
    test: { file: `${test}/Materialize.test.ts`, title: "`__proto__` is a key like any other" }
  },
  {
    name: "what another realm calls plain is refused",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "(Object.getPrototypeOf(prototype) === null && isIntrinsic(prototype, Object))",
    replace: "false",
    test: { file: `${test}/Materialize.test.ts`, title: "plain objects and arrays of another realm" }
  },
  {
    name: "the copy of the arguments can be changed",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "    else result[key] = child\n  }\n  return Object.freeze(result)",
    replace: "    else result[key] = child\n  }\n  return result",
    test: { file: `${test}/Materialize.test.ts`, title: "JSON reaches policy and body unchanged" }
  },
  {
    name: "finalizeContent is looked up when it is needed",
    clause: "CALL-02",
    file: `${src}/internal/pipeline.ts`,
    find: "call.launched?.definition.finalizeContent",
    replace: "call.registry.lookup(call.pending.name)?.definition.finalizeContent",
    test: { file: `${test}/Materialize.test.ts`, title: "finalizeContent is the one of the tool that was visible" }
  },
  {
    name: "a call that was cancelled before is not told that its arguments are no JSON",
    clause: "CALL-03",
    file: `${src}/internal/pipeline.ts`,
    find: "    // It wins over a cancellation that was there before (CALL-03).\n    return Outcome.notJson(thrown)\n",
    replace:
      "    call.listen()\n    return call.cancellation === undefined ? Outcome.notJson(thrown) : Outcome.aborted(call)\n",
    test: { file: `${test}/Materialize.test.ts`, title: "a materialization failure wins over a cancellation" }
  },
  {
    name: "a pre-aborted call begins",
    clause: "CALL-04",
    file: `${src}/internal/pipeline.ts`,
    find: "  return call.cancellation === undefined ? undefined : Outcome.aborted(call)\n",
    replace: "  return undefined\n",
    test: {
      file: `${test}/PreAborted.test.ts`,
      title: "a call made through executePromise with an aborted signal > is over at once, whatever its tool"
    }
  },
  {
    name: "the fiber that its own arguments interrupt makes its call all the same",
    clause: "CALL-04",
    file: `${src}/internal/caller.ts`,
    find: "    return this.#launcher !== undefined && isInterruptionPending(this.#launcher)\n",
    replace:
      "    return this.#launcher !== undefined && isInterruptionPending(this.#launcher) && this.#subscription !== undefined\n",
    test: { file: `${test}/PreAborted.test.ts`, title: "execute > a call that its own arguments cancel" }
  },
  {
    name: "a body is invoked although a wrapper has just cancelled the call",
    clause: "CALL-05",
    file: `${src}/internal/dispatch.ts`,
    find: "    if (cancellation === undefined) call.track(work)\n    else work.interrupt(cancellation)\n",
    replace: "    call.track(work)\n",
    test: {
      file: `${test}/BeforeDispatch.test.ts`,
      title: "start > a wrapper that cancels the call and delegates where nothing can interrupt it"
    }
  },
  {
    name: "a wrapper that interrupts the caller's fiber is not heard before the journal",
    clause: ["CALL-05", "CALL-34"],
    file: `${src}/internal/dispatch.ts`,
    find: "    call.hear()\n    const work = make()",
    replace: "    const work = make()",
    test: {
      file: `${test}/Journal.test.ts`,
      title: "is not written for a call whose wrapper has just interrupted the caller's fiber"
    }
  },
  {
    name: "a waiting stage is not interrupted",
    clause: "CALL-06",
    file: `${src}/internal/pipeline.ts`,
    find: "Effect.exit(Effect.interruptible(call.withServices(stage)))",
    replace: "Effect.exit(call.withServices(stage))",
    test: {
      file: `${test}/BeforeDispatch.test.ts`,
      title: "start > cancelled in pre-policy > the stage is interrupted at once"
    }
  },
  {
    name: "a run of `next` that a wrapper left is interrupted and not awaited",
    clause: "CALL-07",
    file: `${src}/internal/dispatch.ts`,
    find: "  return Effect.flatMap(quiescence(inner), conclude)\n",
    replace: "  return conclude()\n",
    test: {
      file: `${test}/Quiescence.test.ts`,
      title: "a wrapper that detaches it and answers itself > the run is interrupted and awaited"
    }
  },
  {
    name: "a wrapper may leave a run of `next` behind",
    clause: "CALL-07",
    file: `${src}/internal/dispatch.ts`,
    find: "    return Effect.onExit(run, (exit) => settle(level, exit, fiber))",
    replace: "    return fiber && settle ? run : run",
    test: {
      file: `${test}/Quiescence.test.ts`,
      title: "a wrapper that detaches it and fails > the run is interrupted and awaited"
    }
  },
  {
    name: "a wrapper that has settled can still start the body",
    clause: "CALL-07",
    file: `${src}/internal/dispatch.ts`,
    find: "if (level.over) return",
    replace: "if (false) return",
    test: {
      file: `${test}/Quiescence.test.ts`,
      title: "one that runs `next` after it has settled, inside one that has not"
    }
  },
  {
    name: "a result is published while a child fiber of a stage is alive",
    clause: "CALL-07",
    file: `${src}/internal/pipeline.ts`,
    find: "  return () => call.registry.publish(call, finalize(call, outcome))",
    replace: "  const result = call.registry.publish(call, finalize(call, outcome))\n  return () => result",
    test: {
      file: `${test}/Quiescence.test.ts`,
      title: "a child fiber that a stage leaves running > of a wrapper is interrupted"
    }
  },
  {
    name: "the contexts of a cancelled call are dropped",
    clause: "CALL-08",
    file: `${src}/internal/call.ts`,
    find: "    return this.bodyContexts.length + this.wrapperContexts.length === 0\n",
    replace: "    return this.cancellation !== undefined\n",
    test: {
      file: `${test}/Quiescence.test.ts`,
      title: "start > a body that is a promise function > cancelled after it was invoked"
    }
  },
  {
    name: "an abort that the body passes on is a failure of it",
    clause: "CALL-09",
    file: `${src}/internal/work.ts`,
    find: "thrown.filter((it) => !isAbort(it, cancellation.abortReason))",
    replace: "thrown",
    test: { file: `${test}/Precedence.test.ts`, title: "a body that rejects with an error named AbortError" }
  },
  {
    name: "a failure that a skipped handler dropped is forgotten",
    clause: "CALL-09",
    file: `${src}/internal/failure.ts`,
    find: "return found.length === 0 ? dropped : found",
    replace: "return found",
    test: {
      file: `${test}/Precedence.test.ts`,
      title: "of the body, inside `mapError`, which is skipped > stays the outcome, as it is: promise"
    }
  },
  {
    name: "a failure that a timeout or a race dropped is forgotten",
    clause: "CALL-09",
    file: `${src}/internal/dispatch.ts`,
    find: "Effect.failCause(dropped(inner, fiber))",
    replace: "Effect.void",
    test: {
      file: `${test}/Precedence.test.ts`,
      title: "of the body, inside `Effect.timeout` > stays the outcome, as it is: promise"
    }
  },
  {
    name: "a failure that a handler recovered from comes back",
    clause: "CALL-09",
    file: `${src}/internal/tie.ts`,
    find: "  while (at.awaitedBy !== fiber) {\n",
    replace: "  if (at.awaitedBy === fiber) return causeOf(at.exit)\n  while (at.awaitedBy !== fiber) {\n",
    test: {
      file: `${test}/Precedence.test.ts`,
      title: "recovered from by `catchCause` in one > has been handled, and what is left is the cancellation: effect"
    }
  },
  {
    name: "a failure that a handler around a deadline recovered from comes back",
    clause: "CALL-09",
    file: `${src}/internal/tie.ts`,
    find: "if (around?.exit === undefined) {",
    replace: "if (true) {",
    test: {
      file: `${test}/Precedence.test.ts`,
      title: "recovered from outside a deadline > has been handled, and what is left is the cancellation: effect"
    }
  },
  {
    name: "a failure that promise code recovered from comes back",
    clause: "CALL-09",
    file: `${src}/Wrapper.ts`,
    find: "for (const inner of runs) inner.awaitedBy = fiber",
    replace: "",
    test: {
      file: `${test}/Precedence.test.ts`,
      title: "recovered from by a promise wrapper > has been handled, and what is left is the cancellation: promise"
    }
  },
  {
    name: "a deadline that is to be passed on by an interrupted fiber is forgotten",
    clause: "TIME-02",
    file: `${src}/internal/work.ts`,
    find: "around === undefined ? Failure.fail(error) : Failure.late(around, error)",
    replace: "Failure.fail(error)",
    test: { file: `${test}/Precedence.test.ts`, title: "which came first, inside `mapError`" }
  },
  {
    name: "a deadline inside what a timeout interrupts is forgotten",
    clause: "TIME-02",
    file: `${src}/internal/tie.ts`,
    find: "failedLate = around.failedLate || (",
    replace: "failedLate = (",
    test: { file: `${test}/Precedence.test.ts`, title: "which came first, inside `Effect.timeout`" }
  },
  {
    name: "a late denial of a promise function is a value",
    clause: "CALL-09",
    file: `${src}/Policy.ts`,
    find: "          if (decision._tag === \"Denied\") throw decision\n",
    replace: "",
    test: { file: `${test}/Precedence.test.ts`, title: "a denial of a promise function stays" }
  },
  {
    name: "post-policy is cut short",
    clause: "CALL-10",
    file: `${src}/internal/pipeline.ts`,
    find: "yield* Effect.exit(reviewing)",
    replace: "yield* Effect.exit(Effect.interruptible(reviewing))",
    test: { file: `${test}/Precedence.test.ts`, title: "one that accepts after the cancel replaces only a success" }
  },
  {
    name: "a cancel while post-policy reviews comes too late",
    clause: "CALL-10",
    file: `${src}/internal/pipeline.ts`,
    find: "Outcome.unlessCancelled(call, outcome)",
    replace: "outcome",
    test: { file: `${test}/Precedence.test.ts`, title: "a cancel counts until it returns" }
  },
  {
    name: "a call counts as dispatched once it is admitted",
    clause: "CALL-11",
    file: `${src}/internal/pipeline.ts`,
    find: "  call.admission.tell(call.cancellation === undefined)\n",
    replace: "  call.admission.tell(call.cancellation === undefined)\n  call.dispatched = true\n",
    test: {
      file: `${test}/Stages.test.ts`,
      title: "an outcome decided by a cancel while a wrapper waits > which stages run"
    }
  },
  {
    name: "a cancel reaches only what the call's own fiber awaits interruptibly",
    clause: "CALL-12",
    file: `${src}/internal/call.ts`,
    find: "    for (let index = this.works.length - 1; index >= 0; index--) to.push(this.works[index]!)\n",
    replace: "",
    test: {
      file: `${test}/WrapperCancellation.test.ts`,
      title: "a wrapper cannot take the caller's cancellation away > by running `next` uninterruptibly"
    }
  },
  {
    name: "a wrapper's cancellation stops at an inner wrapper that is uninterruptible",
    clause: "CALL-12",
    file: `${src}/internal/work.ts`,
    find: "      if (Ward.isInside(inner.outer, this)) to.push(inner)\n",
    replace: "      if (Ward.isInside(inner.outer, this)) void inner\n",
    test: {
      file: `${test}/WrapperCancellation.test.ts`,
      title:
        "an operational signal of an outer wrapper > reaches the body also where an inner one runs `next` uninterruptibly"
    }
  },
  {
    name: "what a wrapper added outlives what it delegated",
    clause: "CALL-12",
    file: `${src}/internal/work.ts`,
    find: "    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)\n",
    replace: "",
    test: {
      file: `${test}/WrapperCancellation.test.ts`,
      title: "a wrapper that adds withCancel > leaves no listener on its source"
    }
  },
  {
    name: "a wrapper that interrupts is taken for the caller",
    clause: "CALL-13",
    file: `${src}/internal/outcome.ts`,
    find: "return byWrapper ? abortedBy(call, \"Wrapper\") : aborted(call, cause)",
    replace: "return aborted(call, cause)",
    test: {
      file: `${test}/WrapperCancellation.test.ts`,
      title: "a wrapper that interrupts itself instead of delegating"
    }
  },
  {
    name: "a body that interrupts itself is taken for a wrapper's doing",
    clause: "CALL-13",
    file: `${src}/internal/outcome.ts`,
    find: " && !hasQuit(call)",
    replace: "",
    test: {
      file: `${test}/WrapperCancellation.test.ts`,
      title: "a body that interrupts itself was not cancelled by a wrapper"
    }
  },
  {
    name: "what a wrapper answers is not checked",
    clause: "CALL-14",
    file: `${src}/internal/value.ts`,
    find: "begin(() => entry.definition.success.decode(copied))",
    replace: "Effect.succeed(copied)",
    test: { file: `${test}/Wrapper.test.ts`, title: "what the schema refuses is INVALID_OUTPUT" }
  },
  {
    name: "runs of `next` overlap",
    clause: "CALL-15",
    file: `${src}/internal/dispatch.ts`,
    find: "if (running === undefined || running.exit !== undefined) {",
    replace: "if (running === undefined || true) {",
    test: { file: `${test}/Wrapper.test.ts`, title: "an overlapping run (detached and again) is refused" }
  },
  {
    name: "an overlapping run is refused before the first is quiet",
    clause: "CALL-15",
    file: `${src}/internal/dispatch.ts`,
    find: "        quiescence(running),\n",
    replace: "        Effect.void,\n",
    test: { file: `${test}/Wrapper.test.ts`, title: "an overlapping run (all at once) is refused" }
  },
  {
    name: "the refusal of an overlapping run names nobody",
    clause: "CALL-15",
    file: `${src}/internal/dispatch.ts`,
    find: "name: wrapper.name || \"an anonymous wrapper\"",
    replace: "name: \"an anonymous wrapper\"",
    test: { file: `${test}/Wrapper.test.ts`, title: "the refusal of one part of a composed wrapper names that part" }
  },
  {
    name: "each call has a listener of its own",
    clause: "CALL-16",
    file: `${src}/internal/signalHub.ts`,
    find: "hubs.get(signal) ?? open(signal)",
    replace: "open(signal)",
    test: { file: `${test}/Listeners.test.ts`, title: "aborted with many calls on it, all hear of it once" }
  },
  {
    name: "a forged event cancels",
    clause: "CALL-16",
    file: `${src}/internal/signalHub.ts`,
    find: "  if (!hub.signal.aborted) return\n",
    replace: "",
    test: { file: `${test}/Listeners.test.ts`, title: "on a signal that is not aborted cancels nothing" }
  },
  {
    name: "the listener goes after the caller has looked",
    clause: "CALL-16",
    file: `${src}/internal/registry.ts`,
    find: "    call.deafen()\n    this.#watch.remove(call)\n    this.inFlight.delete(call)\n",
    replace: "    setImmediate(() => call.deafen())\n    this.#watch.remove(call)\n    this.inFlight.delete(call)\n",
    test: { file: `${test}/Listeners.test.ts`, title: "has no listener of ours when the caller can look" }
  },
  {
    name: "a falsy reason is replaced",
    clause: "CALL-17",
    file: `${src}/internal/cancellation.ts`,
    find: "      return reason.cause\n",
    replace: "      return reason.cause || abortError(\"aborted\")\n",
    test: { file: `${test}/Reasons.test.ts`, title: "is the caller's own, unchanged: an empty string" }
  },
  {
    name: "the last cancellation is the reason",
    clause: "CALL-17",
    file: `${src}/internal/call.ts`,
    find: "if (this.over || this.cancellation !== undefined) return undefined\n    this.cancellation",
    replace: "if (this.over) return undefined\n    this.cancellation",
    test: { file: `${test}/Reasons.test.ts`, title: "wins: what comes later changes neither the signal" }
  },
  {
    name: "an interrupter does not wait for the body",
    clause: "CALL-18",
    file: `${src}/internal/faces.ts`,
    find: "return Effect.callback((resume) => call.exit.observe(() => resume(Effect.void)))",
    replace: "return Effect.void",
    test: { file: `${test}/Caller.test.ts`, title: "while the body runs: the interrupter waits" }
  },
  {
    name: "only the first issue is told",
    clause: "CALL-19",
    file: `${src}/internal/shape.ts`,
    find: "{ errors: \"all\" }",
    replace: "{ errors: \"first\" }",
    test: { file: `${test}/Schemas.test.ts`, title: "are INVALID_ARGUMENTS with every issue and its path" }
  },
  {
    name: "an unknown tool is refused before the policy has seen its name",
    clause: "CALL-19",
    file: `${src}/internal/pipeline.ts`,
    find: "  return call.cancellation === undefined ? undefined : Outcome.aborted(call)\n",
    replace:
      "  if (call.cancellation === undefined && call.entry === undefined) return Outcome.unknownTool(call.pending.name)\n  return call.cancellation === undefined ? undefined : Outcome.aborted(call)\n",
    test: { file: `${test}/Schemas.test.ts`, title: "is UNKNOWN_TOOL once pre-policy has seen the name" }
  },
  {
    name: "a failure whose finalizeContent throws keeps the content it had",
    clause: "CALL-20",
    file: `${src}/internal/pipeline.ts`,
    find: "{ ...outcome, content: undefined }",
    replace: "outcome",
    test: { file: `${test}/Schemas.test.ts`, title: "a function that throws > as `finalizeContent` of a failure" }
  },
  {
    name: "content is read twice",
    clause: "CALL-20",
    file: `${src}/internal/outcome.ts`,
    find: "    return Object.freeze({ type, text })",
    replace: "    return Object.freeze({ type, text: part!.text as string })",
    test: { file: `${test}/Schemas.test.ts`, title: "what it answers is read once" }
  },
  {
    name: "a thrown value is asked what it is, and throws",
    clause: "CALL-21",
    file: `${src}/internal/thrown.ts`,
    find: "  try {\n    return value instanceof type\n  } catch {\n    return false\n  }\n",
    replace: "  return value instanceof type\n",
    test: {
      file: `${test}/Faults.test.ts`,
      title: "thrown: a Proxy that throws on inspection > is a failure of that one call"
    }
  },
  {
    name: "a body that returns no effect is handled unlike any other",
    clause: "CALL-31",
    file: `${src}/internal/foreign.ts`,
    find:
      "    return Effect.isEffect(returned)\n      ? returned\n      : Effect.die(new TypeError(\"a function returned something that is no effect\"))",
    replace: "    return returned",
    test: {
      file: `${test}/Bodies.test.ts`,
      title: "an effect body that returns a promise is handled like any other, and nothing is left unhandled"
    }
  },
  {
    name: "post-policy reviews a wrapper's fault",
    clause: "CALL-22",
    file: `${src}/internal/pipeline.ts`,
    find: "if (Outcome.isFinal(outcome)) break",
    replace: "if (false) break",
    test: { file: `${test}/Stages.test.ts`, title: "an outcome decided by a wrapper that threw > which stages run" }
  },
  {
    name: "a question stays open when its call is cancelled",
    clause: "CALL-22",
    file: `${src}/Approval.ts`,
    find: "          return Effect.sync(() => open.delete(question))\n",
    replace: "",
    test: { file: `${test}/Stages.test.ts`, title: "an answer that comes after the cancel is refused as stale" }
  },
  {
    name: "a question can be taken back only when the operation that put it is over",
    clause: "CALL-22",
    file: `${src}/Approval.ts`,
    find: "          return Effect.sync(() => open.delete(question))\n        })",
    replace:
      "          let isPut = false\n          queueMicrotask(() => isPut = true)\n          return Effect.sync(() => isPut && open.delete(question))\n        })",
    test: {
      file: `${test}/Approval.queue.test.ts`,
      title: "closes a question whose call is cancelled by whoever is shown it, at once"
    }
  },
  {
    name: "a channel that fails allows",
    clause: "CALL-22",
    file: `${src}/internal/pipeline.ts`,
    find:
      "    if (answered._tag === \"Failure\") return Outcome.ofApproval(call, answered.cause)\n    const refused = Outcome.ofAnswer(call, answered.value)\n    if (refused",
    replace:
      "    const refused = answered._tag === \"Failure\" ? undefined : Outcome.ofAnswer(call, answered.value)\n    if (refused",
    test: { file: `${test}/Stages.test.ts`, title: "a channel that throws denies, with its own reason" }
  },
  {
    name: "an abort that another listener stopped is not noticed",
    clause: "CALL-05",
    file: `${src}/internal/caller.ts`,
    find: "    if (this.#signal?.aborted === true) return Cancellation.byCaller(this.#signal.reason)\n",
    replace:
      "    if (this.#subscription === undefined && this.#signal?.aborted === true) return Cancellation.byCaller(this.#signal.reason)\n",
    test: { file: `${test}/Listeners.test.ts`, title: "that stops the event: what waits is not told" }
  },
  {
    name: "what a wrapper's timeout dropped comes back at the cancel",
    clause: "CALL-09",
    file: `${src}/internal/work.ts`,
    find: "this.failedLate = around !== undefined && (",
    replace: "this.failedLate = (",
    test: { file: `${test}/Precedence.test.ts`, title: "is over when the call goes on" }
  },
  {
    name: "a signal that is derived too late is listened to for ever",
    clause: "CALL-16",
    file: `${src}/Wrapper.ts`,
    find: "if (work.over) SignalHub.release(derived)\n        else fused.push(derived)",
    replace: "fused.push(derived)",
    test: { file: `${test}/Wrapper.test.ts`, title: "derives a signal without a listener once it has settled" }
  },
  {
    name: "a signal that keeps its listener keeps its calls",
    clause: "CALL-16",
    file: `${src}/internal/signalHub.ts`,
    find: "  try {\n    hub.signal.removeEventListener(\"abort\", hub)\n  } catch {",
    replace: "  hub.signal.removeEventListener(\"abort\", hub)\n  try {\n  } catch {",
    test: { file: `${test}/SignalHub.test.ts`, title: "holds up nobody over a listener that cannot be removed" }
  },
  {
    name: "of several signals the first is listened to in vain",
    clause: "CALL-16",
    file: `${src}/internal/signalHub.ts`,
    find: "    release(fused)\n",
    replace: "",
    test: { file: `${test}/SignalHub.test.ts`, title: "listens to none of several signals" }
  },
  {
    name: "a call's answer goes to another of its label",
    clause: "CALL-33",
    file: `${src}/Approval.ts`,
    find: "if (which === token || which === callId) {",
    replace: "if (which === callId || typeof which !== \"string\") {",
    test: { file: `${test}/Approval.queue.test.ts`, title: "answers the question of a call, whatever" }
  },
  {
    name: "a question that was closed is shown to whoever lags",
    clause: "CALL-22",
    file: `${src}/Approval.ts`,
    find: "    if (!open.delete(question)) return false\n",
    replace: "",
    test: { file: `${test}/Approval.queue.test.ts`, title: "never shows a consumer that lags" }
  },
  {
    name: "a tracer that cancels at the start of the body comes too late",
    clause: "CALL-05",
    file: `${src}/internal/body.ts`,
    find: "    if (this.work.cancellation !== undefined) throw this.work.cancellation.abortReason\n",
    replace: "",
    test: {
      file: `${test}/Tracing.test.ts`,
      title: "of a body that is an promise > cancels the call when it hears of the body, through the registry"
    }
  },
  {
    name: "a tracer that interrupts the caller at the start of the body comes too late",
    clause: "CALL-05",
    file: `${src}/internal/body.ts`,
    find: "    call.hear()\n    if (this.work",
    replace: "    if (this.work",
    test: {
      file: `${test}/Tracing.test.ts`,
      title: "of a body that is an effect > cancels the call when it hears of the body, through the caller's fiber"
    }
  },
  {
    name: "whatever has no prototype but one that has none is plain",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find:
      "return typeof constructor === \"function\" && constructor.prototype === prototype && textOf(constructor) === textOf(own)",
    replace: "return constructor === undefined || typeof own === \"function\"",
    test: { file: `${test}/Materialize.test.ts`, title: "what looks like an object of another realm is refused" }
  },
  {
    name: "an optional field that is `undefined` is no JSON",
    clause: "CALL-20",
    file: `${src}/internal/json.ts`,
    find: "if (given === undefined && walk.absent) continue",
    replace: "",
    test: { file: `${test}/Schemas.test.ts`, title: "is absent from a success and from a failure" }
  },
  {
    name: "arguments may hold `undefined`",
    clause: "CALL-02",
    file: `${src}/internal/json.ts`,
    find: "if (given === undefined && walk.absent) continue",
    replace: "if (given === undefined) continue",
    test: { file: `${test}/Schemas.test.ts`, title: "is not JSON in an array, nor in arguments" }
  },
  {
    name: "a policy that cannot be looked at takes its registry along",
    clause: "CALL-21",
    file: `${src}/internal/build.ts`,
    find: "    return () => Effect.die(thrown)\n",
    replace: "    throw thrown\n",
    test: { file: `${test}/Faults.test.ts`, title: "whose `pre` throws when it is looked at" }
  },
  {
    name: "a policy's methods are no methods",
    clause: "CALL-23",
    file: `${src}/internal/composed.ts`,
    find: "[(call, result) => Reflect.apply(post, policy, [call, result])]",
    replace: "[post]",
    test: { file: `${test}/Faults.test.ts`, title: "keeps its methods, alone and in a sequence" }
  },
  {
    name: "a typed call gives its parameters as they stand",
    clause: "CALL-30",
    file: `${src}/internal/faces.ts`,
    find: "if (toJson === undefined) return make(parameters)",
    replace: "if (toJson !== null) return make(parameters)",
    test: { file: `${test}/Schemas.test.ts`, title: "whose parameters are no JSON as they stand" }
  },
  {
    name: "any JSON is no JSON as it stands",
    clause: "PROMISE-04",
    file: `${src}/internal/description.ts`,
    find: "(SchemaAST.isDeclaration(ast) && !isCanonical(ast))",
    replace: "SchemaAST.isDeclaration(ast)",
    test: { file: `${test}/Tool.test.ts`, title: "nor is one beside any JSON" }
  }
]
