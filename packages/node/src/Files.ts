/**
 * Files beneath one directory: whole writes or none, and work that lets go between any two steps.
 *
 * Nothing outside the root is read or written, whatever links lie in it; hard links and mounts are not told from other
 * files. What is not a regular file (a pipe, a device) is refused before it is read, since it could keep a reader
 * waiting for ever where nobody can reach it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Crypto from "node:crypto"
import type { Dirent } from "node:fs"
import * as Path from "node:path"
import { FileFailed } from "./FileFailed.ts"
import * as Beneath from "./internal/beneath.ts"
import * as FileFailure from "./internal/fileFailure.ts"
import * as Fs from "./internal/fileSystem.ts"

/** Something in a directory; `path` is relative to the root. */
export interface Entry {
  readonly path: string
  readonly kind: "file" | "directory" | "link" | "other"
}

export interface ReadOptions {
  /** A larger file is `TooLarge`. Default: 16 MiB. */
  readonly maxBytes?: number | undefined
}

/** A part of a file, and how large the file was when it was opened. */
export interface Slice {
  readonly bytes: Uint8Array
  readonly size: number
}

/** What a file is written from. */
export type Content<E = never, R = never> = string | Uint8Array | Stream.Stream<Uint8Array, E, R>

export class Files extends Context.Service<Files, {
  /** The real path of the directory everything is beneath. */
  readonly root: string
  /** Reads a whole file. */
  readonly read: (path: string, options?: ReadOptions) => Effect.Effect<Uint8Array, FileFailed>
  /** Reads at most `maxBytes` bytes from `from` on. */
  readonly readSlice: (path: string, from: number, maxBytes: number) => Effect.Effect<Slice, FileFailed>
  /** Reads a file piece by piece, each when it is asked for. */
  readonly stream: (path: string) => Stream.Stream<Uint8Array, FileFailed>
  /**
   * Writes a whole file or nothing: into a temporary file beside it, which takes its place once it is on the disk.
   *
   * **Interruption**: until then leaves the old file as it was and nothing beside it; from then on waits for the end.
   *
   * **Limits**: the file keeps who may read, write and run it, not its owner, and so neither the right to run as that
   * owner. The machine that fails in between leaves a `.quiesce-*` file.
   */
  readonly write: <E = never, R = never>(path: string, content: Content<E, R>) => Effect.Effect<void, FileFailed | E, R>
  /** The real path of a directory, for what cannot be given an open one: the working directory of a command. */
  readonly directory: (path: string) => Effect.Effect<string, FileFailed>
  /** The entries of one directory, in no particular order. */
  readonly list: (path: string) => Stream.Stream<Entry, FileFailed>
  /**
   * Every entry beneath a directory, a directory before what is in it. Links are told, not followed.
   *
   * **Limits**: a directory that is gone, or is none any more, when its turn comes is told all the same, without what
   * was in it. So is one whose name is no UTF-8, since nothing can be reached by such a name.
   */
  readonly walk: (path: string) => Stream.Stream<Entry, FileFailed>
}>()("@quiesce/node/Files") {}

const defaultMaxBytes = 16 * 1024 * 1024

/** How much one call reads: large enough that the calls cost little, small enough that interruption need not wait. */
const readSize = 256 * 1024

