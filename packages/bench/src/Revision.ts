/**
 * The repository as it was at another revision, ready to be measured beside this one.
 *
 * The instrument is this revision's on both sides, only what it measures differs, and the two take turns process by
 * process. A dependency whose version changed between the two is this revision's on both sides.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const git = (cwd: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { cwd, encoding: "utf8" })

/** Links what is installed at `from`, but the packages of this repository, which are `to`'s own. */
const linkDependencies = (from: string, to: string) => {
  const modules = join(to, "node_modules")
  mkdirSync(join(modules, "@quiesce"), { recursive: true })
  for (const entry of readdirSync(join(from, "node_modules"))) {
    if (entry !== "@quiesce") symlinkSync(join(from, "node_modules", entry), join(modules, entry))
  }
  for (const entry of readdirSync(join(to, "packages"))) {
    symlinkSync(join(to, "packages", entry), join(modules, "@quiesce", entry))
  }
}

/** Checks `revision` out beside the repository at `root`, runs `use` on it, and removes it. */
export const using = async <A>(root: string, revision: string, use: (checkout: string) => Promise<A>): Promise<A> => {
  const directory = mkdtempSync(join(tmpdir(), "quiesce-bench-"))
  const checkout = join(directory, "checkout")
  git(root, "worktree", "add", "--quiet", "--detach", checkout, revision)
  try {
    const bench = join(checkout, "packages/bench")
    rmSync(bench, { recursive: true, force: true })
    cpSync(join(root, "packages/bench"), bench, { recursive: true, filter: (path) => !path.endsWith("node_modules") })
    linkDependencies(root, checkout)
    const own = join(root, "packages/bench/node_modules")
    if (existsSync(own)) symlinkSync(own, join(bench, "node_modules"))
    return await use(checkout)
  } finally {
    git(root, "worktree", "remove", "--force", checkout)
    rmSync(directory, { recursive: true, force: true })
  }
}
