/**
 * The two whose part is scripted, so that the example needs no network and nobody at the keyboard: the model, and the
 * person who is asked for permission.
 */
import { type Session, Turn } from "@quiesce/agent"
import { Approval } from "@quiesce/core"
import { Effect } from "effect"

/** Four processes: two that obey, one of them in a session of its own, and two that ignore SIGTERM. */
const tree = `
  sleep 1000 & obeys=$!
  if command -v setsid >/dev/null; then setsid sleep 1000 & else sleep 1000 & fi; left=$!
  trap '' TERM
  sleep 1000 & ignores=$!
  echo "processes $$ $obeys $left $ignores"
  wait`

const calls = (server: string) => ({
  edit_notes: { line: "Looking for a better plan." },
  http_get: { url: `${server}/endless` },
  fetch_quote: { url: `${server}/slow` },
  run_command: { program: "/bin/sh", args: ["-c", tree] },
  crunch: {},
  write_file: { path: "report.md", content: "All is well.\n" }
})

/** A model is whatever tells what it says next. This one asks for six calls at once, and then has nothing to add. */
export const model = (server: string) => (turn: Session.Running) =>
  Effect.map(turn.history, (entries): Turn.Assistant => {
    const hasSpoken = entries.some(({ event }) => event._tag === "assistant" && event.turn === turn.seq)
    if (hasSpoken) return { text: "That is all.", calls: [] }
    return {
      text: "I will do six things at once.",
      calls: Object.entries(calls(server)).map(([name, args], index) => ({
        callId: `call_${index + 1}`,
        name,
        arguments: Turn.complete(args)
      }))
    }
  })

/** Somebody who takes a moment to say yes, and never gets around to the question about `write_file`. */
export const person = (hear: (text: string) => void): Approval.Channel => ({
  ask: (call, reason) =>
    Effect.gen(function*() {
      hear(`${call.name}: allow it? ${reason}`)
      if (call.name === "write_file") return yield* Effect.never
      yield* Effect.sleep("250 millis")
      hear(`${call.name}: yes`)
      return Approval.allowedOnce
    })
})
