/** The mutants of `packages/core` against BRIDGE and TIME: signals, promises and deadlines. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/core/src"
const work = `${src}/internal/work.ts`
const tie = `${src}/internal/tie.ts`
const hub = `${src}/internal/signalHub.ts`
const deadline = `${src}/internal/deadline.ts`
const idle = `${src}/internal/idle.ts`
const iterator = `${src}/internal/idleIterator.ts`

/** A test of a file in `packages/core/test`. */
const by = (file: string, title: string): Mutant["test"] => ({ file: `packages/core/test/${file}.test.ts`, title })

/** A race, explored as on every run of the tests. */
const race = (title: string): Mutant["test"] => ({ file: "tests/races/races.test.ts", title })

export const bridgeMutants: ReadonlyArray<Mutant> = [
  // Promises
  {
    name: "an interrupted promise is abandoned",
    clause: "BRIDGE-01",
    file: tie,
    find: "return halt(work) as Effect.Effect<void>",
    replace: "return Effect.sync(() => work.interrupt(Cancellation.interrupted))",
    test: by(
      "Abortable",
      "Abortable.promise > when interrupted, aborts the signal and waits until the promise has settled"
    )
  },
  {
    name: "an interrupted promise is waited for and not told",
    clause: "BRIDGE-01",
    file: work,
    find: "    this.#controller?.abort(cancellation.abortReason)\n",
    replace: "",
    test: by(
      "Abortable",
      "Abortable.promise > when interrupted, aborts the signal and waits until the promise has settled"
    )
  },
  {
    name: "a late rejection is dropped",
    clause: "BRIDGE-01",
    file: work,
    find: "      late.length === 0\n",
    replace: "      late.length >= 0\n",
    test: by("Abortable", "Abortable.promise > keeps beside the interruption: an error of another name")
  },
  {
    name: "the abort itself is a failure",
    clause: "BRIDGE-01",
    file: work,
    find: "thrown.filter((it) => !isAbort(it, cancellation.abortReason))",
    replace: "thrown",
    test: by("Abortable", "Abortable.promise > takes for the abort itself: the signal's reason")
  },
  {
    name: "an abort is not looked for among causes",
    clause: "BRIDGE-01",
    file: `${src}/internal/thrown.ts`,
    find: "    current = read(current, \"cause\")\n",
    replace: "    current = undefined\n",
    test: by("Abortable", "Abortable.promise > takes for the abort itself: an abort eight causes deep")
  },
  {
    name: "an abort is looked for among causes without end",
    clause: "BRIDGE-01",
    file: `${src}/internal/thrown.ts`,
    find: "const maxCauses = 8",
    replace: "const maxCauses = 9",
    test: by("Abortable", "Abortable.promise > keeps beside the interruption: an abort nine causes deep")
  },
  {
    name: "a failure in the starting operation is replaced by the interrupt that is pending",
    clause: "BRIDGE-01",
    file: tie,
    find: "} else if (work.exit._tag === \"Success\") {",
    replace: "} else if (work.cancellation === undefined) {",
    test: by(
      "Abortable",
      "Abortable.promise > keeps the failure of a promise function that throws as it interrupts its own fiber"
    )
  },
  {
    name: "a wake-up is lost: whoever asks after the end waits for ever",
    clause: "BRIDGE-02",
    file: tie,
    find:
      "    work.exit !== undefined\n      ? Effect.succeed(work.exit)\n      : Effect.callback((resume) => {\n        const observer = (exit: Exit.Exit<A, E>) => resume(Effect.succeed(exit))\n        work.observe(observer)\n",
    replace:
      "    Effect.callback((resume) => {\n        const observer = (exit: Exit.Exit<A, E>) => resume(Effect.succeed(exit))\n        if (work.exit === undefined) work.observe(observer)\n",
    test: race("a promise that succeeds while its fiber is interrupted is awaited, and what it rejects with is kept")
  },
  {
    name: "a promise is started before anything waits for it",
    clause: ["BRIDGE-02", "BRIDGE-01"],
    file: tie,
    find: `  Effect.withFiber((fiber) =>
    Effect.callback<A, E>((resume) => {
      const work = make(fiber.context)
      work.awaitedBy = fiber
      work.start(fiber.context)
`,
    replace: `  Effect.flatMap(
    Effect.withFiber((fiber) => {
      const work = make(fiber.context)
      work.awaitedBy = fiber
      work.start(fiber.context)
      return Effect.succeed([fiber, work] as const)
    }),
    ([fiber, work]) =>
    Effect.callback<A, E>((resume) => {
`,
    test: race("a promise that aborts while its fiber is interrupted is awaited, and what it rejects with is kept")
  },

  // Signals to fibers
  {
    name: "an abort between looking and listening is lost",
    clause: ["BRIDGE-02", "BRIDGE-03"],
    file: work,
    find: "      if (signal.aborted) {\n",
    replace: "      if (this.exit !== undefined) {\n",
    test: race("an abort between looking and listening is heard")
  },
  {
    name: "an effect starts although its signal is aborted, and is then interrupted",
    clause: "BRIDGE-03",
    file: work,
    find: "        return this.settle(Exit.interrupt())\n      }\n      this.#subscription",
    replace: "      }\n      this.#subscription",
    test: by("Abortable", "Abortable.interruptOn > does not start an effect whose signal is aborted already")
  },
  {
    name: "the listener is left when the effect ends by itself",
    clause: "BRIDGE-03",
    file: work,
    find: "    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)\n",
    replace: "",
    test: by("Abortable", "Abortable.interruptOn > leaves no listener when the effect succeeds later")
  },
  {
    name: "a success that comes while the abort is on its way is handed out",
    clause: ["BRIDGE-03", "BRIDGE-07"],
    file: work,
    find: "if (source?.signal.aborted === true) this.cancellation ??= source.cancellation(source.signal.reason)",
    replace: "",
    test: by(
      "Abortable",
      "an abort that is kept from us > drops the success of an effect that an earlier listener let succeed"
    )
  },
  {
    name: "runPromise rejects as soon as its signal aborts",
    clause: "BRIDGE-04",
    file: `${src}/Abortable.ts`,
    find: "      work.start(context as Context.Context<never>)\n",
    replace: "      signal.addEventListener(\"abort\", () => reject(signal.reason))\n" +
      "      work.start(context as Context.Context<never>)\n",
    test: by("Abortable", "Abortable.runPromise > settles once the finalizers have run, and not before")
  },
  {
    name: "runPromise rejects with an error of its own",
    clause: "BRIDGE-04",
    file: `${src}/Abortable.ts`,
    find: "reject(signal.reason)",
    replace: "reject(Cause.squash(exit.cause))",
    test: by(
      "Abortable",
      "Abortable.runPromise > rejects with the signal's own reason when only the abort happened: null"
    )
  },
  {
    name: "runPromise lets the signal's reason replace a failure",
    clause: "BRIDGE-04",
    file: `${src}/Abortable.ts`,
    find: "else if (work.cancellation !== undefined && Cause.hasInterruptsOnly(exit.cause))",
    replace: "else if (work.cancellation !== undefined)",
    test: by("Abortable", "Abortable.runPromise > otherwise rejects with the failure or the defect")
  },
  {
    name: "every body costs a controller",
    clause: "BRIDGE-05",
    file: work,
    find: "    this.owner = options.owns\n",
    replace: "    this.owner = options.owns\n    void this.signal\n",
    test: by(
      "BodySignal",
      "a body that is a promise function > costs nothing to a body that does not look, however it ends"
    )
  },
  {
    name: "a signal that is looked at after the cancel never aborts",
    clause: "BRIDGE-05",
    file: work,
    find: "      if (this.cancellation !== undefined) this.#controller.abort(this.cancellation.abortReason)\n",
    replace: "",
    test: by(
      "BodySignal",
      "a promise function > looked at only after the cancel, is aborted already, for the cancel's reason"
    )
  },
  {
    name: "a reason of null is taken for none",
    clause: "BRIDGE-03",
    file: `${src}/Abortable.ts`,
    find: "cancellation === undefined ? Cancellation.abortError(\"the scope was closed\") : cancellation.abortReason",
    replace: "cancellation?.abortReason ?? Cancellation.abortError(\"the scope was closed\")",
    test: by("Abortable", "Abortable.signal > shows the reason of the work it was made in: null")
  },

  // Signals to signals
  {
    name: "a fused signal is AbortSignal.any",
    clause: "BRIDGE-06",
    file: hub,
    find: "  const controller = new AbortController()\n  const aborted = signals.find",
    replace: "  return { signal: AbortSignal.any([...signals]), subscriptions: [] }\n" +
      "  const controller = new AbortController()\n  const aborted = signals.find",
    test: by("Abortable", "Abortable.fuse > needs neither AbortSignal.any nor AbortSignal.timeout")
  },
  {
    name: "a fused signal takes its reason in the order of the list",
    clause: "BRIDGE-06",
    file: hub,
    find: "subscribe(signal, (reason) => controller.abort(reason))",
    replace: "subscribe(signal, () => {\n" +
      "      void Promise.resolve().then(() => controller.abort(signals.find((it) => it.aborted)?.reason))\n    })",
    test: by("Abortable", "Abortable.fuse > takes the reason of the first to abort in time, not in the list")
  },
  {
    name: "a fused signal listens longer than its scope",
    clause: "BRIDGE-06",
    file: hub,
    find: "subscriptions.forEach(unsubscribe)",
    replace: "void subscriptions",
    test: by("Abortable", "Abortable.fuse > listens once to each signal, and no longer than its scope")
  },
  {
    name: "who was removed during an abort is told of it",
    clause: "BRIDGE-07",
    file: hub,
    find: "for (let subscription = hub.first; subscription !== undefined; subscription = hub.first) {",
    replace: "const all: Array<Subscription> = []\n" +
      "  for (let it = hub.first; it !== undefined; it = it.next) all.push(it)\n  for (const subscription of all) {",
    test: by("SignalHub", "does not notify whom an earlier subscriber of the same abort removed")
  },
  {
    name: "a subscriber that throws keeps the others from being told",
    clause: "BRIDGE-07",
    file: hub,
    find: "      thrown ??= { value }\n",
    replace: "      throw value\n",
    test: by("SignalHub", "notifies everybody, though one of them throws, and reports what it threw")
  },
  {
    name: "an effect that aborts its own signal before it waits is not interrupted",
    clause: "BRIDGE-07",
    file: work,
    find: "      this.fiber = fiber as Fiber.Fiber<A, unknown>\n",
    replace: "      void fiber\n",
    test: by(
      "Abortable",
      "re-entrancy > an effect that aborts its own signal before it first waits is interrupted there"
    )
  },
  {
    name: "a derived signal is held by nobody but whoever derived it",
    clause: "BRIDGE-08",
    file: hub,
    find: "for (const signal of signals) subscriptions.push(subscribe(signal, (reason) => controller.abort(reason)))",
    replace: "const subscribeTo = ((held: WeakRef<AbortController>) => (signal: AbortSignal) =>\n" +
      "      subscribe(signal, (reason) => held.deref()?.abort(reason)))(new WeakRef(controller))\n" +
      "    for (const signal of signals) subscriptions.push(subscribeTo(signal))",
    test: by("Garbage", "a derived signal aborts with its source, for the same reason: fuse")
  },
  {
    name: "what is over is held by the signal that outlives it",
    clause: "BRIDGE-08",
    file: hub,
    find: "  if (!subscription.active) return\n",
    replace:
      "  Reflect.set(subscription.hub.signal, Symbol(), subscription.onAbort)\n  if (!subscription.active) return\n",
    test: by("Garbage", "a signal that lives on keeps nothing of what is over: runPromise")
  },

  // Deadlines
  {
    name: "a deadline races: it fails while the work runs on",
    clause: "TIME-01",
    file: work,
    find: "if (exit._tag === \"Success\") this.interrupt(expiry.cancellation)\n",
    replace: "if (exit._tag !== \"Success\") return\n        this.interrupt(expiry.cancellation)\n" +
      "        if (this.exit === undefined) this.#settled(Exit.interrupt())\n",
    test: by("Deadline", "Deadline.within > notifies at its time and fails when the work is quiet")
  },
  {
    name: "a deadline counts by the platform's timers",
    clause: ["TIME-01", "BRIDGE-06"],
    file: deadline,
    find: "return clock.sleep(elapsed === 0 ? timeout : Duration.millis(Duration.toMillis(timeout) - elapsed))",
    replace: "return Effect.callback((resume) => {\n" +
      "    const timer = setTimeout(() => resume(Effect.void), Duration.toMillis(timeout) - elapsed)\n" +
      "    return Effect.sync(() => clearTimeout(timer))\n  })",
    test: by("Deadline", "Deadline.within > notifies at its time and fails when the work is quiet")
  },
  {
    name: "a deadline in the clean-up of cancelled work does not count",
    clause: "TIME-01",
    file: work,
    find: "this.outer = Ward.cancellationOf(outer) === undefined ? outer : undefined",
    replace: "this.outer = outer",
    test: by("Deadline", "Deadline.within > bounds the clean-up of work that was cancelled: there it fires first")
  },
  {
    name: "work that is over still says why what outlives it is stopped",
    clause: "TIME-02",
    file: `${src}/internal/ward.ts`,
    find: "if (at.cancellation !== undefined && !at.over) return at.cancellation",
    replace: "if (at.cancellation !== undefined) return at.cancellation",
    test: by(
      "Deadline",
      "Deadline.within > counts in what outlives the work that started it, though that was cancelled"
    )
  },
  {
    name: "whatever stops the work, its deadline gets the blame",
    clause: "TIME-02",
    file: work,
    find: "if (cancellation === expiry?.cancellation) {",
    replace: "if (expiry !== undefined) {",
    test: by("Deadline", "Deadline.within > is no failure of work that something else stopped first")
  },
  {
    name: "the last cause counts",
    clause: "TIME-02",
    file: work,
    find: "if (this.cancellation !== undefined || this.exit !== undefined) return",
    replace: "if (this.exit !== undefined) return",
    test: by("Deadline", "Deadline.within > the first cause counts within one tick: the deadline")
  },
  {
    name: "all deadlines are one",
    clause: "TIME-02",
    file: deadline,
    find: "return this.#cancellation ??= new",
    replace: "return (globalThis as { deadlines?: Cancellation.Cancellation }).deadlines ??= new",
    test: by("Deadline", "Deadline.within > is told from an inner one by identity, though both have one code")
  },
  {
    name: "what the work fails with after its deadline is lost",
    clause: "TIME-03",
    file: deadline,
    find: "late.length === 0 ? this.#alone : this.#make(late[0])",
    replace: "this.#alone",
    test: by("Deadline", "Deadline.within > keeps what the work fails with after it fired, and no more than that")
  },
  {
    name: "a success after the deadline is a success",
    clause: "TIME-03",
    file: work,
    find:
      "if (cancellation === undefined) return exit._tag === \"Success\" ? Exit.succeed(exit.value) : this.#fail(exit.cause)",
    replace: "if (exit._tag === \"Success\") return Exit.succeed(exit.value)\n" +
      "    if (cancellation === undefined) return this.#fail(exit.cause)",
    test: by(
      "Deadline.call",
      "calls by execute > however the body then ends it is TOOL_TIMEOUT, and its failure is the cause"
    )
  },
  {
    name: "what the work does before it first waits is not charged",
    clause: "TIME-04",
    file: work,
    find: "    const due = expiry?.begin(context)\n    this.run(context)\n",
    replace: "    this.run(context)\n    const due = expiry?.begin(context)\n",
    test: by("Deadline", "Deadline.within > charges what the work does before it first waits")
  },
  {
    name: "a promise that is settled when it is returned has a timer all the same",
    clause: "TIME-08",
    file: work,
    find: "    void turn.then(() => super.whileRunning(f))\n",
    replace: "    super.whileRunning(f)\n",
    test: by("Deadline.call", "sets no timer for a promise that is settled when it is returned")
  },
  {
    name: "a budget need not be finite",
    clause: "TIME-05",
    file: `${src}/Tool.ts`,
    find: "millis > 0 && millis <= 2 ** 31 - 1",
    replace: "millis > 0",
    test: by("Deadline.call", "a budget > is positive, finite and at most 2^31-1 ms, or the tool cannot be defined")
  },
  {
    name: "a budget is enforced only where Wrapper.timeout is listed",
    clause: "TIME-05",
    file: `${src}/internal/body.ts`,
    find: "if (timeout !== undefined && !listsTimeout) {",
    replace: "if (timeout !== undefined && listsTimeout) {",
    test: by(
      "Deadline.call",
      "deadlines of calls by execute > its time alone: TOOL_TIMEOUT, with the code and the budget"
    )
  },
  {
    name: "a requested timeout is not capped",
    clause: "TIME-06",
    file: `${src}/Deadline.ts`,
    find: "return Duration.min(requested === undefined ? filling : valid(\"requested\", requested), ceiling)",
    replace: "void ceiling\n  return requested === undefined ? filling : valid(\"requested\", requested)",
    test: by("Deadline", "Deadline.clamp > caps what is requested [")
  },
  {
    name: "a timeout need not be finite",
    clause: "TIME-06",
    file: `${src}/Deadline.ts`,
    find: "Duration.isFinite(duration) && Duration.isPositive(duration)",
    replace: "Duration.isPositive(duration)",
    test: by("Deadline", "Deadline.clamp > refuses a requested that is infinity [")
  },
  {
    name: "a timeout need not be positive",
    clause: "TIME-06",
    file: `${src}/Deadline.ts`,
    find: "Duration.isFinite(duration) && Duration.isPositive(duration)",
    replace: "Duration.isFinite(duration)",
    test: by("Deadline", "Deadline.clamp > refuses a max that is zero [")
  },
  {
    name: "a default is believed",
    clause: "TIME-06",
    file: `${src}/Deadline.ts`,
    find: "valid(\"default\", fallback)",
    replace: "Duration.fromInputUnsafe(fallback)",
    test: by("Deadline", "Deadline.clamp > refuses a default that is a negative number [")
  },
  {
    name: "a timer outlives its work",
    clause: "TIME-08",
    file: work,
    find: "    this.#timer?.interruptUnsafe()\n",
    replace: "",
    test: by("Deadline", "Deadline.within > passes on what ends in time, and disarms")
  },

  // Silence
  {
    name: "the pulls of a stream share one time",
    clause: "TIME-07",
    file: idle,
    find: "    this.#clock = Context.get(context, Clock.Clock)\n    this.pulse()\n",
    replace: "    if (this.#clock === undefined) {\n      this.#clock = Context.get(context, Clock.Clock)\n" +
      "      this.pulse()\n    }\n",
    test: by("Deadline.idle", "Deadline.idle > gives each pull the whole time, and passes on the end")
  },
  {
    name: "a pulse re-arms nothing",
    clause: "TIME-07",
    file: idle,
    find: "  pulse: () => guard.pulse()",
    replace: "  pulse: () => void guard",
    test: by("Deadline.idle", "Deadline.idle > counts from the last pulse of the pull, to the millisecond")
  },
  {
    name: "after a pulse the pull has the whole time again when its timer is due",
    clause: "TIME-07",
    file: idle,
    find: "        sleepSince(clock, lifeAt, this.#timeout),",
    replace: "        sleepSince(clock, now(clock), this.#timeout),",
    test: by("Deadline.idle", "Deadline.idle > counts from the last pulse of the pull, to the millisecond")
  },
  {
    name: "two pulls run at a time",
    clause: "TIME-07",
    file: idle,
    find: "    if (this.outstanding !== undefined) return false\n",
    replace: "",
    test: by("Deadline.idle", "Deadline.idle > refuses a second pull, and the first goes on with its own time")
  },
  {
    name: "a pull that is refused gives the first one more time",
    clause: "TIME-07",
    file: idle,
    find: "this.outstanding === undefined ? this.#begin(context) : Effect.never",
    replace: "this.#begin(context)",
    test: by("Deadline.idle", "Deadline.idle > refuses a second pull, and the first goes on with its own time")
  },
  {
    name: "the stream's signal hears nothing of its deadline",
    clause: "TIME-07",
    file: idle,
    find: "    if (this.#guard.outstanding === this) this.#guard.interrupt(cancellation)\n",
    replace: "",
    test: by(
      "Deadline.idle",
      "Deadline.idle > has one signal for the whole stream, and aborts it with what it fails with"
    )
  },
  {
    name: "a silent stream can be pulled again",
    clause: "TIME-07",
    file: idle,
    find: "    if (this.cancellation !== undefined) pull.interrupt(this.cancellation)\n",
    replace: "",
    test: by(
      "Deadline.idle",
      "Deadline.idle > is over once it fired: another pull fails as that one did, and pulls nothing"
    )
  },
  {
    name: "the stream cleans up before its signal has said so",
    clause: "TIME-07",
    file: idle,
    find: "Effect.andThen(guard.close, Scope.close(scope, exit))",
    replace: "Effect.andThen(Scope.close(scope, exit), guard.close)",
    test: by("Deadline.idle", "Deadline.idle > disarms and aborts its signal when the consumer has had enough")
  },
  {
    name: "a pull that fails after its deadline fails unheard",
    clause: "TIME-07",
    file: idle,
    find: "Effect.uninterruptibleMask((restore) => Pull.catchDone(restore(pull), () => Effect.undefined))",
    replace: "Pull.catchDone(pull, () => Effect.undefined)",
    test: by(
      "Deadline.idle",
      "Deadline.idle > keeps as cause what the pull fails with after it fired, and the end is no failure"
    )
  },
  {
    name: "an async iterable that is left is not cleaned up",
    clause: "TIME-07",
    file: iterator,
    find: "      await this.#source?.return?.()\n",
    replace: "",
    test: by(
      "Deadline.idle",
      "Deadline.idleIterable > left early, aborts the signal, lets the iterable clean up and leaves no listener"
    )
  },
  {
    name: "an async iterable rejects before it has cleaned up",
    clause: "TIME-07",
    file: iterator,
    find: "    await settled(this.#end())\n",
    replace: "    void settled(this.#end())\n",
    test: by("Deadline.idle", "Deadline.idleIterable > aborted between two pulls, pulls no more")
  },
  {
    name: "inside a call an async iterable counts by the time of day",
    clause: "TIME-07",
    file: iterator,
    find: "owner?.call.context ?? Context.empty()",
    replace: "Context.empty()",
    test: by("Deadline.idle", "Deadline.idleIterable > inside a call counts by the call's clock")
  }
]
