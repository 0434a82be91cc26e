/**
 * Ends with one sentence when the Node that runs this is too old for the sources (they are run without a build).
 *
 * It is called by the npm scripts with `&&` and not from a `pre*` script, since `ignore-scripts` skips those, and it
 * is written for any Node that knows ES modules.
 */
const required = [22, 19]
const found = process.versions.node
const [major, minor] = found.split(".").map(Number)

if (major < required[0] || (major === required[0] && minor < required[1])) {
  console.error(
    `Quiesce needs Node ${required.join(".")} or newer and this is ${found}: run "npm ci" with install ` +
      `scripts allowed for the package "node" (it brings Node 24), or put a newer Node first on PATH.`
  )
  process.exit(1)
}
