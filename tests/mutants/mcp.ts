/** The mutants of `packages/mcp`. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/mcp/src"
const test = "packages/mcp/test"
const stdio = `${test}/StdioServer.test.ts`
const http = `${test}/HttpServer.test.ts`
const clients = `${test}/Client.test.ts`
const attached = `${test}/Attach.test.ts`

const requests: ReadonlyArray<Mutant> = [
  {
    name: "a cancel is left to the SDK",
    clause: "MCP-01",
    file: `${src}/internal/connection.ts`,
    find: `Message.isNotification(message) && message.method === "notifications/cancelled"`,
    replace: `Message.isNotification(message) && message.method === "notifications/none"`,
    test: { file: stdio, title: "2025-11-25 > sends nothing more for a cancelled request, whose body is interrupted" }
  },
  {
    name: "what a handler says of a cancelled request is sent",
    clause: "MCP-01",
    file: `${src}/internal/connection.ts`,
    find:
      "      if (Message.isRequest(message)) throw new Error(\"the request that this is about is over\")\n      return",
    replace: "      return this.#wire.send(message, options)",
    test: { file: stdio, title: "lets no handler speak of a cancelled request" }
  },
  {
    name: "progress under the token of a cancelled request is sent",
    clause: "MCP-01",
    file: `${src}/internal/connection.ts`,
    find: `return this.inFlight.liveByToken(params?.["progressToken"]) === undefined ? undefined : message`,
    replace: "return message",
    test: { file: stdio, title: "lets no handler speak of a cancelled request" }
  },
  {
    name: "`initialize` can be cancelled",
    clause: "MCP-01",
    file: `${src}/internal/inFlight.ts`,
    find: ` || entry.method === "initialize"`,
    replace: "",
    test: { file: stdio, title: "does not let `initialize` be cancelled" }
  },
  {
    name: "the SDK is given the ids as they are",
    clause: ["MCP-01", "MCP-02"],
    file: `${src}/internal/inFlight.ts`,
    find: "new Entry(`q${++this.#keys}`, request)",
    replace: "new Entry(`${request.id}`, request)",
    test: { file: stdio, title: "2025-11-25 > tells 0, '', '0', 1 and '1' apart" }
  },
  {
    name: "an id that is in flight is taken again",
    clause: "MCP-02",
    file: `${src}/internal/inFlight.ts`,
    find: "return known === undefined || (known.cancelled && Message.isStateless(request))",
    replace: "return known !== null",
    test: { file: stdio, title: "2025-11-25 > refuses an id that is in flight, and the first is unharmed" }
  },
  {
    name: "a client of an old revision can have an id twice",
    clause: "MCP-02",
    file: `${src}/internal/inFlight.ts`,
    find: "(known.cancelled && Message.isStateless(request))",
    replace: "known.cancelled",
    test: { file: stdio, title: "2025-11-25 > knows whether the id of a cancelled request" }
  },
  {
    name: "a client of a stateless revision waits for what it has forgotten",
    clause: "MCP-02",
    file: `${src}/internal/inFlight.ts`,
    find: " || (known.cancelled && Message.isStateless(request))",
    replace: "",
    test: { file: stdio, title: "2026-07-28 > knows whether the id of a cancelled request" }
  },
  {
    name: "old work frees the id of newer work",
    clause: "MCP-02",
    file: `${src}/internal/inFlight.ts`,
    find: "if (this.#byId.get(entry.id) === entry) this.#byId.delete(entry.id)",
    replace: "this.#byId.delete(entry.id)",
    test: { file: stdio, title: "2026-07-28 > knows whether the id of a cancelled request" }
  },
  {
    name: "a transport of HTTP sees an id twice",
    clause: "MCP-02",
    file: `${src}/HttpServer.ts`,
    find: "if (taken !== undefined) {",
    replace: "if (taken === null) {",
    test: { file: http, title: "refuses an id that is in flight, and the first keeps its stream" }
  },
  {
    name: "a handler that the SDK starts late runs",
    clause: "MCP-08",
    file: `${src}/internal/tools.ts`,
    find: "if (arrived !== undefined && signal.aborted) inFlight.cancelEntry(arrived, causeOf(signal.reason))",
    replace: "",
    test: { file: attached, title: "do not start when they are cancelled, and end when the connection does" }
  },
  {
    name: "an attached server keeps the ids of what it has answered",
    clause: "MCP-02",
    file: `${src}/internal/bind.ts`,
    find: "    settled?.()\n",
    replace: "",
    test: { file: attached, title: "have an id again once it is answered" }
  },
  {
    name: "the connection forgets what was cancelled before it began, and takes it for new",
    clause: "MCP-08",
    file: `${src}/internal/bind.ts`,
    find: "({ inFlight, key: mcpReq.id })",
    replace: "({ inFlight, key: inFlight.live(mcpReq.id)?.key ?? inFlight.accept(mcpReq)?.key })",
    test: { file: stdio, title: "2025-11-25 > does not start the body of a call that is cancelled in the same chunk" }
  }
]

const ends: ReadonlyArray<Mutant> = [
  {
    name: "a stdio server does not wait for its calls",
    clause: "MCP-03",
    file: `${src}/StdioServer.ts`,
    find: "Effect.timeoutOption(inFlight.whenQuiet, grace)",
    replace: "Effect.timeoutOption(Effect.void, grace)",
    test: { file: stdio, title: "2025-11-25 > cancels everything at the end of its input" }
  },
  {
    name: "the exit grace is not kept",
    clause: "MCP-03",
    file: `${src}/StdioServer.ts`,
    find: "Effect.timeoutOption(inFlight.whenQuiet, grace)",
    replace: "Effect.asSome(inFlight.whenQuiet)",
    test: { file: stdio, title: "2025-11-25 > names what is not quiet after the exit grace" }
  },
  {
    name: "an HTTP server is closed before its calls are quiet",
    clause: "MCP-03",
    file: `${src}/HttpServer.ts`,
    find: "yield* Effect.forEach(open, ({ inFlight }) => inFlight.whenQuiet, { discard: true })",
    replace: "",
    test: { file: http, title: "2025-11-25 > ends streams when it is closed" }
  },
  {
    name: "a session is deleted before its calls are quiet",
    clause: "MCP-03",
    file: `${src}/internal/session.ts`,
    find: "await session.quiet()",
    replace: "",
    test: { file: http, title: "is deleted when its calls are quiet" }
  },
  {
    name: "a deletion does not say that it is one",
    clause: ["MCP-03", "MCP-06"],
    file: `${src}/internal/session.ts`,
    find: "this.connection.shut(Cancelled.sessionDeleted())",
    replace: "this.connection.shut(Cancelled.connectionClosed())",
    test: { file: http, title: "is deleted when its calls are quiet" }
  },
  {
    name: "an attached server lets go of its calls",
    clause: "MCP-03",
    file: `${src}/internal/connection.ts`,
    find: "connection.inFlight.whenQuiet",
    replace: "Effect.void",
    test: { file: attached, title: "an McpServer of 2.x > are cancelled with the connection" }
  },
  {
    name: "a dropped connection cancels in every revision",
    clause: "MCP-04",
    file: `${src}/HttpServer.ts`,
    find: "if (options.dropped === \"cancel\") cancel(Cancelled.connectionClosed())",
    replace: "cancel(Cancelled.connectionClosed())",
    test: { file: http, title: "2025-11-25 > knows what a dropped connection means" }
  },
  {
    name: "a dropped connection is not heard of",
    clause: "MCP-04",
    file: `${src}/internal/exchanges.ts`,
    find: "[request.signal, () => end(Cancelled.connectionClosed())]",
    replace: "[undefined, () => end(Cancelled.connectionClosed())]",
    test: { file: http, title: "2026-07-28 > knows what a dropped connection means" }
  },
  {
    name: "the stream of a cancelled call stays open",
    clause: "MCP-04",
    file: `${src}/internal/session.ts`,
    find: "this.#transport.closeSSEStream(id)",
    replace: "",
    test: { file: http, title: "ends the stream of a cancelled call, also while its body goes on" }
  },
  {
    name: "a cancel without a session is taken for one",
    clause: "MCP-04",
    file: `${src}/HttpServer.ts`,
    find: "if (methods.includes(\"notifications/cancelled\")) {",
    replace: "if (methods.includes(\"notifications/none\")) {",
    test: { file: http, title: "finds the call of a cancel in the same session only" }
  },
  {
    name: "late failures reach the client",
    clause: "MCP-05",
    file: `${src}/internal/connection.ts`,
    find: "const entry = this.inFlight.answer(message.id)\n      if (entry === undefined) return",
    replace:
      "const entry = this.inFlight.answer(message.id)\n      if (entry === undefined) return this.#wire.send(message, options)",
    test: {
      file: `${test}/internal/connection.test.ts`,
      title: "sends no answer and no error of a server that does not care"
    }
  },
  {
    name: "the end of a connection is told as the client's wish",
    clause: "MCP-06",
    file: `${src}/internal/connection.ts`,
    find: "this.inFlight.close(Cancelled.connectionClosed())",
    replace: "this.inFlight.close(Cancelled.byClient(undefined))",
    test: { file: stdio, title: "2025-11-25 > tells a body who wanted it to stop" }
  },
  {
    name: "the reason of a host is replaced",
    clause: ["MCP-06", "MCP-10"],
    file: `${src}/internal/exchanges.ts`,
    find: "[signal, end]",
    replace: "[signal, () => end(Cancelled.connectionClosed())]",
    test: { file: http, title: "2026-07-28 > cancels a call by the signal of its host" }
  },
  {
    name: "a host that has given up already is served",
    clause: ["MCP-10", "MCP-08"],
    file: `${src}/HttpServer.ts`,
    find: "if (handling.signal?.aborted === true || request.signal.aborted) return HttpResponse.gone()",
    replace: "",
    test: { file: http, title: "2025-11-25 > starts nothing for a host whose signal has aborted" }
  }
]

const moments: ReadonlyArray<Mutant> = [
  {
    name: "an abort is lost before the transport has handed its requests on",
    clause: "MCP-10",
    file: `${src}/internal/session.ts`,
    find: "if (cancelled !== undefined) this.connection.cancel(id, cancelled.cause)",
    replace: "if (cancelled === null) this.#posts.clear()",
    test: { file: http, title: "2025-11-25 > hears of an abort at every moment" }
  },
  {
    name: "an abort is lost while the request is read",
    clause: "MCP-10",
    file: `${src}/internal/httpRequest.ts`,
    find: "if (signal?.aborted === true) listener()",
    replace: "",
    test: { file: http, title: "2026-07-28 > hears of an abort at every moment" }
  }
]

const proxies: ReadonlyArray<Mutant> = [
  {
    name: "what the SDK says of an abort is taken for a failure",
    clause: "MCP-07",
    file: `${src}/internal/proxy.ts`,
    find: "throw signal.aborted ? signal.reason : error",
    replace: "throw error",
    test: { file: clients, title: "are cancelled by exactly one notification" }
  },
  {
    name: "a cancelled call is told to be over on the other side",
    clause: "MCP-07",
    file: `${src}/internal/proxy.ts`,
    find: "Effect.sync(() => call.declareResidue(unproven(name)))",
    replace: "Effect.void",
    test: { file: clients, title: "tell the server of a timeout as of a cancel" }
  },
  {
    name: "the server is not told",
    clause: "MCP-07",
    file: `${src}/internal/proxy.ts`,
    find: "        signal,\n        // Time is the registry's",
    replace: "        // Time is the registry's",
    test: { file: clients, title: "drop an answer that is late" }
  },
  {
    name: "progress does not count as a sign of life",
    clause: "MCP-07",
    file: `${src}/internal/proxy.ts`,
    find: "silence?.pulse()",
    replace: "",
    test: { file: clients, title: "have a deadline for silence" }
  }
]

/** What is written, and nobody reads. */
const unread = `${test}/Unread.test.ts`
const others = `${test}/Answers.test.ts`

