/**
 * A copy of a repository to break: its files as they are, without what is ignored, and its installed packages by
 * links.
 *
 * The one thing to get right is the workspace packages. `node_modules/@quiesce/core` is a link to `packages/core`; a
 * copy that kept the original link would test the unmutated source. Links that lead into the repository are therefore
 * made to lead into the copy, and only the rest lead outside.
 */
import { Data, Effect, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, isAbsolute, join, relative, sep } from "node:path"

export interface Repository {
  readonly root: string
  /** Paths relative to the root. */
  readonly files: ReadonlyArray<string>
  /** The `node_modules` that serve the whole repository; inside the root, or above it. */
  readonly modules: string
}

export interface Scratch {
  readonly root: string
}

export class ScratchFailed extends Data.TaggedError("ScratchFailed")<{ readonly cause: unknown }> {
  override get message() {
    return `no scratch copy could be made: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** The repository at `root`: what git tracks there, and what it would, were it added. */
export const repositoryAt = (root: string): Effect.Effect<Repository, ScratchFailed> =>
  Effect.try({
    try: () => ({
      root,
      files: execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
        cwd: root,
        encoding: "utf8",
        // The default of 1 MiB is the paths of some ten thousand files.
        maxBuffer: 64 * 1024 * 1024
      }).split("\0").filter((file) => file !== ""),
      modules: join(root, "node_modules")
    }),
    catch: (cause) => new ScratchFailed({ cause })
  })

/** Copies `repository` to a temporary folder, which is removed with the scope. */
export const make = (repository: Repository): Effect.Effect<Scratch, ScratchFailed, Scope.Scope> =>
  Effect.acquireRelease(
    // The real path, since the test runner knows its files by theirs.
    Effect.try(() => realpathSync(mkdtempSync(join(tmpdir(), "quiesce-mutants-")))),
    // The processes that wrote here are gone (they are younger, so they end first); the retries are for platforms
    // that hold a dead process's files a moment longer.
    (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))
  ).pipe(
    Effect.tap((root) => Effect.try(() => copy(repository, root))),
    Effect.map((root) => ({ root })),
    Effect.mapError(({ cause }) => new ScratchFailed({ cause }))
  )

const copy = (repository: Repository, scratch: string): void => {
  for (const file of repository.files) {
    const source = join(repository.root, file)
    // Git also lists what was deleted but not yet committed.
    if (lstatSync(source, { throwIfNoEntry: false }) === undefined) continue
    cpSync(source, join(scratch, file), { verbatimSymlinks: true })
  }
  linkModules(repository.modules, join(scratch, "node_modules"), repository.root, scratch)
  for (const file of repository.files) {
    const modules = join(dirname(file), "node_modules")
    const nested = join(repository.root, modules)
    // Packages of a workspace that differ in version from those at the top stand in a folder of its own.
    if (file.endsWith("/package.json") && existsSync(nested)) {
      linkModules(nested, join(scratch, modules), repository.root, scratch)
    }
  }
}

/** Fills `target` with links to the packages of `modules`, or to their copies where they belong to the repository. */
const linkModules = (modules: string, target: string, root: string, scratch: string): void => {
  mkdirSync(target, { recursive: true })
  for (const name of readdirSync(modules)) {
    const entry = join(modules, name)
    if (name.startsWith("@")) {
      linkModules(entry, join(target, name), root, scratch)
    } else if (!name.startsWith(".") || name === ".bin") {
      // The other dotted entries are caches of tools.
      const real = realpathSync(entry)
      const inside = relative(realpathSync(root), real)
      const owned = inside !== "" && !inside.startsWith("..") && !isAbsolute(inside) &&
        !inside.split(sep).includes("node_modules")
      symlinkSync(owned ? join(scratch, inside) : real, join(target, name))
    }
  }
}
