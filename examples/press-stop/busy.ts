/**
 * A body that nobody can talk to: it blocks its thread, and so never hears that its signal aborts.
 *
 * It is run in a process of its own (see `crunch` in tools.ts), which is what can be ended.
 */
import type { Isolated } from "@quiesce/node"

const crunch: Isolated.Body<object, number> = (_, { progress }) => {
  progress({ progress: 0, message: `process ${process.pid}` })
  for (let sum = 0;; sum++) if (sum < 0) return sum
}

export default crunch