const floods: ReadonlyArray<Mutant> = [
  {
    name: "a client that does not read is served all the same",
    clause: "MCP-11",
    file: `${src}/internal/connection.ts`,
    find: "this.#held.size > 0 || this.#wire.full === true ? this.#hold(entry, pass) : pass()",
    replace: "pass()",
    test: {
      file: unread,
      title: "2025-11-25 > is kept so much of and no more, can cancel, and is served when it reads"
    }
  },
  {
    name: "requests that were held back go on all at once",
    clause: "MCP-11",
    file: `${src}/internal/connection.ts`,
    find:
      "      setImmediate(() => {\n        this.#releasing = false\n        this.#release()\n      })\n      pass()\n",
    replace: "      this.#releasing = false\n      pass()\n      this.#release()\n",
    test: {
      file: unread,
      title: "2026-07-28 > is kept so much of and no more, can cancel, and is served when it reads"
    }
  },
  {
    name: "requests that are held back cannot be cancelled",
    clause: ["MCP-01", "MCP-08"],
    file: `${src}/internal/connection.ts`,
    find: "    const entry = this.inFlight.cancel(id, cause)\n    if (entry === undefined) return\n",
    replace:
      "    if (this.#held.size > 0) return\n    const entry = this.inFlight.cancel(id, cause)\n    if (entry === undefined) return\n",
    test: {
      file: unread,
      title: "2025-11-25 > is kept so much of and no more, can cancel, and is served when it reads"
    }
  },
  {
    name: "what is read of a client that does not read has no bound",
    clause: "MCP-11",
    file: `${src}/internal/stdioWire.ts`,
    find: "this.#backlog > maxUnreadBytes ||",
    replace: "",
    test: { file: unread, title: "2025-11-25 > is read so much of and no more" }
  },
  {
    name: "refusals for a client that does not read have no bound",
    clause: "MCP-11",
    file: `${src}/internal/stdioWire.ts`,
    find: " || this.#output.writableLength > 2 * maxUnreadBytes",
    replace: "",
    test: { file: unread, title: "2025-11-25 > is told that what it wrote is no message no more often" }
  },
  {
    name: "progress is reported to a client that does not read",
    clause: "MCP-11",
    file: `${src}/internal/stdioWire.ts`,
    find: "if (this.full && Message.isProgress(message)) return",
    replace: "",
    test: { file: unread, title: "asked for, in 2026-07-28 > is told of progress as far as it reads" }
  },
  {
    name: "progress is reported to a response that nobody reads",
    clause: "MCP-11",
    file: `${src}/internal/unread.ts`,
    find: "if (this.#events >= maxEvents) return false",
    replace: "",
    test: { file: unread, title: "over HTTP, in 2025-11-25 > is told of progress as far as it reads" }
  },
  {
    name: "an exchange reports progress to a response that nobody reads",
    clause: "MCP-11",
    file: `${src}/internal/exchanges.ts`,
    find: "if (Message.isProgress(message)) return unread.report() ? message : undefined\n",
    replace: "",
    test: { file: unread, title: "over HTTP, in 2026-07-28 > is told of progress as far as it reads" }
  },
  {
    name: "a client that is stuck keeps its calls",
    clause: "MCP-03",
    file: `${src}/internal/stdioWire.ts`,
    find: "Effect.sync(() => this.#failed(new Error(\"the peer does not read\")))",
    replace: "Effect.void",
    test: { file: unread, title: "2025-11-25 > counts as gone when it takes nothing for a minute" }
  },
  {
    name: "each call that ends asks all the others",
    clause: "MCP-03",
    file: `${src}/internal/inFlight.ts`,
    find: "if (this.#working > 0) return",
    replace: "if (this.working.length > 0) return",
    test: { file: `${test}/internal/inFlight.test.ts`, title: "are quiet as soon as the last of thousands is" }
  },
  {
    name: "what a handler asks without naming its request is nobody's",
    clause: "MCP-04",
    file: `${src}/internal/connection.ts`,
    find: "(Message.isRequest(message) ? this.#asker() : undefined)",
    replace: "undefined",
    test: { file: others, title: "comes with the response of the request that it is asked for" }
  },
  {
    name: "a handler of a cancelled request can ask its client something",
    clause: "MCP-01",
    file: `${src}/internal/connection.ts`,
    find: "return cancelled || this.inFlight.live(key) !== undefined ? key : undefined",
    replace: "return this.inFlight.live(key) !== undefined ? key : undefined",
    test: { file: stdio, title: "lets no handler speak of a cancelled request" }
  },
  {
    name: "who asked waits for an answer that cannot be said",
    clause: "MCP-11",
    file: `${src}/internal/message.ts`,
    find: "return refusal(id, errorCodes.internal, \"Internal error: the answer is not JSON\")",
    replace: "return answer",
    test: { file: others, title: "is told as an error to whoever waits for it, over stdio" }
  },
  {
    name: "an exchange over HTTP says what its handler answers, whatever it is",
    clause: "MCP-11",
    file: `${src}/internal/exchanges.ts`,
    find: "Message.isResponse(message) && !inFlight.worked ? Message.sayable(message, message.id!) : message",
    replace: "message",
    test: { file: others, title: "is told as an error to whoever waits for it, over HTTP in 2026-07-28" }
  }
]

