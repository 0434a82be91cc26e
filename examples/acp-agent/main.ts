/**
 * An editor's side of the story, played by the official SDK: it starts the agent as an editor does, gives it work, and
 * presses stop in the middle of a command. A witness who knows nothing of either is asked whether the command is gone.
 */
import * as acp from "@agentclientprotocol/sdk"
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable, Writable } from "node:stream"

const folder = mkdtempSync(join(tmpdir(), "quiesce-acp-"))
writeFileSync(join(folder, "notes.txt"), "Buy milk.\n")

const agentProcess = spawn(process.execPath, [join(import.meta.dirname, "agent.ts")], {
  stdio: ["pipe", "pipe", "inherit"]
})
const stream = acp.ndJsonStream(
  Writable.toWeb(agentProcess.stdin),
  Readable.toWeb(agentProcess.stdout) as ReadableStream<Uint8Array>
)

/** What the user's editor shows, and what it answers when it is asked for permission. */
const shown: Array<string> = []
let permission = "allow_once"
/** Of a command that runs: the process it told us of. */
let pid = 0
let stop: () => void = () => {}

const client = acp.client()
  .onRequest(acp.methods.client.session.requestPermission, ({ params: { toolCall } }) => {
    shown.push(`permission: ${toolCall.title}: ${permission}`)
    return { outcome: { outcome: "selected", optionId: permission } }
  })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
      shown.push(update.content.text)
    }
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return
    if (update.status) shown.push(`${update.toolCallId}: ${update.status}`)
    const [content] = update.content ?? []
    if (update.status || content?.type !== "content" || content.content.type !== "text") return
    // The command says its process; then the user presses stop.
    pid = Number(content.content.text)
    stop()
  })

const { agent } = client.connect(stream)
const { agentInfo } = await agent.request(acp.methods.agent.initialize, {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientCapabilities: {}
})
assert.equal(agentInfo?.name, "quiesce-example")
const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: folder, mcpServers: [] })

const prompt = async (text: string): Promise<void> => {
  console.log(`> ${text}`)
  const { stopReason } = await agent.request(acp.methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: "text", text }]
  })
  for (const line of shown.splice(0)) console.log(`  ${line}`)
  console.log(`  = ${stopReason}`)
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

await prompt("read notes.txt")

stop = () => void agent.notify(acp.methods.agent.session.cancel, { sessionId })
await prompt("run echo $$; exec sleep 600")
assert.ok(pid > 1)
assert.equal(isAlive(pid), false)
console.log("the command is gone")

permission = "reject_always"
await prompt("write notes.txt Forget the milk.")
await prompt("write notes.txt Really.")
assert.equal(readFileSync(join(folder, "notes.txt"), "utf8"), "Buy milk.\n")

// The editor closes.
agentProcess.stdin.end()
const [code] = await once(agentProcess, "exit")
assert.equal(code, 0)
console.log("the agent is gone")
rmSync(folder, { recursive: true })
