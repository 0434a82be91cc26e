import { assert, it } from "@effect/vitest"
import { retryAfterMillis } from "../../src/internal/retryAfter.ts"

it("Retry-After is a number of seconds, or a date, or nothing", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  assert.strictEqual(retryAfterMillis("0", now), 0)
  assert.strictEqual(retryAfterMillis("120", now), 120_000)
  assert.strictEqual(retryAfterMillis("Thu, 01 Jan 2026 00:00:10 GMT", now), 10_000)
  assert.strictEqual(retryAfterMillis("Wed, 31 Dec 2025 00:00:00 GMT", now), 0)
  for (const nothing of [undefined, "", "-1", "1.5", "soon", "7 days", "Thu, nonsense"]) {
    assert.isUndefined(retryAfterMillis(nothing, now))
  }
})
