import * as Data from "effect/Data"

export class NotImportable extends Data.TaggedError("NotImportable")<{
  readonly name: string
  readonly reason: string
}> {
  override get message(): string {
    return `the tool ${JSON.stringify(this.name)} cannot be imported: ${this.reason}`
  }
}

/** Why a tool that asks for approval itself is refused: here nobody would put its question. */
export const needsApproval = "it has `needsApproval`; give the registry a policy that asks, and leave it out"
