/**
 * Opens what lies beneath a root, and nothing else.
 *
 * A check of a path says nothing about what the same path leads to when it is opened a moment later: any directory on
 * the way can have become a link in between. So a directory is opened first and then asked where it is, and what is in
 * it is reached through the open directory. On Linux `/proc/self/fd` makes both possible. Elsewhere the path is
 * resolved and checked, and somebody who can write beneath the root can win the race against the check.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Path from "node:path"
import { FileFailed } from "../FileFailed.ts"
import * as FileFailure from "./fileFailure.ts"
import * as Fs from "./fileSystem.ts"

/** A directory beneath the root. */
export interface Directory {
  /** Its real path. */
  readonly real: string
  /** What a name in it is appended to, so that it cannot be exchanged on the way. */
  readonly prefix: string
}

/** A name in a directory beneath the root. */
export interface Place {
  readonly directory: Directory
  readonly name: string
}

const isLinux = process.platform === "linux"

const isBeneath = (root: string, path: string): boolean =>
  path === root || path.startsWith(root === Path.sep ? root : root + Path.sep)

/** Reads a path as one beneath `root`; an absolute one is fine if it is. */
export const resolve = (root: string, path: string): Effect.Effect<string, FileFailed> => {
  const resolved = Path.resolve(root, path)
  return isBeneath(root, resolved)
    ? Effect.succeed(resolved)
    : Effect.fail(new FileFailed({ path, reason: "Outside", code: "EXDEV" }))
}

/** Opens the directory at the absolute `path`. */
export const openDirectory = Effect.fnUntraced(function*(
  root: string,
  path: string
): Effect.fn.Return<Directory, FileFailed, Scope.Scope> {
  const directory = yield* Effect.mapError(isLinux ? viaDescriptor(path) : viaPath(path), FileFailure.at(path))
  if (!isBeneath(root, directory.real)) return yield* new FileFailed({ path, reason: "Outside", code: "EXDEV" })
  return directory
})

const viaDescriptor = Effect.fnUntraced(function*(path: string) {
  const fd = yield* Fs.opened(path, Fs.O_RDONLY | Fs.O_DIRECTORY | Fs.O_NONBLOCK)
  const prefix = `/proc/self/fd/${fd}`
  return { real: yield* Fs.readLink(prefix), prefix }
})

const viaPath = Effect.fnUntraced(function*(path: string) {
  const real = yield* Fs.realPath(path)
  return { real, prefix: real }
})

/** As many links as the kernel follows (`ELOOP`). */
const maxLinks = 40

const isDirectoryName = (name: string): boolean => name === "" || name === "." || name === ".."

/**
 * Finds the directory and the name of `path`. A link there is followed to what it stands for, which need not exist.
 */
export const openPlace = Effect.fnUntraced(function*(
  root: string,
  path: string
): Effect.fn.Return<Place, FileFailed, Scope.Scope> {
  const target = yield* resolve(root, path)
  let parent = Path.dirname(target)
  let name = target === root ? "." : Path.basename(target)
  for (let links = 0; links < maxLinks; links++) {
    if (isDirectoryName(name)) return yield* new FileFailed({ path, reason: "NotAFile", code: "EISDIR" })
    const directory = yield* openDirectory(root, parent)
    const link = yield* Fs.readLink(Path.join(directory.prefix, name)).pipe(
      // EINVAL: it is no link. ENOENT: it is not there, and may be made.
      Effect.catchIf((error) => error.code === "EINVAL" || error.code === "ENOENT", () => Effect.succeed(undefined)),
      Effect.mapError(FileFailure.at(path))
    )
    if (link === undefined) return { directory, name }
    // The path is not made shorter: behind a link, `..` leads out of where that link leads.
    parent = Path.isAbsolute(link) ? Path.dirname(link) : `${directory.real}${Path.sep}${Path.dirname(link)}`
    name = Path.basename(link)
  }
  return yield* new FileFailed({ path, reason: "Other", code: "ELOOP" })
})
