/**
 * What the agent can do: three tools of `@quiesce/node` as they are, and three of its own.
 */
import { Tool } from "@quiesce/core"
import { Files, Http, HttpFailed, Isolated, Tools } from "@quiesce/node"
import { Effect, Schema } from "effect"

/** Exclusive: a turn runs it alone, and starts nothing before it is over. */
const editNotes = Tool.make("edit_notes", {
  description: "Write a line into the notes",
  parameters: Schema.Struct({ line: Schema.String }),
  success: Schema.Void,
  mode: "exclusive",
  execute: Effect.fnUntraced(function*({ line }, call) {
    call.progress({ progress: 0, message: "alone" })
    yield* Effect.sleep("300 millis")
    yield* Effect.orDie((yield* Files.Files).write("notes.md", `${line}\n`))
  })
})

/** It has a budget. A deadline asks the body to stop and waits, as a cancel does: it is quiet when the outcome comes. */
const fetchQuote = Tool.make("fetch_quote", {
  description: "Fetch the price of a share",
  parameters: Schema.Struct({ url: Schema.String }),
  success: Schema.String,
  failure: HttpFailed.HttpFailed,
  timeout: "1 second",
  execute: ({ url }) => Effect.map(Http.get(url), ({ body }) => new TextDecoder().decode(body))
})

/** A body that ignores its signal, run where it can be ended whatever it does. */
const crunch = Isolated.make("crunch", {
  description: "Search for a counterexample",
  parameters: Schema.Struct({}),
  success: Schema.Number,
  isolate: "process",
  module: new URL("./busy.ts", import.meta.url),
  grace: "500 millis"
})

export const tools = [Tools.httpGet, Tools.runCommand, Tools.writeFile, editNotes, fetchQuote, crunch] as const

/** Why a call of each may take a while to be quiet, once it was asked to. */
export const patience: { readonly [name: string]: string } = {
  [Tools.runCommand.name]: "whatever ignores SIGTERM gets SIGKILL 2 s later",
  [crunch.name]: "it does not look at its signal, and its process is ended after half a second"
}