export const make = Effect.fnUntraced(function*(
  options: { readonly root: string }
): Effect.fn.Return<Files["Service"], FileFailed> {
  const root = yield* Effect.mapError(Fs.realPath(options.root), FileFailure.at(options.root))
  yield* Effect.scoped(Beneath.openDirectory(root, root))

  const read = Effect.fnUntraced(
    function*(path: string, options: ReadOptions = {}) {
      const { maxBytes = defaultMaxBytes } = options
      const { fd, size } = yield* openFile(root, path)
      const tooLarge = new FileFailed({ path, reason: "TooLarge", code: "EFBIG" })
      if (!(size <= maxBytes)) return yield* tooLarge
      const bytes = yield* readFrom(fd, 0, maxBytes + 1)
      // It grew while it was read, or it is one of those that have no size until they are read.
      return bytes.length > maxBytes ? yield* tooLarge : bytes
    },
    Effect.scoped,
    (effect, path) => Effect.mapError(effect, FileFailure.at(path))
  )

  const readSlice = Effect.fnUntraced(
    function*(path: string, from: number, maxBytes: number) {
      // Node would take -1 for "where the last read ended".
      if (!(from >= 0)) return yield* new FileFailed({ path, reason: "Invalid", code: "ERR_OUT_OF_RANGE" })
      const { fd, size } = yield* openFile(root, path)
      return { bytes: yield* readFrom(fd, from, maxBytes), size }
    },
    Effect.scoped,
    (effect, path) => Effect.mapError(effect, FileFailure.at(path))
  )

  const stream = (path: string): Stream.Stream<Uint8Array, FileFailed> =>
    Stream.unwrap(
      Effect.map(openFile(root, path), ({ fd }) =>
        Stream.unfold(0, (position) =>
          Effect.map(readFrom(fd, position, readSize), (bytes) =>
            bytes.length === 0 ? undefined : [bytes, position + bytes.length] as const)))
    ).pipe(
      Stream.mapError(FileFailure.at(path))
    )

  const write = <E, R>(path: string, content: Content<E, R>): Effect.Effect<void, FileFailed | E, R> =>
    Effect.scoped(Effect.gen(function*() {
      const at = FileFailure.at(path)
      const { directory, name } = yield* Beneath.openPlace(root, path)
      const target = Path.join(directory.prefix, name)
      const mode = yield* modeOf(target, path)
      const temporary = Path.join(directory.prefix, `.quiesce-${Crypto.randomUUID()}`)
      const fd = yield* Effect.mapError(makeTemporary(temporary, mode), at)
      yield* isStream(content)
        ? Stream.runForEach(content, (bytes) => Effect.mapError(Fs.write(fd, bytes), at))
        : Effect.mapError(Fs.write(fd, typeof content === "string" ? new TextEncoder().encode(content) : content), at)
      yield* Effect.mapError(Fs.sync(fd), at)
      // One step: whoever interrupts now finds the new file whole, on the disk, and under its name.
      yield* Effect.mapError(Effect.andThen(Fs.rename(temporary, target), syncDirectory(directory)), at).pipe(
        Effect.scoped,
        Effect.uninterruptible
      )
    }))

  const directory = (path: string): Effect.Effect<string, FileFailed> =>
    Beneath.resolve(root, path).pipe(
      Effect.flatMap((resolved) => Beneath.openDirectory(root, resolved)),
      Effect.map(({ real }) => real),
      Effect.scoped
    )

  const list = (path: string): Stream.Stream<Entry, FileFailed> =>
    Stream.unwrap(Effect.map(Beneath.resolve(root, path), (resolved) => entries(root, resolved)))

  const walk = (path: string): Stream.Stream<Entry, FileFailed> =>
    Stream.suspend(() => {
      // Told, and not looked into yet. One directory is open at a time, however deep they lie.
      const ahead: Array<string> = []
      const told = (entries: Stream.Stream<Entry, FileFailed>) =>
        Stream.tap(entries, ({ kind, path }) => Effect.sync(() => kind === "directory" && ahead.push(path)))
      const next = Effect.sync(() => {
        const directory = ahead.pop()
        return directory === undefined ? undefined : [directory, undefined] as const
      })
      const beneath = Stream.flatMap(
        Stream.unfold(undefined, () => next),
        (directory) => told(Stream.catchIf(list(directory), isNoDirectory, () => Stream.empty))
      )
      return Stream.concat(told(list(path)), beneath)
    })

  return { root, read, readSlice, stream, write, directory, list, walk }
})

export const layer = (options: { readonly root: string }): Layer.Layer<Files, FileFailed> =>
  Layer.effect(Files, make(options))

