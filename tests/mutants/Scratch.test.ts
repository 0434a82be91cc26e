import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as Scratch from "./Scratch.ts"

/** A repository with one workspace package `@toy/a` and one installed package, `installed`. */
const toy = Effect.acquireRelease(
  Effect.sync(() => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "quiesce-toy-")))
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), text)
    }
    write(".gitignore", "node_modules/\ndist/\n")
    write("packages/a/package.json", "{}")
    write("packages/a/src/index.ts", "export const a = 1")
    write("packages/a/dist/index.js", "built")
    write("packages/a/node_modules/own/index.js", "own")
    write("node_modules/installed/index.js", "installed")
    write("node_modules/.cache/file", "cache")
    write("deleted.ts", "")
    mkdirSync(join(root, "node_modules/@toy"))
    symlinkSync("../../packages/a", join(root, "node_modules/@toy/a"))
    const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: root, stdio: "ignore" })
    git("init")
    git("add", "deleted.ts", "packages/a/package.json")
    rmSync(join(root, "deleted.ts"))
    return root
  }),
  (root) => Effect.sync(() => rmSync(root, { recursive: true }))
)

it.effect("a scratch copy has the files of the working tree, tracked or not, without what is ignored or deleted", () =>
  Effect.gen(function*() {
    const { root } = yield* Scratch.make(yield* Scratch.repositoryAt(yield* toy))
    assert.strictEqual(readFileSync(join(root, "packages/a/src/index.ts"), "utf8"), "export const a = 1")
    assert.isTrue(existsSync(join(root, "packages/a/package.json")))
    assert.isFalse(existsSync(join(root, "packages/a/dist")))
    assert.isFalse(existsSync(join(root, "deleted.ts")))
    assert.isFalse(existsSync(join(root, "node_modules/.cache")))
  }))

it.effect("a scratch copy resolves workspace packages to itself and installed ones to where they are", () =>
  Effect.gen(function*() {
    const original = yield* toy
    const { root } = yield* Scratch.make(yield* Scratch.repositoryAt(original))
    assert.strictEqual(realpathSync(join(root, "node_modules/@toy/a")), join(root, "packages/a"))
    assert.strictEqual(
      realpathSync(join(root, "node_modules/installed")),
      join(original, "node_modules/installed")
    )
    assert.strictEqual(
      realpathSync(join(root, "packages/a/node_modules/own")),
      join(original, "packages/a/node_modules/own")
    )
  }))

it.effect("a scratch copy goes with its scope, and what it links to stays", () =>
  Effect.gen(function*() {
    const original = yield* toy
    const { root } = yield* Effect.scoped(Scratch.make(yield* Scratch.repositoryAt(original)))
    assert.isFalse(existsSync(root))
    assert.isTrue(existsSync(join(original, "node_modules/installed/index.js")))
    assert.isTrue(existsSync(join(original, "packages/a/node_modules/own/index.js")))
  }))

it.effect("a scratch copy that cannot be made leaves nothing and says why", () =>
  Effect.gen(function*() {
    const original = yield* toy
    const repository = yield* Scratch.repositoryAt(original)
    const failed = yield* Effect.flip(
      Effect.scoped(Scratch.make({ ...repository, modules: join(original, "nowhere") }))
    )
    assert.match(failed.message, /no scratch copy could be made: .*nowhere/)
  }))
