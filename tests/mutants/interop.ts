/** The mutants of `packages/interop`. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/interop/src"
const test = "packages/interop/test"
const faceTest = `${test}/Face.test.ts`
const ledgers = `${test}/Ledger.test.ts`
const aiSdk = `${test}/AiSdk.test.ts`
const aiSdkImport = `${test}/AiSdk.import.test.ts`
const effectAi = `${test}/EffectAi.test.ts`
const effectMcp = `${test}/EffectMcp.test.ts`
const openAi = `${test}/OpenAiAgents.test.ts`
const langChain = `${test}/LangChain.test.ts`

const faces: ReadonlyArray<Mutant> = [
  {
    name: "a host's signal is not the call's",
    clause: "PROMISE-02",
    file: `${src}/Face.ts`,
    find: "signal: signal ?? new AbortController().signal",
    replace: "signal: new AbortController().signal",
    test: { file: aiSdk, title: "ends at once, and whenIdle still tells the truth" }
  },
  {
    name: "a host's calls are not inside of the call that it runs in",
    clause: ["PROMISE-02", "CALL-26"],
    file: `${src}/Face.ts`,
    find: "face.execute({ ...input, parent: call })",
    replace: "face.execute({ ...input, parent: undefined, rootCallId: call } as typeof input)",
    test: { file: aiSdk, title: "has calls that end with that call" }
  },
  {
    name: "a body that waits for the calls of its host waits for itself",
    clause: ["PROMISE-02", "CALL-28"],
    file: `${src}/Face.ts`,
    find: "whenIdle: running.ended",
    replace: "whenIdle: () => face.whenIdle()",
    test: { file: faceTest, title: "waits for its own calls and not for that call: a registry" }
  },
  {
    name: "a model is shown what policies withheld",
    clause: "PROMISE-02",
    file: `${src}/Face.ts`,
    find: "super(textOf(result))",
    replace: "super(result.error.message)",
    test: { file: aiSdk, title: "shows of a failure what finalizeContent leaves of it" }
  },
  {
    name: "a model is shown the class of an error",
    clause: "PROMISE-02",
    file: `${src}/Face.ts`,
    find: "  override toString(): string {\n    return this.message\n  }",
    replace: "",
    test: { file: aiSdk, title: "shows of a failure what finalizeContent leaves of it" }
  },
  {
    name: "what a call deferred is not shown",
    clause: "PROMISE-02",
    file: `${src}/internal/shown.ts`,
    find: "  ...contexts.map(contextText)",
    replace: "  ...contexts.slice(contexts.length).map(contextText)",
    test: { file: aiSdk, title: "shows behind a result what its call deferred" }
  },
  {
    name: "a ledger does not wait for calls that begin during the wait",
    clause: "PROMISE-02",
    file: `${src}/internal/running.ts`,
    find: "while (running.size > 0) await",
    replace: "if (running.size > 0) await",
    test: { file: ledgers, title: "tells every call in the order they were made" }
  },
  {
    name: "a ledger keeps the host's own arguments",
    clause: "PROMISE-02",
    file: `${src}/Ledger.ts`,
    find: "arguments: given ?? null",
    replace: "arguments: given === undefined ? null : input.arguments as Draft[\"arguments\"]",
    test: { file: ledgers, title: "tells every call in the order they were made" }
  },
  {
    name: "a ledger tells other arguments than the call was given",
    clause: "PROMISE-02",
    file: `${src}/Ledger.ts`,
    find: "face.execute(given === undefined ? input : { ...input, arguments: given })",
    replace: "face.execute(input)",
    test: { file: ledgers, title: "are those that the call was given" }
  },
  {
    name: "a ledger tells arguments that were refused as if they were JSON",
    clause: "PROMISE-02",
    file: `${src}/internal/copied.ts`,
    find: "(prototype !== Object.prototype && prototype !== null) || ",
    replace: "",
    test: { file: ledgers, title: "are none where they are a Date" }
  },
  {
    name: "a ledger passes over what an array has besides its items",
    clause: "PROMISE-02",
    file: `${src}/internal/copied.ts`,
    find: "keys.length !== part.length || names !== keys.length + 1",
    replace: "false",
    test: { file: ledgers, title: "are none where they are an array with more than its items" }
  },
  {
    name: "a history is read to the end of what its arguments unfold to",
    clause: "PROMISE-02",
    file: `${src}/internal/copied.ts`,
    find: "      if (++nodes > maxNodes) throw new RangeError(\"too many values\")\n      return part",
    // Twenty times the bound is enough to see that there is none, and is read in a while.
    replace: "      if (++nodes > 20 * maxNodes) return undefined\n      return part",
    test: { file: ledgers, title: "may have arguments that unfold to too much" }
  },
  {
    name: "a late failure that nobody waits for ends the process",
    clause: "PROMISE-02",
    file: `${src}/Face.ts`,
    find: "  success.catch(() => {})\n",
    replace: "",
    test: { file: aiSdk, title: "that a host of the AI SDK has let go of" }
  },
  {
    name: "a call that may have run is said not to have",
    clause: "PROMISE-02",
    file: `${src}/internal/history.ts`,
    find: "return typeof narrow === \"string\" ? unknown(call) : narrow",
    replace: "return typeof narrow === \"string\" ? neverStarted(call) : narrow",
    test: { file: ledgers, title: "are not known where nothing tells them apart" }
  },
  {
    name: "calls of one label are not told apart by their arguments",
    clause: "PROMISE-02",
    file: `${src}/internal/history.ts`,
    find: "    const narrow = byArguments(call)",
    replace: "    const narrow: ReturnType<typeof byArguments> = \"unclear\"",
    test: { file: ledgers, title: "are told apart by arguments" }
  },
  {
    name: "arguments are told apart by the order of their keys",
    clause: "PROMISE-02",
    file: `${src}/internal/history.ts`,
    find: ".sort(([a], [b]) => a < b ? -1 : 1)",
    replace: "",
    test: { file: ledgers, title: "are told apart by arguments" }
  }
]

const aiSdks: ReadonlyArray<Mutant> = [
  {
    name: "what a client sends as an output is believed to be one",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkMessages.ts`,
    find: "isOutput(output) ? modelOutput(output)",
    replace: "output !== null ? modelOutput(output as ToolResult.Success)",
    test: { file: aiSdk, title: "takes messages of a client for what they are" }
  },
  {
    name: "a call whose approval was answered is closed before the AI SDK runs it",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkMessages.ts`,
    find: "const isLast = at === messages.length - 1",
    replace: "const isLast = false",
    test: { file: aiSdk, title: "that the AI SDK waits for is no call yet" }
  },
  {
    name: "an approved call that was cut off runs again",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkMessages.ts`,
    find: " && !isMade(call, entries))",
    replace: ")",
    test: { file: aiSdk, title: "that was given to a call which was then cut off" }
  },
  {
    name: "a call that has a result is given another",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkMessages.ts`,
    find: "const late = given.of.get(call)",
    replace: "const late = given.of.get({ ...call })",
    test: { file: aiSdk, title: "has a history that is repaired to one result for each call" }
  },
  {
    name: "a late result of the AI SDK stays where it came",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkMessages.ts`,
    find: "if (!placed.has(late) && !partsOf(message).includes(late)) added.push(late)",
    replace: "if (late) continue",
    test: { file: aiSdk, title: "a late result is put where its call is, and one is enough" }
  },
  {
    name: "a call of the AI SDK keeps a second result",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkMessages.ts`,
    find: "new Set<MessagePart>(given.surplus)",
    replace: "new Set<MessagePart>()",
    test: { file: aiSdk, title: "a late result is put where its call is, and one is enough" }
  },
  {
    name: "a generation goes on after the call that concludes it",
    clause: "PROMISE-02",
    file: `${src}/AiSdk.ts`,
    find: "Messages.isOutput(output) && output.concludesTurn",
    replace: "Messages.isOutput(output) && output.concludesTurn && false",
    test: { file: aiSdk, title: "ends a generation with the call that concludes the turn" }
  },
  {
    name: "a tool that wants to be approved is imported without its question",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkImport.ts`,
    find: "if (needsApproval !== undefined && needsApproval !== false)",
    replace: "if (false)",
    test: { file: aiSdkImport, title: "that sometimes wants to be approved is refused" }
  },
  {
    name: "an imported tool is given a context it did not declare",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkImport.ts`,
    find: "if (contextIssues !== undefined) throw",
    replace: "if (false) throw",
    test: { file: aiSdkImport, title: "whose context is not given is refused" }
  },
  {
    name: "a stream of outputs is asked for more after an abort",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkImport.ts`,
    find: "if (signal.aborted) break",
    replace: "if (false) break",
    test: { file: aiSdkImport, title: "that streams is asked for nothing more after an abort" }
  },
  {
    name: "an imported tool is not aborted",
    clause: "PROMISE-02",
    file: `${src}/internal/aiSdkImport.ts`,
    find: "abortSignal: call.signal, context",
    replace: "context",
    test: { file: aiSdkImport, title: "is aborted with its call, and awaited until it is quiet" }
  },
  {
    name: "the issues of an imported schema have no paths",
    clause: ["PROMISE-02", "PROMISE-04"],
    file: `${src}/internal/aiSdkImport.ts`,
    find: "  for (const holder of [error, error.cause, { issues: error.cause }]) {",
    replace: "  for (const holder of [{ issues: error.name }]) {",
    test: { file: aiSdkImport, title: "with zod is a tool of ours" }
  }
]

const effects: ReadonlyArray<Mutant> = [
  {
    name: "an interrupted generation leaves its calls alone",
    clause: "PROMISE-03",
    file: `${src}/EffectAi.ts`,
    find: "registry.execute({ callId: toolCallId ?? `${name}-${++unnamed}`, name, arguments: parameters }),",
    replace:
      "Effect.flatMap(registry.start({ callId: toolCallId ?? `${name}-${++unnamed}`, name, arguments: parameters }), (call) => call.result),",
    test: { file: effectAi, title: "cancels the calls of an interrupted streamText" }
  },
  {
    name: "effect/ai shows a model what policies withheld",
    clause: "PROMISE-03",
    file: `${src}/EffectAi.ts`,
    find: "  message: textOf(result)",
    replace: "  message: result.error.message",
    test: { file: effectAi, title: "shows what a policy left of a result, and of a failure" }
  },
  {
    name: "a failure that a toolkit returns is a success",
    clause: "PROMISE-03",
    file: `${src}/internal/effectAiImport.ts`,
    find: "last.isFailure ? yield* Effect.fail(last.result) : last.result",
    replace: "last.result",
    test: { file: effectAi, title: "keeps the failures typed" }
  },
  {
    name: "a toolkit's tool that wants to be approved is imported without its question",
    clause: "PROMISE-03",
    file: `${src}/internal/effectAiImport.ts`,
    find: "if (tool.needsApproval !== undefined && tool.needsApproval !== false)",
    replace: "if (false)",
    test: { file: effectAi, title: "refuses a tool that asks for approval" }
  },
  {
    name: "effect's MCP server serves the tools of the beginning",
    clause: "PROMISE-03",
    file: `${src}/EffectMcp.ts`,
    find: "Stream.runForEach(registry.schemaChanges, serve)",
    replace: "Stream.runForEach(Stream.take(registry.schemaChanges, 0), serve)",
    test: { file: effectMcp, title: "serves tools that are added later" }
  },
  {
    name: "a cancelled request of effect's MCP server leaves its call alone",
    clause: "PROMISE-03",
    file: `${src}/EffectMcp.ts`,
    find: "registry.execute({ callId: `mcp-${++calls}`, name: schema.name, arguments: payload ?? {} }),",
    replace:
      "Effect.flatMap(registry.start({ callId: `mcp-${++calls}`, name: schema.name, arguments: payload ?? {} }), (call) => call.result),",
    test: { file: effectMcp, title: "cancels the call of a request that is cancelled" }
  },
  {
    name: "a failed call is a success to a client of effect's MCP server",
    clause: "PROMISE-03",
    file: `${src}/EffectMcp.ts`,
    find: "isError: result._tag === \"Failure\"",
    replace: "isError: false",
    test: { file: effectMcp, title: "told of a tool's spent budget by a result" }
  }
]

const others: ReadonlyArray<Mutant> = [
  {
    name: "a run of OpenAI Agents does not cancel its calls",
    clause: "PROMISE-02",
    file: `${src}/OpenAiAgents.ts`,
    find: "signal: details?.signal })",
    replace: "signal: undefined })",
    test: { file: openAi, title: "rejects when its calls are quiet, and what they did can be told" }
  },
  {
    name: "missing results stand behind all items",
    clause: "PROMISE-02",
    file: `${src}/internal/openAiItems.ts`,
    find: "if (isMessage(item)) close()",
    replace: "",
    test: { file: openAi, title: "puts what is missing behind the calls it belongs to" }
  },
  {
    name: "the result of a later call answers an earlier one of its label",
    clause: "PROMISE-02",
    file: `${src}/internal/openAiItems.ts`,
    find: "if (answered) step++",
    replace: "if (answered) step = 0",
    test: { file: openAi, title: "puts what is missing behind the calls it belongs to" }
  },
  {
    name: "a call of OpenAI Agents keeps a second result",
    clause: "PROMISE-02",
    file: `${src}/internal/openAiItems.ts`,
    find: "new Set<AgentInputItem>(given.surplus)",
    replace: "new Set<AgentInputItem>()",
    test: { file: openAi, title: "puts a late result where its call is, and one is enough" }
  },
  {
    name: "a late result of OpenAI Agents stays where it came",
    clause: "PROMISE-02",
    file: `${src}/internal/openAiItems.ts`,
    find: "place(given.of.get(call) ?? resultItem(results[calls.indexOf(call)]!))",
    replace: "given.of.has(call) || place(resultItem(results[calls.indexOf(call)]!))",
    test: { file: openAi, title: "puts a late result where its call is, and one is enough" }
  },
  {
    name: "a model of OpenAI Agents is shown one of two tools",
    clause: "PROMISE-02",
    file: `${src}/internal/openAiItems.ts`,
    find: "if (twins.length > 1)",
    replace: "if (false)",
    test: { file: openAi, title: "refuses tools that a model could not tell apart" }
  },
  {
    name: "LangChain's check has the last word on arguments",
    clause: ["PROMISE-02", "PROMISE-04"],
    file: `${src}/internal/langChainTool.ts`,
    find: "if (!(error instanceof ToolInputParsingException)) throw error",
    replace: "throw error",
    test: { file: langChain, title: "where LangChain tells none" }
  },
  {
    name: "an invoke of LangChain is not waited for",
    clause: "PROMISE-02",
    file: `${src}/internal/langChainTool.ts`,
    find: "    return toolMessage(await Face.settle(this.#face, call))",
    replace:
      "    return Promise.race([Face.settle(this.#face, call).then(toolMessage), new Promise((_, reject) => signal?.addEventListener(\"abort\", () => reject(signal.reason)))])",
    test: { file: langChain, title: "settles when the call is quiet" }
  },
  {
    name: "LangChain's history has two results for a call",
    clause: "PROMISE-02",
    file: `${src}/internal/langChainMessages.ts`,
    find: "place(given.of.get(call) ?? toolMessage(results[calls.indexOf(call)]!))",
    replace: "place(toolMessage(results[calls.indexOf(call)]!))",
    test: { file: langChain, title: "gives up at once; whenIdle tells the truth" }
  },
  {
    name: "a call of LangChain keeps a second result",
    clause: "PROMISE-02",
    file: `${src}/internal/langChainMessages.ts`,
    find: "new Set<BaseMessage>(given.surplus)",
    replace: "new Set<BaseMessage>()",
    test: { file: langChain, title: "a late result is put where its call is, and one is enough" }
  },
  {
    name: "a late result of LangChain stays where it came",
    clause: "PROMISE-02",
    file: `${src}/internal/langChainMessages.ts`,
    find: "    if (ToolMessage.isInstance(message)) placed.add(message)",
    replace: "",
    test: { file: langChain, title: "a late result is put where its call is, and one is enough" }
  }
]

/** The bridge of the example, which apps on Effect 3 copy. */
const effect3: ReadonlyArray<Mutant> = [
  {
    name: "a fiber of Effect 3 does not wait for the call that it cancels",
    clause: "PROMISE-05",
    file: "examples/effect3/Bridge.ts",
    find: "Effect.zipRight(Effect.sync(() => controller.abort()), Effect.promise(() => result))",
    replace: "Effect.sync(() => controller.abort())",
    test: { file: `${test}/effect3.test.ts`, title: "cancellation crosses both ways and is awaited" }
  },
  {
    name: "a cancelled call leaves its fiber of Effect 3 alone",
    clause: "PROMISE-05",
    file: "examples/effect3/Bridge.ts",
    find: "Effect.runPromiseExit(effect, { signal })",
    replace: "Effect.runPromiseExit(effect)",
    test: { file: `${test}/effect3.test.ts`, title: "cancellation crosses both ways and is awaited" }
  },
  {
    name: "a body on Effect 3 begins although its call is over",
    clause: "PROMISE-05",
    file: "examples/effect3/Bridge.ts",
    find: "  signal.throwIfAborted()\n",
    replace: "",
    test: { file: `${test}/effect3.test.ts`, title: "cancellation crosses both ways and is awaited" }
  },
  {
    name: "a body on Effect 3 that interrupts itself throws the reason of an abort that never was",
    clause: "PROMISE-05",
    file: "examples/effect3/Bridge.ts",
    find: "signal.aborted && Cause.isInterruptedOnly",
    replace: "Cause.isInterruptedOnly",
    test: { file: `${test}/effect3.test.ts`, title: "cancellation crosses both ways and is awaited" }
  },
  {
    name: "a schema of Effect 3 tells one issue of several",
    clause: "PROMISE-05",
    file: "examples/effect3/Bridge.ts",
    find: "{ errors: \"all\" }",
    replace: "{ errors: \"first\" }",
    test: { file: `${test}/effect3.test.ts`, title: "cancellation crosses both ways and is awaited" }
  }
]

export const interop: ReadonlyArray<Mutant> = [...faces, ...aiSdks, ...effects, ...others, ...effect3]
