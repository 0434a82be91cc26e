/** The mutants of `packages/wire`. */
import type { Mutant } from "./Mutant.ts"

const frames = "packages/wire/src/Frames.ts"
const skim = "packages/wire/src/internal/skim.ts"
const test = "packages/wire/test/Frames.test.ts"

export const wire: ReadonlyArray<Mutant> = [
  {
    name: "a frame can be of any length",
    clause: "MCP-11",
    file: frames,
    find: "if (size > maxBytes) {",
    replace: "if (size < 0) {",
    test: { file: test, title: "that is too long is not kept, however long it is" }
  },
  {
    name: "a frame can be of any depth",
    clause: "ACP-08",
    file: frames,
    find: "if (!inString && ++depth > max) return true",
    replace: "if (!inString && ++depth > max) return false",
    test: { file: test, title: "that is nested too deeply tells whose it is" }
  },
  {
    name: "brackets in strings nest",
    clause: "ACP-08",
    file: frames,
    find: "if (!inString && ++depth > max) return true",
    replace: "if (++depth > max) return true",
    test: { file: test, title: "is not nested by brackets in its strings" }
  },
  {
    name: "what is kept of a frame grows by as much as comes",
    clause: "MCP-11",
    file: frames,
    find: "Math.min(maxBytes, Math.max(size, 2 * kept.length))",
    replace: "size",
    test: { file: test, title: "that comes byte by byte costs what it is long" }
  },
  {
    name: "a chunk is kept as its sender's",
    clause: "MCP-11",
    file: frames,
    find: "    if (size > kept.length) {",
    replace: `    if (bytes === 0) {
      kept = part
    } else if (size > kept.length) {`,
    test: { file: test, title: "that is kept is nobody's to write into" }
  },
  {
    name: "the end of a frame that is too long begins the next one",
    clause: "ACP-08",
    file: frames,
    find: "    if (skimming !== undefined) return skimming.push(part)\n",
    replace: "",
    test: { file: test, title: "that is too long is told as that, and the next one is read" }
  },
  {
    name: "an id of any length is kept",
    clause: "ACP-08",
    file: skim,
    find: "if (this.#token.length > maxTokenBytes) return undefined",
    replace: "if (this.#token.length > 2 * maxTokenBytes) return undefined",
    test: { file: test, title: "that is too long has no id where that is long itself" }
  },
  {
    name: "any id in a frame is its id",
    clause: "ACP-08",
    file: skim,
    find: "if (this.#depth !== 1) return this.#keep(byte)",
    replace: "if (this.#depth < 1) return this.#keep(byte)",
    test: { file: test, title: "that is too long tells whose it is, wherever it is cut" }
  }
]
