/**
 * Reads what was thrown. Anything can be thrown, also what throws when it is looked at.
 *
 * It knows nothing, since the program of an isolate uses it.
 */
import type { Thrown } from "../../TaskFailed.ts"

export const describe = (error: unknown): Thrown => {
  try {
    if (!(error instanceof Error)) return { name: "Error", message: String(error) }
    const { code } = error as NodeJS.ErrnoException
    return {
      name: String(error.name),
      message: String(error.message),
      ...(typeof code === "string" ? { code } : {}),
      ...(typeof error.stack === "string" ? { stack: error.stack } : {})
    }
  } catch {
    return { name: "Error", message: "a value that cannot be inspected was thrown" }
  }
}