const limits: ReadonlyArray<Mutant> = [
  {
    name: "an answer that is too long is waited for",
    clause: "MCP-07",
    file: `${src}/ClientStdio.ts`,
    find: "return frame.kind === \"answer\" && Message.isId(frame.id)",
    replace: "return frame.kind === \"call\" && Message.isId(frame.id)",
    test: {
      file: "packages/mcp/test/Processes.test.ts",
      title: "does not wait for another answer where one was too long"
    }
  },
  {
    name: "what a program writes is looked at however deeply it is nested",
    clause: "MCP-11",
    file: `${src}/ClientStdio.ts`,
    find: "maxDepth: Message.maxDepth }",
    replace: "maxDepth: Number.MAX_SAFE_INTEGER }",
    test: {
      file: "packages/mcp/test/Processes.test.ts",
      title: "passes over what is no message, however deeply it is nested"
    }
  },
  {
    name: "a server does not end before its client has read",
    clause: "MCP-03",
    file: `${src}/StdioServer.ts`,
    find: "    Effect.runFork(Effect.andThen(Effect.sleep(\"1 second\"), Effect.sync(() => process.exit(code))))\n",
    replace: "",
    test: { file: "packages/mcp/test/Processes.test.ts", title: "ends at the end of its input all the same" }
  },
  {
    name: "a malformed line is dropped without a word",
    clause: "MCP-11",
    file: `${src}/internal/stdioWire.ts`,
    find: "return this.#refuse(null, \"parse\", \"the line is not JSON\")",
    replace: "return",
    test: { file: stdio, title: "2026-07-28 > refuses what is no message, and lives" }
  },
  {
    name: "a queue is no queue",
    clause: "MCP-11",
    file: `${src}/internal/tools.ts`,
    find: "return (execute) => semaphore.withPermit(execute)",
    replace: "return (execute) => execute",
    test: { file: stdio, title: "2025-11-25 > queues what is beyond its bound" }
  },
  {
    name: "what is beyond the bound waits, and was to be refused",
    clause: "MCP-11",
    file: `${src}/internal/tools.ts`,
    find: "if (excess === \"queue\") return",
    replace: "if (excess !== undefined) return",
    test: { file: stdio, title: "2025-11-25 > refuses what is beyond its bound, where it is told to" }
  }
]

export const mcp: ReadonlyArray<Mutant> = [...requests, ...ends, ...moments, ...proxies, ...floods, ...limits]
