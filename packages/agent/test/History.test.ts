/**
 * Any script of what a model says, what a user cancels and where the machine stops leaves a log in which every call has
 * exactly one result, once it is opened again.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { explain, history } from "../../../tests/crash/history.ts"

/** Some seconds of CI; `npm run crash` makes ten thousand. */
const histories = 150

describe("law: any script of model outputs, cancels and crashes", () => {
  it.live(
    cites("leaves one result per call, next to its call in the model's order", "TURN-03", "TURN-07", "TURN-08"),
    () =>
      Effect.gen(function*() {
        for (let seed = 1; seed <= histories; seed++) {
          const faults = yield* history(seed)
          assert.deepStrictEqual(faults, [], explain(seed))
        }
      }),
    60_000
  )
})
