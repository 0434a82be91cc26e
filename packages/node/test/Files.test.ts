import { assert, describe, it } from "@effect/vitest"
import { assertEquals } from "@effect/vitest/utils"
import { type FileFailed, Files } from "@quiesce/node"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cites } from "../../../tests/conformance/cites.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

/** A directory with a root in it, and the files beneath the root. */
const world = Effect.gen(function*() {
  const outside = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(join(tmpdir(), "quiesce-files-")))),
    (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true }))
  )
  const root = join(outside, "root")
  Fs.mkdirSync(root)
  Fs.writeFileSync(join(outside, "secret"), "secret")
  const files = yield* Files.make({ root })
  return { files, root, outside, names: () => Fs.readdirSync(root).sort() }
})

const reasonOf = <A, R>(effect: Effect.Effect<A, FileFailed.FileFailed, R>) =>
  Effect.map(
    Effect.exit(effect),
    (exit) =>
      Exit.isSuccess(exit)
        ? "succeeded"
        : Exit.findErrorOption(exit).pipe((error) => error._tag === "Some" ? error.value.reason : "died")
  )

const openFiles = () => Fs.readdirSync("/proc/self/fd").length

describe("a write", () => {
  it.live(
    cites("replaces the whole file, keeps who may use it and leaves nothing beside it", "NODE-09"),
    () =>
      Effect.gen(function*() {
        const { files, names, root } = yield* world
        Fs.writeFileSync(join(root, "a"), "something much longer than what follows")
        // Whoever ran it as its owner must not run as whoever wrote it.
        Fs.chmodSync(join(root, "a"), 0o6640)
        yield* files.write("a", "new")
        assert.strictEqual(Fs.readFileSync(join(root, "a"), "utf8"), "new")
        assert.strictEqual(Fs.statSync(join(root, "a")).mode & 0o7777, 0o640)
        yield* files.write("b", bytes("bytes"))
        yield* files.write("c", Stream.make(bytes("a "), bytes("stream")))
        assert.strictEqual(Fs.readFileSync(join(root, "c"), "utf8"), "a stream")
        assert.deepStrictEqual(names(), ["a", "b", "c"])
      })
  )

  it.live(
    cites("that is cancelled before the rename leaves the old file whole and nothing beside it", "NODE-09"),
    () =>
      Effect.gen(function*() {
        const { files, names, root } = yield* world
        Fs.writeFileSync(join(root, "a"), "old")
        const before = openFiles()
        const half = yield* Deferred.make<void>()
        const content = Stream.concat(
          Stream.make(bytes("half")),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(half, undefined), Effect.never))
        )
        const fiber = yield* Effect.forkChild(files.write("a", content))
        yield* Deferred.await(half)
        assert.strictEqual(names().length, 2)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(Fs.readFileSync(join(root, "a"), "utf8"), "old")
        assert.deepStrictEqual(names(), ["a"])
        assert.strictEqual(openFiles(), before)
      })
  )

  it.live(
    cites("whose content fails leaves the old file whole and nothing beside it", "NODE-09"),
    () =>
      Effect.gen(function*() {
        const { files, names, root } = yield* world
        Fs.writeFileSync(join(root, "a"), "old")
        const content = Stream.concat(Stream.make(bytes("half")), Stream.fail("broken" as const))
        assert.strictEqual(yield* Effect.flip(files.write("a", content)), "broken")
        assert.strictEqual(Fs.readFileSync(join(root, "a"), "utf8"), "old")
        assert.deepStrictEqual(names(), ["a"])
      })
  )

  it.live(
    cites("at any instant of which it is cancelled leaves the old file or the new one, whole", "NODE-09"),
    () =>
      Effect.gen(function*() {
        const { files, names, root } = yield* world
        const contents = ["x".repeat(300_000), "y".repeat(300_000)]
        yield* files.write("a", contents[0]!)
        const seen = new Set<string>()
        for (let round = 0; round < 60; round++) {
          const content = contents[round % 2]!
          const fiber = yield* Effect.forkChild(files.write("a", content), { startImmediately: true })
          // Some way into the write, which way differs with the speed of the disk: 0 to 6 turns of the event loop.
          for (let turn = 0; turn < round % 7; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          const read = Fs.readFileSync(join(root, "a"), "utf8")
          assert.isTrue(contents.includes(read))
          seen.add(read)
          assert.deepStrictEqual(names(), ["a"])
        }
      })
  )

  it.live(cites("is never seen half by a reader", "NODE-09"), () =>
    Effect.gen(function*() {
      const { files } = yield* world
      const contents = ["x".repeat(200_000), "y".repeat(100_000)]
      yield* files.write("a", contents[0]!)
      const writer = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 20 }), (_, i) => files.write("a", contents[i % 2]!))
      )
      while (writer.pollUnsafe() === undefined) assert.isTrue(contents.includes(text(yield* files.read("a"))))
      yield* Fiber.join(writer)
    }))

  it.live("does not replace a directory, a pipe or what is outside", () =>
    Effect.gen(function*() {
      const { files, names, outside, root } = yield* world
      Fs.mkdirSync(join(root, "directory"))
      execFileSync("mkfifo", [join(root, "pipe")])
      assert.strictEqual(yield* reasonOf(files.write("directory", "")), "NotAFile")
      assert.strictEqual(yield* reasonOf(files.write("pipe", "")), "NotAFile")
      assert.strictEqual(yield* reasonOf(files.write("", "")), "NotAFile")
      assert.strictEqual(yield* reasonOf(files.write("../secret", "")), "Outside")
      assert.strictEqual(yield* reasonOf(files.write("no/such/directory", "")), "NotFound")
      assert.strictEqual(yield* reasonOf(files.write("a\0b", "")), "Invalid")
      assert.strictEqual(yield* reasonOf(files.write("a".repeat(300), "")), "Invalid")
      assert.deepStrictEqual(names(), ["directory", "pipe"])
      assert.strictEqual(Fs.readFileSync(join(outside, "secret"), "utf8"), "secret")
    }))
})

