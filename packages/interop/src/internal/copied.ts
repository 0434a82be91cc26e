import type { Json } from "@quiesce/core/Json"

/** `value` as JSON, `null` where it is none. */
export const copied = (value: unknown): Json => {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null") as Json
  } catch {
    return null
  }
}
