/**
 * What the log keeps of a call's arguments, and so what the call gets: a copy, so that the two are the same whatever the
 * host does with its own.
 */
import type { Json } from "@quiesce/core/Json"
import * as Schema from "effect/Schema"
import type { Arguments } from "../LogEvent.ts"
import type * as Turn from "../Turn.ts"

const decode = Schema.decodeUnknownResult(Schema.Json)

export const argumentsOf = (given: Turn.Arguments): Arguments => {
  if (given._tag === "Incomplete") return { _tag: "Incomplete", text: given.text }
  try {
    const decoded = decode(given.json)
    if (decoded._tag === "Failure") return { _tag: "NotJson", problem: decoded.failure.message }
    return { _tag: "Complete", json: JSON.parse(JSON.stringify(decoded.success)) as Json }
  } catch (thrown) {
    // A cycle, or a value of a thousand levels.
    return { _tag: "NotJson", problem: thrown instanceof Error ? thrown.message : "it cannot be read" }
  }
}
