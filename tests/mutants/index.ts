/** Every mutant of the repository: one list per package. */
import { acp } from "./acp.ts"
import { agent } from "./agent.ts"
import { bridgeMutants } from "./core-bridge.ts"
import { callMutants } from "./core-call.ts"
import { extremeMutants } from "./core-extremes.ts"
import { registryMutants } from "./core-registry.ts"
import { interop } from "./interop.ts"
import { mcp } from "./mcp.ts"
import type { Mutant } from "./Mutant.ts"
import { node } from "./node.ts"
import { testing } from "./testing.ts"
import { wire } from "./wire.ts"

export const mutants: ReadonlyArray<Mutant> = [
  ...callMutants,
  ...registryMutants,
  ...bridgeMutants,
  ...extremeMutants,
  ...node,
  ...testing,
  ...agent,
  ...wire,
  ...acp,
  ...mcp,
  ...interop
]
