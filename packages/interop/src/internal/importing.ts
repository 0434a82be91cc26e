/** What hosts' own tools are refused for, when they are to become tools of a registry. */
import * as Data from "effect/Data"

/** A tool of a host that cannot be one of ours. `tool` is its name there. */
export class NotImportable extends Data.TaggedError("NotImportable")<{
  readonly tool: string
  readonly reason: string
}> {
  override get message(): string {
    return `the tool ${JSON.stringify(this.tool)} cannot be imported: ${this.reason}`
  }
}

/** Why a tool that asks for approval itself is refused: here nobody would put its question. */
export const needsApproval = "it has `needsApproval`; give the registry a policy that asks, and leave it out"
