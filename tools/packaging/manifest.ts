/**
 * What every published package says of itself: the same few things, the same way.
 */
import { isDeepStrictEqual } from "node:util"
import type { Manifest } from "../packages.ts"

/**
 * The one export map: a module per name, types first for who needs them, `internal/` closed. The condition comes before
 * both, so that tests and examples of this repository run on sources; nobody else sets it.
 */
const exportMap = {
  ".": {
    "@quiesce/source": "./src/index.ts",
    types: "./dist/index.d.ts",
    default: "./dist/index.js"
  },
  "./package.json": "./package.json",
  "./internal/*": null,
  "./*": {
    "@quiesce/source": "./src/*.ts",
    types: "./dist/*.d.ts",
    default: "./dist/*.js"
  }
}

/** npm packs the manifest, README.md and LICENSE by itself, and no other page. */
const files = ["AGENTS.md", "dist", "src"]

export const faults = (manifest: Manifest): ReadonlyArray<string> => {
  const say = (holds: boolean, fault: string): ReadonlyArray<string> => (holds ? [] : [fault])
  return [
    ...say(manifest.type === "module", `"type" is not "module"`),
    ...say(manifest.sideEffects === false, `"sideEffects" is not false: a bundler would keep modules nobody uses`),
    ...say(isDeepStrictEqual(manifest.files, files), `"files" is not ${JSON.stringify(files)}`),
    ...say(isDeepStrictEqual(manifest.exports, exportMap), `"exports" is not the export map of this repository`),
    ...say(
      manifest.name !== "@quiesce/core" || Object.keys(manifest.dependencies ?? {}).length === 0,
      "the core has a dependency besides its peer effect"
    )
  ]
}
