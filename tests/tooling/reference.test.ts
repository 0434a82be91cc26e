import { assert, describe, it } from "vitest"
import { parse } from "../../tools/reference/declarations.ts"

describe("the declarations of a module", () => {
  it("have their docstrings, house style and no `declare`", () => {
    const { declarations } = parse(`
import * as Effect from "effect/Effect";
/** Waits.
 *
 * Until \`{\` is closed.
 */
export declare const wait: {
    (options: Options): Effect.Effect<void>;
};
export interface Options {
    /** In milliseconds: } */
    readonly timeout: number;
}
declare const hidden: string;
export {};
//# sourceMappingURL=Wait.d.ts.map`)
    assert.deepStrictEqual(declarations, [
      {
        name: "wait",
        doc: "Waits.\n\nUntil `{` is closed.",
        source: "const wait: {\n  (options: Options): Effect.Effect<void>\n}"
      },
      {
        name: "Options",
        doc: "",
        source: "interface Options {\n  /** In milliseconds: } */\n  readonly timeout: number\n}"
      }
    ])
  })

  it("name the superclass of an error and of a service", () => {
    const { declarations } = parse(`
declare const Failed_base: new <A>(args: A) => import("effect/Cause").YieldableError & {
    readonly _tag: "Failed";
} & Readonly<A>;
export declare class Failed extends Failed_base<{
    readonly code: string;
}> {
}
declare const Host_base: Context.ServiceClass<Host, "a/Host", Shape>;
export declare class Host extends Host_base {
}`)
    assert.deepStrictEqual(declarations.map(({ source }) => source), [
      "class Failed extends Data.TaggedError(\"Failed\")<{\n  readonly code: string\n}> {\n}",
      "class Host extends Context.ServiceClass<Host, \"a/Host\", Shape> {\n}"
    ])
  })

  it("are told from those of other modules, whichever way they are exported", () => {
    const { reexports } = parse(`
import { type A, B as Inner } from "./internal/ab.ts";
export type { A };
export { Inner as B };
export { C } from "./internal/c.ts";`)
    assert.deepStrictEqual(reexports, [
      { name: "A", original: "A", from: "./internal/ab.ts" },
      { name: "B", original: "B", from: "./internal/ab.ts" },
      { name: "C", original: "C", from: "./internal/c.ts" }
    ])
  })

  it("leave out what is internal", () => {
    const { declarations } = parse("/** @internal */\nexport declare const secret: string;\nexport type Open = string;")
    assert.deepStrictEqual(declarations.map(({ name }) => name), ["Open"])
  })
})
