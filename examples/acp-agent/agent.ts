/**
 * An agent over standard input and output: the ready tools of `@quiesce/node` in the folder of the session.
 *
 * Its model is a script, so that it needs no key: it does what the first word of the prompt says. Put a real one in the
 * place of `plan`, and the rest stays as it is.
 */
import { AcpAgent, AcpSession, Permission, Stdio, type Updates } from "@quiesce/acp"
import { Session, SessionLog, Turn } from "@quiesce/agent"
import { ToolRegistry } from "@quiesce/core"
import { Files, Tools } from "@quiesce/node"
import { Effect, Layer } from "effect"

/** What the model makes of a prompt. */
const plan = (text: string): Turn.Assistant => {
  const [, verb, rest = ""] = /^\s*(\w+)\s*(.*)$/s.exec(text) ?? []
  const call = (name: string, args: unknown) => [{ callId: name, name, arguments: Turn.complete(args) }]
  switch (verb) {
    case "run":
      return { text: `Running ${rest}`, calls: call("run_command", { program: "/bin/sh", args: ["-c", rest] }) }
    case "read":
      return { text: `Reading ${rest}`, calls: call("read_file", { path: rest }) }
    case "list":
      return { text: "Looking around", calls: call("list_files", rest === "" ? {} : { path: rest }) }
    case "write": {
      const [path = "", ...words] = rest.split(" ")
      return { text: `Writing ${path}`, calls: call("write_file", { path, content: words.join(" ") + "\n" }) }
    }
    default:
      return { text: "Say `run COMMAND`, `read FILE`, `write FILE TEXT` or `list [FOLDER]`.", calls: [] }
  }
}

const turn = (prompt: AcpAgent.Prompt) => {
  const steps = [plan(prompt.text), { text: "That is done.", calls: [] }]
  return Session.loop(() => Effect.sync((): Turn.Assistant => steps.shift() ?? { calls: [] }))(prompt)
}

/** How a client shows the calls. */
const kinds: { readonly [name: string]: Updates.Description } = {
  run_command: { title: "Run a command", kind: "execute" },
  read_file: { title: "Read a file", kind: "read" },
  write_file: { title: "Write a file", kind: "edit" },
  list_files: { title: "List files", kind: "search" },
  http_get: { title: "Fetch a page", kind: "fetch" }
}
const describe: Updates.Describe = (name) => kinds[name] ?? {}

/** Each session has its tools, rooted in its folder, its user's decisions, and its log. */
const session = Layer.unwrap(Effect.map(AcpSession.AcpSession, ({ cwd }) =>
  Layer.merge(
    ToolRegistry.layer(Tools.all).pipe(
      Layer.provide([Permission.layer(describe), Permission.layerPolicy(Tools.policy), Files.layer({ root: cwd })])
    ),
    SessionLog.layerMemory
  )))

await Stdio.run(AcpAgent.connect({ info: { name: "quiesce-example", version: "0.0.0" }, session, turn, describe }))
