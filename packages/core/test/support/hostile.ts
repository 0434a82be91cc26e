/** Values that nobody should throw, and somebody will. */

const trapped = (): never => {
  throw new Error("inspected")
}

/** Throws whatever is done to it. */
export const untouchable: object = new Proxy(Object.create(null), {
  get: trapped,
  getPrototypeOf: trapped,
  getOwnPropertyDescriptor: trapped,
  has: trapped,
  ownKeys: trapped,
  set: trapped,
  defineProperty: trapped,
  deleteProperty: trapped,
  isExtensible: trapped,
  preventExtensions: trapped
})

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const cyclic = (): Error => {
  const error = new Error("cyclic")
  error.cause = error
  return Object.assign(error, { self: error })
}

/** Each with the message that it becomes, where that is known. */
export const thrown: ReadonlyArray<readonly [what: string, value: unknown, message?: string]> = [
  ["undefined", undefined, "undefined"],
  ["null", null, "null"],
  ["a string", "plain text", "plain text"],
  ["an empty string", ""],
  ["a number", 0, "0"],
  ["NaN", Number.NaN, "NaN"],
  ["a bigint", 1n, "1"],
  ["a symbol", Symbol("s"), "Symbol(s)"],
  ["a boolean", false, "false"],
  ["a function", () => 1],
  ["an Error", new Error("why"), "why"],
  ["an Error without a message", new Error()],
  ["an AggregateError", new AggregateError([new Error("a")], "several"), "several"],
  ["a frozen Error", Object.freeze(new Error("frozen")), "frozen"],
  ["a plain object", { code: 1 }],
  ["an object without a prototype", Object.create(null)],
  ["an array", [1, 2]],
  ["a Proxy that throws on inspection", untouchable],
  ["a revoked Proxy", revoked()],
  ["an Error that is its own cause", cyclic(), "cyclic"],
  ["an Error whose message throws", Object.defineProperty(new Error(), "message", { get: trapped })],
  ["an Error whose message is no text", Object.assign(new Error(), { message: 1 })],
  [
    "an Error whose fields throw",
    Object.defineProperty(new Error("fields"), "field", { get: trapped, enumerable: true }),
    "fields"
  ],
  ["an Error whose cause throws", Object.defineProperty(new Error("cause"), "cause", { get: trapped }), "cause"],
  ["an Error caused by a Proxy that throws", new Error("caused", { cause: untouchable }), "caused"],
  ["an object whose toString throws", { toString: trapped, [Symbol.toPrimitive]: trapped }],
  ["an object with a name and a tag that are no text", { name: 1, _tag: {}, message: null }],
  ["an object that claims a reserved code", { code: "ABORTED", name: "AbortedError", message: "mine" }, "mine"],
  ["an object with a `__proto__` key", JSON.parse(`{"__proto__":{"x":1},"message":"own"}`), "own"],
  ["a thenable", { then: () => {}, message: "thenable" }, "thenable"],
  ["a thenable that throws", {
    get then() {
      return trapped()
    }
  }]
]