describe("the root", () => {
  it.live("is not left, whatever the path and the links in it say", () =>
    Effect.gen(function*() {
      const { files, outside, root } = yield* world
      Fs.symlinkSync("../secret", join(root, "relative"))
      Fs.symlinkSync(join(outside, "secret"), join(root, "absolute"))
      Fs.symlinkSync("..", join(root, "up"))
      Fs.symlinkSync("chain2", join(root, "chain1"))
      Fs.symlinkSync("../secret", join(root, "chain2"))
      for (
        const path of [
          "../secret",
          join(outside, "secret"),
          "relative",
          "absolute",
          "up/secret",
          "chain1",
          "up/root/../secret"
        ]
      ) {
        assert.strictEqual(yield* reasonOf(files.read(path)), "Outside", path)
        assert.strictEqual(yield* reasonOf(files.write(path, "x")), "Outside", path)
      }
      assert.strictEqual(yield* reasonOf(Stream.runDrain(files.list("up"))), "Outside")
      assert.strictEqual(Fs.readFileSync(join(outside, "secret"), "utf8"), "secret")
    }))

  it.live("is where links within it lead, also through a name that looks like the root's", () =>
    Effect.gen(function*() {
      const { files, outside, root } = yield* world
      Fs.mkdirSync(join(outside, "root2"))
      Fs.writeFileSync(join(outside, "root2", "file"), "")
      assert.strictEqual(yield* reasonOf(files.read("../root2/file")), "Outside")
      Fs.mkdirSync(join(root, "real"))
      Fs.symlinkSync("real", join(root, "link"))
      Fs.symlinkSync("real/file", join(root, "file"))
      yield* files.write("link/file", "one")
      assert.strictEqual(text(yield* files.read("file")), "one")
      yield* files.write("file", "two")
      assert.isTrue(Fs.lstatSync(join(root, "file")).isSymbolicLink())
      assert.strictEqual(Fs.readFileSync(join(root, "real", "file"), "utf8"), "two")
      Fs.mkdirSync(join(root, "real", "deep"))
      Fs.symlinkSync("real/deep", join(root, "deep"))
      Fs.symlinkSync("deep/../other", join(root, "around"))
      Fs.writeFileSync(join(root, "real", "other"), "where the system finds it")
      assert.strictEqual(text(yield* files.read("around")), "where the system finds it")
      for (const link of [".", "deep/..", "/"]) {
        Fs.symlinkSync(link, join(root, "directory"))
        assert.notStrictEqual(yield* reasonOf(files.read("directory")), "succeeded", link)
        assert.notStrictEqual(yield* reasonOf(files.write("directory", "")), "succeeded", link)
        Fs.unlinkSync(join(root, "directory"))
      }
      yield* files.write(join(root, "file"), "three")
      assert.strictEqual(text(yield* files.read("real/file")), "three")
    }))

  it.live("holds against a directory that becomes a link while it is used", () =>
    Effect.gen(function*() {
      const { files, outside, root } = yield* world
      Fs.mkdirSync(join(outside, "target"))
      Fs.mkdirSync(join(root, "directory"))
      const half = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const content = Stream.fromEffect(
        Effect.as(Effect.andThen(Deferred.succeed(half, undefined), Deferred.await(go)), bytes("content"))
      )
      const fiber = yield* Effect.forkChild(files.write("directory/file", content))
      yield* Deferred.await(half)
      Fs.renameSync(join(root, "directory"), join(root, "moved"))
      Fs.symlinkSync(join(outside, "target"), join(root, "directory"))
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(Fs.readdirSync(join(outside, "target")), [])
      assert.deepStrictEqual(Fs.readdirSync(join(root, "moved")), ["file"])
    }))

  it.live("must be a directory", () =>
    Effect.gen(function*() {
      const { outside } = yield* world
      assert.strictEqual(yield* reasonOf(Files.make({ root: join(outside, "secret") })), "NotADirectory")
      assert.strictEqual(yield* reasonOf(Files.make({ root: join(outside, "nowhere") })), "NotFound")
    }))

  it.live("links in a circle are an error and no endless search", () =>
    Effect.gen(function*() {
      const { files, root } = yield* world
      Fs.symlinkSync("b", join(root, "a"))
      Fs.symlinkSync("a", join(root, "b"))
      assert.strictEqual(yield* reasonOf(files.read("a")), "Other")
    }))
})

