import { assert, describe, it } from "@effect/vitest"
import { Toolbox, type ToolResult } from "@quiesce/core"
import * as Ledger from "@quiesce/interop/Ledger"
import { cites } from "../../../tests/conformance/cites.ts"
import { type Asked, outcomes } from "../src/internal/history.ts"
import { add, held, rejection, settled } from "./support/tools.ts"

const live = () => new AbortController().signal

describe("a Ledger", () => {
  it(cites("tells every call in the order they were made, once all are quiet", "PROMISE-02"), async () => {
    const stuck = held()
    const ledger = Ledger.make(Toolbox.make({ tools: [stuck.tool, add] }))
    assert.deepStrictEqual(await ledger.settled(), [])
    const args: { a: number; b: number; more?: string } = { a: 1, b: 2 }
    const first = ledger.execute({ callId: "1", name: "held", arguments: {}, signal: live() })
    const second = ledger.execute({ callId: "2", name: "add", arguments: args, signal: live() })
    args.more = "changed later"
    const all = ledger.settled()
    await second
    assert.isFalse(await settled(all))
    // One that begins during the wait is waited for.
    const third = ledger.execute({ callId: "3", name: "held", arguments: {}, signal: live() })
    stuck.runs[0]!.finish("a")
    await first
    assert.isFalse(await settled(all))
    stuck.runs[1]!.finish("b")
    assert.deepStrictEqual(await all, [
      { callId: "1", name: "held", arguments: {}, result: await first },
      { callId: "2", name: "add", arguments: { a: 1, b: 2 }, result: await second },
      { callId: "3", name: "held", arguments: {}, result: await third }
    ])
  })

  it(cites("gives its caller the very result, and what was never a call is not in it", "PROMISE-02"), async () => {
    const ledger = Ledger.make(Toolbox.make({ tools: [add] }))
    const cyclic: { self?: unknown } = {}
    cyclic.self = cyclic
    const result = await ledger.execute({ callId: "1", name: "add", arguments: cyclic, signal: live() })
    await rejection(ledger.execute({ callId: "2", name: "add", arguments: {} } as any))
    const entries = await ledger.settled()
    assert.strictEqual(entries[0]?.result, result)
    assert.deepStrictEqual(entries.map(({ arguments: args, callId }) => [callId, args]), [["1", null]])
  })
})

/** Three arrays that unfold to a thousand million values. */
const unfolding = Array.from({ length: 3 }).reduce<unknown>((part) => Array(1_000).fill(part), 0)

describe("the arguments in a Ledger", () => {
  const told = async (args: unknown) => {
    const ledger = Ledger.make(Toolbox.make({ tools: [add] }))
    const result = await ledger.execute({ callId: "1", name: "add", arguments: args, signal: live() })
    const [entry] = await ledger.settled()
    return [result._tag === "Success" ? result.value : result.error.code, entry?.arguments]
  }

  it(
    cites("are those that the call was given, also where a host's object changes as it is read", "PROMISE-02"),
    async () => {
      let reads = 0
      const growing = {
        get a() {
          return ++reads
        },
        b: 10
      }
      assert.deepStrictEqual(await told(growing), [11, { a: 1, b: 10 }])
      assert.strictEqual(reads, 1)
      const odd = JSON.parse("{\"a\":1,\"b\":2,\"__proto__\":{\"c\":[null,true,\"x\"]}}")
      assert.deepStrictEqual(await told(odd), [3, odd])
      assert.deepStrictEqual(await told(Object.assign(Object.create(null), { a: 1, b: 2 })), [3, { a: 1, b: 2 }])
    }
  )

  const noJson: ReadonlyArray<readonly [string, unknown]> = [
    ["a Date", new Date(0)],
    ["what is undefined", { a: 1, b: 2, c: undefined }],
    ["a toJSON", { toJSON: () => ({ a: 1, b: 2 }) }],
    ["a number that JSON has not", { a: -0, b: Infinity }],
    ["a hole", { a: 1, b: 2, c: Array(1) }],
    ["an array with more than its items", { a: 1, b: 2, c: Object.assign([1], { [Symbol("key")]: 1 }) }],
    ["an array of a class", { a: 1, b: 2, c: new (class extends Array {})() }],
    ["a symbol for a key", { a: 1, b: 2, [Symbol("key")]: 1 }],
    [
      "a proxy that throws",
      new Proxy({}, {
        ownKeys: () => {
          throw undefined
        }
      })
    ],
    ["what is too deep", Array.from({ length: 600 }).reduce<object>((inner) => [inner], [])],
    ["what unfolds to too much", unfolding]
  ]
  for (const [what, args] of noJson) {
    it(cites(`are none where they are ${what}, which the registry refuses`, "PROMISE-02"), async () => {
      assert.deepStrictEqual(await told(args), ["INVALID_ARGUMENTS", null])
    })
  }
})

describe("the outcomes of a history", () => {
  const asked = (callId: string, args: unknown = {}): Asked => ({ callId, name: "t", arguments: args })
  const entry = (callId: string, value: string, args: Ledger.Entry["arguments"] = {}): Ledger.Entry => ({
    callId,
    name: "t",
    arguments: args,
    result: {
      _tag: "Success",
      callId,
      name: "t",
      dispatched: true,
      value,
      content: [],
      contexts: [],
      residue: [],
      concludesTurn: false
    }
  })
  const short = (results: ReadonlyArray<ToolResult.ToolResult>) =>
    results.map((result) => result._tag === "Success" ? result.value : [result.error.code, result.dispatched])
  const unknown = ["ABORTED", true]
  const never = ["ABORTED_BEFORE_DISPATCH", false]

  const cases: ReadonlyArray<
    readonly [string, ReadonlyArray<Asked>, ReadonlyArray<Ledger.Entry>, ReadonlyArray<unknown>]
  > = [
    ["are those of the ledger, by label", [asked("1"), asked("2")], [entry("2", "b"), entry("1", "a")], ["a", "b"]],
    ["are not those of another tool", [{ ...asked("1"), name: "other" }], [entry("1", "a")], [never]],
    ["are in order where labels are used again", [asked("1"), asked("1")], [entry("1", "a"), entry("1", "b")], [
      "a",
      "b"
    ]],
    [
      "are told apart by arguments, in whatever order their keys are",
      [asked("1", { x: 1, y: [{ p: 1, q: 2 }] }), asked("1", { x: 2 })],
      [entry("1", "b", { y: [{ q: 2, p: 1 }], x: 1 })],
      ["b", unknown]
    ],
    [
      "are not known where nothing tells them apart: a call that may have run is not one that never did",
      [asked("1"), asked("1")],
      [entry("1", "a")],
      [unknown, unknown]
    ],
    ["are not known where the ledger has more", [asked("1")], [entry("1", "a"), entry("1", "b")], [unknown]],
    ["may have arguments that unfold to too much", [asked("1", unfolding)], [entry("1", "a", null)], ["a"]],
    ["may have arguments that are no JSON", [asked("1", 1n), asked("1", 1)], [entry("1", "a", null)], ["a", unknown]]
  ]
  for (const [title, calls, entries, expected] of cases) {
    it(cites(title, "PROMISE-02"), () => {
      assert.deepStrictEqual(short(outcomes(calls, entries)), expected)
    })
  }
})
