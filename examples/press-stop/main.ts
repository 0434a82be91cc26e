/**
 * An agent whose turn is stopped in the middle of six calls, and what is left of them: nothing.
 *
 *     npm run demo              Ctrl-C stops the turn; a second one says what is not quiet yet, and why
 *     npm run demo -- --kill    kills itself in the middle of its turn; the next run says what it finds
 *
 * This file wires the agent, and tells in the end what became of it. The turn itself is in story.ts.
 */
import { SessionLog } from "@quiesce/agent"
import { Approval, Policy, ToolRegistry } from "@quiesce/core"
import { Files, Guardian, Http, Tools } from "@quiesce/node"
import { Effect, Layer } from "effect"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Board from "./Board.ts"
import { person } from "./script.ts"
import { type Ended, story } from "./story.ts"
import { tools } from "./tools.ts"
import * as Verdict from "./Verdict.ts"
import * as View from "./View.ts"
import * as Witness from "./Witness.ts"

const { values: options } = parseArgs({
  options: {
    kill: { type: "boolean", default: false },
    /** Where the log is. All runs write the same one, one at a time. */
    session: { type: "string", default: join(import.meta.dirname, ".session") }
  }
})

/** All there is to wire: tools, who is asked about them, where they may go, the log, and who ends what a crash leaves. */
const agent = (root: string, view: View.View) =>
  ToolRegistry.layer(tools).pipe(
    Layer.provide([
      Policy.layer(Tools.policy),
      Approval.layer(person(view.note)),
      Files.layer({ root }),
      Layer.succeed(Http.Destinations, Http.publicAnd("127.0.0.1")),
      Guardian.layer
    ]),
    Layer.provideMerge(
      SessionLog.layerSqlite(join(options.session, "session.log")).pipe(
        Layer.catchTag("LogBusy", ({ holder }) => {
          view.say(`Process ${holder.pid} is writing the log, so this run keeps one of its own, in memory.\n`)
          return SessionLog.layerMemory
        })
      )
    )
  )

const main = Effect.gen(function*() {
  const view = yield* View.make(process.stdout)
  view.say(
    "A model asks for six tool calls at once. In the middle of it somebody presses stop (you: Ctrl-C, twice\n" +
      "if you are impatient). A call is over when it is quiet: when nothing that it started is left.\n"
  )
  const server = yield* Witness.serve
  const root = yield* folder
  const setting = { view, server, root, directory: options.session, kill: options.kill }
  // The turn is over before the agent is closed.
  return yield* Effect.provide(Effect.scoped(story(setting)), agent(root, view))
})

/** The files of a run, gone when it is over. */
const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quiesce-demo-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const tell = async ({ ends, report, stoppedMillis = Number.POSITIVE_INFINITY }: Ended): Promise<void> => {
  console.log()
  line("call", "code", "dispatched", "stop → quiet", "witness")
  for (const { quietMillis = 0, row: { name, settled }, verdict } of ends) {
    const waited = quietMillis - stoppedMillis
    line(
      name,
      Board.codeOf(settled!),
      settled!.dispatched ? "yes" : "no",
      waited < 0 ? "" : `${waited} ms`,
      verdict.says
    )
  }
  const processes = ends.flatMap(({ row }) => Verdict.processesOf(row))
  const left = await Witness.census(processes)
  console.log(`
ABORTED: it ran, and may have had effects. ABORTED_BEFORE_DISPATCH: it never ran, and may be asked for again.
The log has one result for each call. Left: ${left.processes} processes, ${left.listeners} listeners, ${left.sockets} sockets.`)

  for (const { row, verdict } of ends) if (verdict.fault !== undefined) faults.push(`${row.name}: ${verdict.fault}`)
  if (ends.length !== 6) faults.push(`${ends.length} calls instead of 6`)
  if (!SessionLog.isBalanced(report)) faults.push(`the log: ${JSON.stringify(report)}`)
  if (Object.values(left).some((count) => count > 0)) faults.push("something is left")
}

const line = (call: string, code: string, dispatched: string, quiet: string, witness: string): void =>
  console.log(`${call.padEnd(13)}${code.padEnd(25)}${dispatched.padEnd(12)}${quiet.padStart(12)}   ${witness}`)

const faults: Array<string> = []
try {
  mkdirSync(options.session, { recursive: true })
  const ended = await Effect.runPromise(Effect.scoped(main))
  faults.push(...ended.faults)
  await tell(ended)
} catch (error) {
  faults.push((error as Error).message)
}
if (faults.length > 0) {
  console.error(`\n${faults.join("\n")}`)
  process.exit(1)
}
// No exit here: the process ends by itself, since nothing is left that could keep it.
