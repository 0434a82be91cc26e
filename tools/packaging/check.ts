/**
 * Packs packages and checks the tarballs: what they hold, what they say of themselves, what publint and
 * arethetypeswrong find, and what somebody who installs them meets.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Package } from "../packages.ts"
import { run } from "../run.ts"
import * as Consumer from "./consumer.ts"
import * as Files from "./files.ts"
import * as Manifest from "./manifest.ts"
import { pack } from "./pack.ts"

const tool = async (command: string, args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { code, output } = await run(command, args, { output: "capture" })
  return code === 0 ? [] : [`${command} found faults:\n${output}`]
}

/** The faults of one package and its tarball. */
const faults = async (pkg: Package, files: ReadonlyArray<string>, tarball: string): Promise<ReadonlyArray<string>> => {
  const { name } = pkg.manifest
  // Entry points behind a pattern are not discovered, so they are named.
  const modules = Consumer.entryPoints(pkg).filter((entry) => entry !== name).map((entry) =>
    entry.slice(name.length + 1)
  )
  const found = await Promise.all([
    tool("publint", ["run", tarball, "--strict"]),
    tool("attw", [
      tarball,
      "--profile=esm-only",
      "--no-color",
      "--no-emoji",
      ...(modules.length === 0 ? [] : ["--include-entrypoints", ...modules])
    ])
  ])
  return [...Manifest.faults(pkg.manifest), ...Files.faults(pkg, files), ...found.flat()].map((fault) =>
    `${name}: ${fault}`
  )
}

/** The faults of `packages` as they would be published, as sentences. `directory` is an empty directory to work in. */
export const check = async (directory: string, packages: ReadonlyArray<Package>): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  const packed: Array<Consumer.Packed> = []
  for (const pkg of packages) {
    const { filename, files } = await pack(pkg, directory)
    const tarball = join(directory, filename)
    found.push(...await faults(pkg, files.map((file) => file.path), tarball))
    packed.push({ pkg, tarball })
  }
  const project = join(directory, "consumer")
  mkdirSync(project)
  found.push(...await Consumer.faults(project, packed))
  return found
}
