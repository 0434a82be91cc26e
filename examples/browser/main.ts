/**
 * Builds the page, and serves it when it is asked to.
 */
import assert from "node:assert/strict"
import { build, type InlineConfig, preview } from "vite"

const config: InlineConfig = {
  configFile: false,
  root: import.meta.dirname,
  logLevel: "error",
  resolve: { conditions: ["@quiesce/source", "browser", "import", "default"] }
}

if (process.argv.includes("--serve")) {
  await build({ ...config, build: { target: "esnext", emptyOutDir: true } })
  const server = await preview({ ...config, preview: { port: 5173 } })
  server.printUrls()
} else {
  const built = await build({ ...config, build: { target: "esnext", write: false } })
  assert("output" in built)
  const scripts = built.output.flatMap((file) => file.type === "chunk" ? [file] : [])
  // What only Node has would be imported from elsewhere, or be replaced by an empty module.
  assert.deepEqual(scripts.flatMap(({ imports }) => imports), [])
  assert.deepEqual(scripts.flatMap(({ moduleIds }) => moduleIds.filter((id) => id.includes("browser-external"))), [])
  const bytes = scripts.reduce((sum, { code }) => sum + code.length, 0)
  console.log(`a page and ${scripts.length} script of ${Math.round(bytes / 1000)} kB, which needs nothing of Node`)
  console.log("with --serve it is at localhost, and stays there until you press Ctrl-C")
}