describe("a read", () => {
  it.live("gives the file, a part of it, or its pieces", () =>
    Effect.gen(function*() {
      const { files, root } = yield* world
      const content = Buffer.alloc(700_000, "0123456789")
      Fs.writeFileSync(join(root, "a"), content)
      assert.deepStrictEqual(Buffer.from(yield* files.read("a")), content)
      const slice = yield* files.readSlice("a", 699_995, 100)
      assert.strictEqual(text(slice.bytes), "56789")
      assert.strictEqual(slice.size, 700_000)
      const pieces = yield* Stream.runCollect(files.stream("a"))
      assert.isAbove(pieces.length, 1)
      assert.deepStrictEqual(Buffer.concat(pieces), content)
      Fs.writeFileSync(join(root, "empty"), "")
      assert.strictEqual((yield* files.read("empty")).length, 0)
      assert.deepStrictEqual(yield* Stream.runCollect(files.stream("empty")), [])
    }))

  it.live("refuses what is too large, missing, or no file", () =>
    Effect.gen(function*() {
      const { files, root } = yield* world
      Fs.writeFileSync(join(root, "a"), "12345")
      execFileSync("mkfifo", [join(root, "pipe")])
      assert.strictEqual(yield* reasonOf(files.read("a", { maxBytes: 5 })), "succeeded")
      assert.strictEqual(yield* reasonOf(files.read("a", { maxBytes: 4 })), "TooLarge")
      assert.strictEqual(yield* reasonOf(files.read("b")), "NotFound")
      assert.strictEqual(yield* reasonOf(files.read("a", { maxBytes: NaN })), "TooLarge")
      for (const from of [-1, NaN, 0.5]) {
        assert.strictEqual(yield* reasonOf(files.readSlice("a", from, 5)), "Invalid")
      }
      assert.strictEqual(yield* reasonOf(files.read("pipe")), "NotAFile")
      assert.strictEqual(yield* reasonOf(files.read(".")), "NotAFile")
      assert.strictEqual(yield* reasonOf(files.read("a/b")), "NotADirectory")
      const missing = yield* Effect.flip(files.read("b"))
      assertEquals(missing.message, "b: there is no such file (ENOENT)")
    }))

  it.live(cites("that is interrupted between two pieces closes the file", "NODE-09"), () =>
    Effect.gen(function*() {
      const { files, root } = yield* world
      Fs.writeFileSync(join(root, "a"), Buffer.alloc(3_000_000))
      const before = openFiles()
      yield* Stream.runDrain(Stream.take(files.stream("a"), 1))
      const fiber = yield* Effect.forkChild(files.read("a"), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(openFiles(), before)
    }))
})

describe("a walk", () => {
  it.live("shows everything once, links without following them, and stops where it is told to", () =>
    Effect.gen(function*() {
      const { files, root } = yield* world
      Fs.mkdirSync(join(root, "a", "b"), { recursive: true })
      Fs.writeFileSync(join(root, "a", "b", "file"), "")
      Fs.symlinkSync("..", join(root, "a", "loop"))
      execFileSync("mkfifo", [join(root, "pipe")])
      const before = openFiles()
      const entries = yield* Stream.runCollect(files.walk(""))
      assert.deepStrictEqual([...entries].sort((a, b) => a.path < b.path ? -1 : 1), [
        { path: "a", kind: "directory" },
        { path: "a/b", kind: "directory" },
        { path: "a/b/file", kind: "file" },
        { path: "a/loop", kind: "link" },
        { path: "pipe", kind: "other" }
      ])
      assert.strictEqual((yield* Stream.runCollect(Stream.take(files.walk("."), 2))).length, 2)
      assert.strictEqual(openFiles(), before)
      assert.deepStrictEqual((yield* Stream.runCollect(files.list("a/b"))).map(({ path }) => path), ["a/b/file"])
    }))

  it.live("tells a directory that goes away, or becomes something else, and goes on", () =>
    Effect.gen(function*() {
      const { files, outside, root } = yield* world
      for (const name of ["gone", "file", "link", "pipe", "whole"]) Fs.mkdirSync(join(root, name))
      Fs.writeFileSync(join(root, "whole", "a"), "")
      Fs.mkdirSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])]))
      const before = openFiles()
      let count = 0
      const change = Effect.sync(() => {
        if (++count !== 6) return
        for (const name of ["gone", "file", "link", "pipe"]) Fs.rmdirSync(join(root, name))
        Fs.writeFileSync(join(root, "file"), "")
        Fs.symlinkSync(outside, join(root, "link"))
        execFileSync("mkfifo", [join(root, "pipe")])
      })
      const entries = yield* Stream.runCollect(Stream.tap(files.walk("."), () => change))
      assert.deepStrictEqual(
        entries.map(({ path }) => path).sort(),
        ["file", "gone", "link", "pipe", "whole", "whole/a", "\ufffd"]
      )
      assert.strictEqual(openFiles(), before)
      assert.strictEqual(yield* reasonOf(Stream.runDrain(files.walk("gone"))), "NotFound")
    }))

  it.live("has one directory open, however deep they lie", () =>
    Effect.gen(function*() {
      const { files, root } = yield* world
      const depth = 50
      Fs.mkdirSync(join(root, ...Array.from({ length: depth }, () => "a")), { recursive: true })
      const before = openFiles()
      let most = 0
      const entries = yield* Stream.runCollect(
        Stream.tap(files.walk("."), () => Effect.sync(() => most = Math.max(most, openFiles())))
      )
      assert.strictEqual(entries.length, depth)
      // The directory itself, and Node's reading of it.
      assert.isAtMost(most - before, 2)
    }))
})
