/** The mutants of `packages/acp`. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/acp/src"
const test = "packages/acp/test"
const cancels = `${test}/Cancel.test.ts`
const guards = `${test}/Guard.test.ts`
const closes = `${test}/Close.test.ts`
const asks = `${test}/Outgoing.test.ts`
const agents = `${test}/AcpAgent.test.ts`
const sdk = `${test}/Sdk.test.ts`
const connection = `${src}/internal/connection.ts`
const serving = `${src}/internal/serving.ts`
const incoming = `${src}/internal/incoming.ts`
const outgoing = `${src}/internal/outgoing.ts`
const answer = `${src}/internal/answer.ts`

const cancelling: ReadonlyArray<Mutant> = [
  {
    name: "a cancel meets every request",
    clause: "ACP-01",
    file: connection,
    find: "(entry) => entry.id === id,",
    replace: "() => true,",
    test: { file: cancels, title: "cancels the request it names and no other" }
  },
  {
    name: "ids are compared as texts",
    clause: "ACP-01",
    file: connection,
    find: "(entry) => entry.id === id,",
    replace: "(entry) => String(entry.id) === String(id),",
    test: { file: cancels, title: "tells ids of different types apart" }
  },
  {
    name: "what a handler asks the peer is not asked to stop",
    clause: "ACP-01",
    file: outgoing,
    find: "      this.#cancel(pending)\n      return Effect.timeoutOption",
    replace: "      return Effect.timeoutOption",
    test: { file: cancels, title: "cancels what is nested under the request" }
  },
  {
    name: "a cancelled request tells what its handler failed with",
    clause: "ACP-02",
    file: answer,
    find: "if (isCancelled || Cause.hasInterruptsOnly(exit.cause))",
    replace: "if (Cause.hasInterruptsOnly(exit.cause))",
    test: { file: cancels, title: "whatever its handler fails with then" }
  },
  {
    name: "a cancelled prompt is an error",
    clause: "ACP-02",
    file: answer,
    find: `  "session/prompt": { stopReason: "cancelled" },\n`,
    replace: "",
    test: { file: cancels, title: "of `session/prompt` says so by its stop reason" }
  },
  {
    name: "a request is answered when it is cancelled, and not when it is quiet",
    clause: "ACP-02",
    file: serving,
    find: "    fiber.addObserver((exit) => {",
    replace: `    signal.addEventListener("abort", () => done(cancelled(method)))\n    fiber.addObserver((exit) => {`,
    test: { file: cancels, title: "and not before its handler has ended" }
  },
  {
    name: "a deadline is a failure like any other",
    clause: "ACP-03",
    file: answer,
    find: "if (isInternalCancellation(error)) return cancelled(method, { details: messageOf(error) })",
    replace: "void isInternalCancellation",
    test: { file: cancels, title: "is answered as one that the client cancelled" }
  },
  {
    name: "there can be any number of requests",
    clause: "ACP-03",
    file: connection,
    find: "this.#incoming.size > maxRequests",
    replace: "this.#incoming.size > Infinity * maxRequests",
    test: { file: cancels, title: "since there are too many does not start" }
  },
  {
    name: "a request that comes while the connection closes is begun",
    clause: "ACP-03",
    file: connection,
    find: "if (this.#ending !== undefined) entry.controller.abort",
    replace: "if (this.#ending?._tag === \"Failed\") entry.controller.abort",
    test: { file: cancels, title: "since the connection closes, as is one that comes then" }
  },
  {
    name: "whoever waits for quiescence is told before the answer is sent",
    clause: "ACP-03",
    file: incoming,
    find: `    // Whoever waits for quiescence goes on at once, and takes it that what there was to send is on its way.
    send()
    if (this.#live.size === 0 && this.#idle !== undefined) {
      Deferred.doneUnsafe(this.#idle, Effect.void)
      this.#idle = undefined
    }`,
    replace: `    if (this.#live.size === 0 && this.#idle !== undefined) {
      Deferred.doneUnsafe(this.#idle, Effect.void)
      this.#idle = undefined
    }
    send()`,
    test: { file: cancels, title: "since the connection closes, as is one that comes then" }
  },
  {
    name: "frames are acted on one by one",
    clause: "ACP-10",
    file: connection,
    find: `    for (const message of frames.filter((frame) => this.#enter(frame))) {
      switch`,
    replace: `    for (const message of frames) {
      if (!this.#enter(message)) continue
      switch`,
    test: { file: "tests/races/races.test.ts", title: "a request that comes with its cancel" }
  }
]

const sessions: ReadonlyArray<Mutant> = [
  {
    name: "session/cancel cancels no prompt",
    clause: "ACP-04",
    file: connection,
    find: `entry.method === "session/prompt" && entry.sessionId === sessionId`,
    replace: `entry.method === "session/cancel" && entry.sessionId === sessionId`,
    test: { file: agents, title: "stops the turn, sends its updates, and then answers" }
  },
  {
    name: "session/cancel meets every session",
    clause: "ACP-04",
    file: connection,
    find: `entry.method === "session/prompt" && entry.sessionId === sessionId`,
    replace: `entry.method === "session/prompt"`,
    test: { file: agents, title: "of another session, or of none, changes nothing" }
  },
  {
    name: "session/cancel does not reach what no turn asked",
    clause: "ACP-04",
    file: connection,
    find: "      this.#outgoing.cancelSession(sessionId)\n",
    replace: "",
    test: { file: agents, title: "cascades to a request of the session that no turn asked" }
  },
  {
    name: "clean-up is cancelled with the session",
    clause: "ACP-04",
    file: outgoing,
    find: `pending.sessionId === sessionId && pending.whenCancelled !== "finish"`,
    replace: "pending.sessionId === sessionId",
    test: { file: agents, title: "cascades to a request of the session that no turn asked" }
  },
  {
    name: "a question that is closed waits for the client",
    clause: "ACP-04",
    file: `${src}/Permission.ts`,
    find: `{ whenCancelled: "leave" }`,
    replace: `{ whenCancelled: "wait" }`,
    test: { file: agents, title: "resolves a pending permission here" }
  },
  {
    name: "a prompt is answered before its client is told of all of it",
    clause: "ACP-04",
    file: `${src}/internal/conversation.ts`,
    find: "hearing === undefined ? Effect.void : Fiber.await(hearing)",
    replace: "hearing === undefined ? Effect.void : Effect.void",
    test: { file: agents, title: "stops the turn, sends its updates, and then answers" }
  },
  {
    name: "a silent client is waited for as long as it is silent",
    clause: "ACP-04",
    file: outgoing,
    find: "Effect.timeoutOption(Effect.option(Deferred.await(pending.answer)), grace)",
    replace: "Effect.timeoutOption(Effect.option(Deferred.await(pending.answer)), 1e9)",
    test: { file: asks, title: "is left when the grace is over" }
  },
  {
    name: "turns of a session overlap",
    clause: "ACP-08",
    file: `${src}/internal/sessions.ts`,
    find: "turns: Semaphore.makeUnsafe(1)",
    replace: "turns: Semaphore.makeUnsafe(9)",
    test: { file: agents, title: "can be cancelled while it waits, and then never begins" }
  }
]

const guarding: ReadonlyArray<Mutant> = [
  {
    name: "an id can be used twice at once",
    clause: "ACP-05",
    file: incoming,
    find: "    if (this.#live.has(id)) return undefined\n",
    replace: "",
    test: { file: guards, title: "is refused, and the first is unharmed" }
  },
  {
    name: "a connection is closed when its requests are asked to stop",
    clause: "ACP-06",
    file: connection,
    find: "      yield* whenQuiet(this.#incoming, this.#outgoing, this.#limits.grace)\n",
    replace: "",
    test: { file: closes, title: "ends when all are quiet and answered, where it is closed" }
  },
  {
    name: "the end of the input cancels nothing",
    clause: "ACP-06",
    file: connection,
    find: "    this.#incoming.cancel(() => true, new RequestCancelled(byEnding(ending)))\n",
    replace: "",
    test: { file: closes, title: "answers what it was asked by somebody who only stopped asking" }
  },
  {
    name: "a peer that has hung up is waited for",
    clause: "ACP-06",
    file: connection,
    find: "    if (ending._tag !== \"Closed\") this.#outgoing.close()\n    Effect.runForkWith",
    replace: "    Effect.runForkWith",
    test: { file: closes, title: "whose client hangs up does not wait for its answers" }
  },
  {
    name: "a handler that waits for room keeps the connection from closing",
    clause: "ACP-06",
    file: connection,
    find: "    this.#wire.hurry()\n",
    replace: "",
    test: { file: agents, title: "whose client does not read ends all the same" }
  },
  {
    name: "a request is cancelled again and again",
    clause: "ACP-07",
    file: outgoing,
    find: "if (pending.cancelled || !this.#pending.has(pending.id)) return",
    replace: "if (!this.#pending.has(pending.id)) return",
    test: { file: asks, title: "that was started can be cancelled without giving up its answer" }
  },
  {
    name: "a request that was answered is cancelled",
    clause: "ACP-07",
    file: outgoing,
    find: "if (pending.cancelled || !this.#pending.has(pending.id)) return",
    replace: "if (pending.cancelled) return",
    test: { file: asks, title: "that was answered is not cancelled any more" }
  },
  {
    name: "whoever is interrupted leaves the answer",
    clause: "ACP-07",
    file: outgoing,
    find: `whenCancelled === "wait" ? this.end(pending)`,
    replace: `whenCancelled === "finish" ? this.end(pending)`,
    test: { file: asks, title: "that is interrupted sends one notification, and waits for the answer" }
  },
  {
    name: "something is told for a request that is answered",
    clause: "ACP-08",
    file: `${src}/internal/peer.ts`,
    find: "      if (isOver()) return Effect.logDebug",
    replace: "      if (method === \"\") return Effect.logDebug",
    test: { file: guards, title: "has nothing sent for it, by whatever it left behind" }
  },
  {
    name: "a promise function is given a signal of nobody's",
    clause: "ACP-09",
    file: `${src}/Handler.ts`,
    find: "handle(params, { ...request, signal })",
    replace: "handle(params, { ...request, signal: signal.aborted ? signal : new AbortController().signal })",
    test: { file: sdk, title: "cancels handlers that are effects and handlers that are promises" }
  }
]

const faulty: ReadonlyArray<Mutant> = [
  {
    name: "an answer that is too long is nobody's",
    clause: "ACP-08",
    file: `${src}/internal/frames.ts`,
    find: `kind === "answer" ? "InvalidResponse"`,
    replace: `kind === "neither" ? "InvalidResponse"`,
    test: { file: guards, title: "since it is too long fails the request it is to" }
  },
  {
    name: "a request that is too long is refused without its id",
    clause: "ACP-08",
    file: `${src}/internal/frames.ts`,
    find: "id: isId(id) ? id : undefined",
    replace: "id: kind === \"answer\" && isId(id) ? id : undefined",
    test: { file: guards, title: "that is too long, with an id at its end" }
  },
  {
    name: "an error that throws when it is looked at leaves its request without an answer",
    clause: "ACP-02",
    file: answer,
    find: `    return failed(error)
  } catch {
`,
    replace: `    return failed(error)
  } catch (error) {
    if (method !== "") throw error
`,
    test: { file: guards, title: "where it is a defect that throws when it is looked at" }
  },
  {
    name: "an answer has no result where that says it is nothing",
    clause: "ACP-08",
    file: `${src}/internal/wire.ts`,
    find: `    if ("error" in message) return`,
    replace: `    if (id !== undefined) return`,
    test: { file: guards, title: "where it is a result that is a function" }
  },
  {
    name: "any number of notifications is kept",
    clause: "ACP-08",
    file: connection,
    find: "this.#lanes.load.bytes <= this.#limits.maxUnheardBytes",
    replace: "this.#lanes.load.bytes <= this.#limits.maxUnheardBytes * Infinity",
    test: { file: guards, title: "are not read faster than listeners take them" }
  },
  {
    name: "listeners that do not go on are waited for",
    clause: "ACP-06",
    file: connection,
    find: "if (Option.isNone(progress)) this.#end",
    replace: "if (Option.isNone(progress) && this.#ending !== undefined) this.#end",
    test: { file: guards, title: "that no listener takes end the connection" }
  },
  {
    name: "a session is not heard any more behind a failure that cannot be told",
    clause: "ACP-08",
    file: serving,
    find: "      Effect.catchCause(() => Effect.void)\n",
    replace: "      Effect.catchTag(\"None\", () => Effect.void)\n",
    test: { file: guards, title: "are handled behind one whose failure cannot even be told" }
  },
  {
    name: "what ends by itself is not told",
    clause: "ACP-06",
    file: `${src}/internal/sdk.ts`,
    find: "  void connection.closed.then(() => host.lost(connection.signal.reason))\n",
    replace: "",
    test: { file: `${test}/Router.test.ts`, title: "answers all its requests when they are quiet" }
  },
  {
    name: "a transport that dies is taken for one that works",
    clause: "ACP-06",
    file: connection,
    find: "if (Cause.hasInterruptsOnly(cause)) return Effect.void",
    replace: "if (!Cause.hasFails(cause)) return Effect.void",
    test: { file: closes, title: "whose transport dies ends" }
  },
  {
    name: "a transport that fails when it begins ends a connection that is not there",
    clause: "ACP-06",
    file: connection,
    find: "run(Effect.andThen(Effect.yieldNow, Effect.catchCause(this.#read, this.#fail(\"read\"))))",
    replace: "run(Effect.catchCause(this.#read, this.#fail(\"read\")))",
    test: { file: closes, title: "whose transport fails ends" }
  },
  {
    name: "a peer that is silent is waited for when the connection closes",
    clause: "ACP-06",
    file: `${src}/internal/patience.ts`,
    find: "              outgoing.giveUp(asked)\n",
    replace: "",
    test: { file: closes, title: "that closes does not wait for a peer that is silent" }
  },
  {
    name: "a frame that arguments are in may be no deeper than arguments are",
    clause: "ACP-08",
    file: `${src}/internal/frames.ts`,
    find: "const maxDepth = 1024",
    replace: "const maxDepth = 512",
    test: { file: guards, title: "with arguments as deep as the core takes them is read" }
  },
  {
    name: "a program is killed by the end of its terminal",
    clause: "ACP-06",
    file: `${src}/Stdio.ts`,
    find: "[\"SIGINT\", \"SIGTERM\", \"SIGHUP\"]",
    replace: "[\"SIGINT\", \"SIGTERM\"]",
    test: { file: `${test}/Stdio.test.ts`, title: "that is asked to end by SIGHUP" }
  },
  {
    name: "a program does not end before its client has read",
    clause: "ACP-06",
    file: `${src}/Stdio.ts`,
    find: "    if (process.stdout.writableLength > 0) process.exit()\n",
    replace: "",
    test: {
      file: `${test}/Stdio.test.ts`,
      title: "whose client does not read ends all the same, once its grace is over"
    }
  },
  {
    name: "a terminal of a client that is gone is nobody's",
    clause: "ACP-04",
    file: `${src}/ClientTerminal.ts`,
    find: "PeerGone: () => lost })",
    replace: "PeerGone: () => Effect.void })",
    test: { file: `${test}/Capabilities.test.ts`, title: "whose terminal is not known, since the client is gone" }
  },
  {
    name: "extensions take the place of an agent's own methods",
    clause: "ACP-09",
    file: `${src}/AcpAgent.ts`,
    find: "{ ...options.handlers, ...own }",
    replace: "{ ...own, ...options.handlers }",
    test: { file: agents, title: "goes on beside extensions, which are cancelled like any request" }
  },
  {
    name: "session/cancel meets what ends a terminal",
    clause: "ACP-04",
    file: `${src}/ClientTerminal.ts`,
    find: `{ whenCancelled: "finish" }`,
    replace: `{ whenCancelled: "wait" }`,
    test: { file: `${test}/Capabilities.test.ts`, title: "is killed and released when the turn is cancelled" }
  }
]

export const acp: ReadonlyArray<Mutant> = [...cancelling, ...sessions, ...guarding, ...faulty]
