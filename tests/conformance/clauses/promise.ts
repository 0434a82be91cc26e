/** The clauses of PROMISE: callers and bodies that do not use Effect. */
export const promise = {
  title: "callers and bodies that do not use Effect",
  clauses: {
    "PROMISE-01": "`Toolbox.make({...})` gives a registry to promise-based code: `execute({ callId, name, arguments, " +
      "signal })`, `schemas()`, `inFlight()`, `whenIdle()`, `close()`; no Effect type appears in it, nor is any " +
      "needed to define its tools (core takes a Standard Schema with JSON Schema directly).",
    "PROMISE-02": "Exported to the AI SDK, OpenAI Agents and LangChain as their own tool objects; where the host " +
      "abandons (streamText, LangChain, timeoutMs), `whenIdle` still tells the truth and the history can be repaired " +
      "to one result per call.",
    "PROMISE-03": "Exported to and imported from `effect/ai` Tool and Toolkit; cancellation of a generation reaches " +
      "bodies and is awaited.",
    "PROMISE-04": "Input schemas may be Effect Schema or any Standard Schema that has a JSON Schema; errors carry " +
      "paths.",
    "PROMISE-05": "An app on Effect 3 with `@effect/schema` can define tools and call the registry through the " +
      "promise face (npm refuses effect 3 and 4 in one package: two workspaces, or an alias)."
  }
}