/** What was told to be a directory is gone, or has become something else, such as a link that leads out of the root. */
const isNoDirectory = ({ reason }: FileFailed): boolean =>
  reason === "NotFound" || reason === "NotADirectory" || reason === "Outside"

const openFile = Effect.fnUntraced(function*(root: string, path: string) {
  const { directory, name } = yield* Beneath.openPlace(root, path)
  // Nonblocking, so that a pipe without a writer is opened and can be refused.
  const fd = yield* Fs.opened(Path.join(directory.prefix, name), Fs.O_RDONLY | Fs.O_NOFOLLOW | Fs.O_NONBLOCK)
  const stats = yield* Fs.stat(fd)
  if (!stats.isFile()) {
    return yield* new FileFailed({ path, reason: "NotAFile", code: stats.isDirectory() ? "EISDIR" : "ENXIO" })
  }
  return { fd, size: stats.size }
})

const readFrom = Effect.fnUntraced(function*(fd: number, from: number, maxBytes: number) {
  const pieces: Array<Uint8Array> = []
  let length = 0
  while (length < maxBytes) {
    const buffer = new Uint8Array(Math.min(readSize, maxBytes - length))
    const count = yield* Fs.read(fd, buffer, from + length)
    if (count === 0) break
    pieces.push(buffer.subarray(0, count))
    length += count
  }
  return new Uint8Array(Buffer.concat(pieces, length))
})

/** The mode of the file that is to be replaced, if there is one. */
const modeOf = Effect.fnUntraced(
  function*(target: string, path: string): Effect.fn.Return<number | undefined, FileFailed> {
    const stats = yield* Fs.linkStat(target).pipe(
      Effect.catchIf((error) => error.code === "ENOENT", () => Effect.succeed(undefined)),
      Effect.mapError(FileFailure.at(path))
    )
    if (stats === undefined) return undefined
    if (!stats.isFile()) {
      return yield* new FileFailed({ path, reason: "NotAFile", code: stats.isDirectory() ? "EISDIR" : "ENXIO" })
    }
    // The new file is another owner's, perhaps: who ran the old one as its owner would run this one as us.
    return stats.mode & 0o777
  }
)

/** A new file that is removed with the scope unless it has got another name by then. */
const makeTemporary = Effect.fnUntraced(function*(path: string, mode: number | undefined) {
  const fd = yield* Effect.acquireRelease(
    Fs.open(path, Fs.O_WRONLY | Fs.O_CREAT | Fs.O_EXCL | Fs.O_NOFOLLOW, 0o666),
    (fd) => Effect.andThen(Effect.ignore(Fs.close(fd)), Effect.ignore(Fs.remove(path)))
  )
  if (mode !== undefined) yield* Fs.chmod(fd, mode)
  return fd
})

/** Puts the new name on the disk too. Some file systems cannot, and then the name is as durable as they make it. */
const syncDirectory = (directory: Beneath.Directory): Effect.Effect<void, never, Scope.Scope> =>
  Effect.ignore(Effect.flatMap(Fs.opened(directory.prefix, Fs.O_RDONLY), Fs.sync))

const entries = (root: string, path: string): Stream.Stream<Entry, FileFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    const { prefix } = yield* Beneath.openDirectory(root, path)
    const dir = yield* Effect.mapError(Fs.directory(prefix), FileFailure.at(path))
    return Stream.unfold(undefined, () =>
      Fs.nextEntry(dir).pipe(
        Effect.map((entry) => entry === null ? undefined : [toEntry(root, path, entry), undefined] as const),
        Effect.mapError(FileFailure.at(path))
      ))
  }))

const toEntry = (root: string, path: string, entry: Dirent): Entry => ({
  path: Path.relative(root, Path.join(path, entry.name)),
  kind: entry.isFile() ? "file" : entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "link" : "other"
})

const isStream = <E, R>(content: Content<E, R>): content is Stream.Stream<Uint8Array, E, R> => Stream.isStream(content)
