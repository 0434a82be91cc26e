import { assert, it } from "@effect/vitest"
import { Command } from "@quiesce/node"

it("a command refuses a bound that is none", () => {
  const refused: ReadonlyArray<Command.Options> = [
    { timeout: 0 },
    { timeout: -1 },
    { timeout: Infinity },
    { timeout: 2 ** 31 },
    { grace: -1 },
    { grace: Infinity },
    { drain: NaN },
    { maxBytes: -1 },
    { maxBytes: 1.5 },
    { maxBytes: Infinity }
  ]
  for (const options of refused) assert.throws(() => Command.make("true", [], options), RangeError)
})

it("a command takes a grace and a drain of nothing at all", () => {
  Command.make("true", [], { grace: 0, drain: 0, maxBytes: 0 })
})
