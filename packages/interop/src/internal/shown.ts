/** What a model is shown of a result, for hosts that know no contexts: its content, and behind it what was deferred. */
import type { Json } from "@quiesce/core/Json"
import type * as ToolResult from "@quiesce/core/ToolResult"

export const texts = ({ content, contexts }: ToolResult.ToolResult): ReadonlyArray<string> => [
  ...content.map(({ text }) => text),
  ...contexts.map(contextText)
]

export const textOf = (result: ToolResult.ToolResult): string => texts(result).join("\n")

const contextText = (context: Json): string => typeof context === "string" ? context : JSON.stringify(context)
