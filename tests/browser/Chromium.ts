/**
 * A page in a real browser: modules are bundled in memory, served to a headless Chromium, and what the page reports is
 * the outcome.
 */
import { spawn } from "node:child_process"
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { text } from "node:stream/consumers"
import { build } from "vite"
import { root } from "../../tools/run.ts"

/** The browser of this machine, `undefined` where there is none. */
export const find = (): string | undefined => {
  for (const directory of (process.env["PATH"] ?? "").split(delimiter)) {
    for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
      try {
        accessSync(join(directory, name), constants.X_OK)
        return join(directory, name)
      } catch {
        // not there
      }
    }
  }
  return undefined
}

/** Modules that others stand for. */
export type Alias = Array<{ readonly find: RegExp; readonly replacement: string }>

/** One script of `source` and all that it imports, with our packages from their sources. */
export const bundle = async (source: string, alias: Alias = []): Promise<string> => {
  const entry = join(root, "entry.ts")
  const built = await build({
    configFile: false,
    root,
    logLevel: "error",
    plugins: [{
      name: "entry",
      resolveId: (id) => id === entry ? id : null,
      load: (id) => id === entry ? source : null
    }],
    resolve: { conditions: ["@quiesce/source", "browser", "import", "default"], alias },
    build: {
      write: false,
      minify: false,
      target: "esnext",
      modulePreload: false,
      // Test modules have no exports: our packages say that such a module can be left out.
      rollupOptions: { input: entry, treeshake: false }
    }
  })
  const [output] = Array.isArray(built) ? built : [built]
  if (output === undefined || !("output" in output)) throw new Error("nothing was built")
  const chunks = output.output.flatMap((file) => file.type === "chunk" ? [file.code] : [])
  if (chunks.length !== 1) throw new Error(`${chunks.length} scripts were built, not one`)
  return chunks[0]!
}

/** Opens the page `/` of `files` in the browser and waits for what it posts to `/report`. */
export const open = async (browser: string, files: Readonly<Record<string, string>>): Promise<unknown> => {
  const { promise, reject, resolve } = Promise.withResolvers<unknown>()
  const server = createServer((request, response) => {
    if (request.method === "POST") {
      text(request).then((body) => resolve(JSON.parse(body)), reject)
      response.end()
      return
    }
    const content = files[request.url ?? "/"]
    const type = request.url?.endsWith(".js") ? "text/javascript" : "text/html; charset=utf-8"
    response.writeHead(content === undefined ? 404 : 200, { "content-type": type }).end(content)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const profile = mkdtempSync(join(tmpdir(), "quiesce-browser-"))
  const child = spawn(browser, [
    "--headless=new",
    // The page is ours, and whoever runs tests in a container is often root, where there is no sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    `--user-data-dir=${profile}`,
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  ], { stdio: "ignore", detached: true })
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()))
  child.once("error", reject)
  child.once("exit", (code) => reject(new Error(`the browser ended before the page reported (exit code ${code})`)))
  try {
    return await promise
  } finally {
    // Its renderers are in its group.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL")
    await gone
    server.closeAllConnections()
    server.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
  }
}
