/**
 * Node's file calls as effects.
 *
 * A call that was handed to the system cannot be taken back, so each is uninterruptible and short: interruption takes
 * effect between two of them, and when a fiber is done no call of it is under way.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "node:fs"

type Done<A> = (error: NodeJS.ErrnoException | null, value: A) => void

const call = <A>(start: (done: Done<A>) => void): Effect.Effect<A, NodeJS.ErrnoException> =>
  Effect.uninterruptible(Effect.callback((resume) => {
    try {
      start((error, value) => resume(error === null ? Effect.succeed(value) : Effect.fail(error)))
    } catch (error) {
      // An argument that Node refuses, such as a path with a zero byte.
      resume(Effect.fail(error as NodeJS.ErrnoException))
    }
  }))

/** For calls that give nothing back, and whose callback Node types without a value. */
const run = (start: (done: (error: NodeJS.ErrnoException | null) => void) => void) =>
  call<void>((done) => start((error) => done(error, undefined)))

export const open = (path: string, flags: number, mode?: number) =>
  call<number>((done) => FileSystem.open(path, flags, mode, done))

export const close = (fd: number) => run((done) => FileSystem.close(fd, (error) => done(error ?? null)))

/** Opens for as long as the scope is. */
export const opened = (path: string, flags: number, mode?: number) =>
  Effect.acquireRelease(open(path, flags, mode), (fd) => Effect.ignore(close(fd)))

/** Reads into `buffer` what is at `position`, and says how many bytes that were; 0 at the end. */
export const read = (fd: number, buffer: Uint8Array, position: number) =>
  call<number>((done) => FileSystem.read(fd, buffer, 0, buffer.length, position, done))

/** Writes all of `bytes` behind what was written before; the system may take it in parts. */
export const write = Effect.fnUntraced(function*(
  fd: number,
  bytes: Uint8Array
): Effect.fn.Return<void, NodeJS.ErrnoException> {
  for (let offset = 0; offset < bytes.length;) {
    const part = bytes.subarray(offset, offset + writeSize)
    offset += yield* call<number>((done) => FileSystem.write(fd, part, 0, part.length, null, done))
  }
})

/** How much one call writes: some milliseconds of a slow disk, which is how long interruption may have to wait. */
const writeSize = 1024 * 1024

export const stat = (fd: number) => call<FileSystem.Stats>((done) => FileSystem.fstat(fd, done))

export const linkStat = (path: string) => call<FileSystem.Stats>((done) => FileSystem.lstat(path, done))

export const chmod = (fd: number, mode: number) => run((done) => FileSystem.fchmod(fd, mode, done))

export const sync = (fd: number) => run((done) => FileSystem.fsync(fd, done))

export const rename = (from: string, to: string) => run((done) => FileSystem.rename(from, to, done))

export const remove = (path: string) => run((done) => FileSystem.unlink(path, done))

export const readLink = (path: string) => call<string>((done) => FileSystem.readlink(path, done))

export const realPath = (path: string) => call<string>((done) => FileSystem.realpath.native(path, done))

/** An open directory, for as long as the scope is. */
export const directory = (path: string) =>
  Effect.acquireRelease(
    call<FileSystem.Dir>((done) => FileSystem.opendir(path, { bufferSize: 64 }, done)),
    (dir) => Effect.ignore(run((done) => dir.close((error) => done(error ?? null))))
  )

/** The next entry, or null behind the last. */
export const nextEntry = (dir: FileSystem.Dir) => call<FileSystem.Dirent | null>((done) => dir.read(done))

export const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = FileSystem.constants
