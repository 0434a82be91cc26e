/**
 * Runs the programs given as arguments, one after the other in one process (loading effect takes longer than any of them),
 * and puts a line with a NUL and its path before what each prints. The first that fails ends it.
 */
import { pathToFileURL } from "node:url"

/**
 * After this a program waits for what never comes. Each takes milliseconds, but the first one loads effect, which takes
 * seconds on a machine that is busy.
 */
const boundMillis = 30_000

for (const file of process.argv.slice(2)) {
  console.log(`\0${file}`)
  const bound = setTimeout(() => {
    console.error(`${file}:1:1 did not end within ${boundMillis} ms`)
    process.exit(1)
  }, boundMillis)
  // It holds no process open: where nothing else does, Node itself says that the program waits for nothing.
  bound.unref()
  await import(pathToFileURL(file).href)
  clearTimeout(bound)
}

// What a program has left open must not hold the tests up.
setTimeout(() => {
  console.error("a program has left something open")
  process.exit(1)
}, boundMillis).unref()
