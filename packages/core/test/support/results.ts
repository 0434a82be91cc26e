/** What tests ask of a result. */
import { assert } from "@effect/vitest"
import type { Json, ToolResult } from "@quiesce/core"

/** The code of a failure, "Success" for a success. */
export const codeOf = (result: ToolResult.ToolResult): ToolResult.Code | "Success" =>
  result._tag === "Success" ? "Success" : result.error.code

export const failureOf = (result: ToolResult.ToolResult): ToolResult.Failure => {
  assert.strictEqual(result._tag, "Failure", JSON.stringify(result))
  return result as ToolResult.Failure
}

export const valueOf = (result: ToolResult.ToolResult): Json => {
  assert.strictEqual(result._tag, "Success", JSON.stringify(result))
  return (result as ToolResult.Success).value
}

/** The paths of the issues in the detail of an INVALID_ARGUMENTS or INVALID_OUTPUT. */
export const issuesOf = (
  result: ToolResult.ToolResult
): ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly message: string }> =>
  (failureOf(result).error.detail as any).issues

/** Whether `value` and everything in it is frozen. */
export const isDeeplyFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen))

/** Fails unless the result is that of a cancelled call, in all its parts. */
export const assertAborted = (
  result: ToolResult.ToolResult,
  code: "ABORTED" | "ABORTED_BEFORE_DISPATCH",
  reason: string,
  finalized?: ReadonlyArray<ToolResult.Content>
): void => {
  const dispatched = code === "ABORTED"
  const message = dispatched ? "tool call aborted" : "tool call aborted before dispatch"
  const { content, dispatched: was, error } = failureOf(result)
  assert.deepStrictEqual(error, { code, name: "AbortError", message, detail: { reason } })
  assert.deepStrictEqual(content, finalized ?? [{ type: "text", text: `Error: ${message}` }])
  assert.strictEqual(was, dispatched)
}
