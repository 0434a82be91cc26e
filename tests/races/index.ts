/** Every race of the repository: one file per subject. */
import { acp } from "./acp.ts"
import { agent } from "./agent.ts"
import { coreBridge } from "./core-bridge.ts"
import { coreRegistry } from "./core-registry.ts"
import { core } from "./core.ts"
import { effect } from "./effect.ts"
import type { Subject } from "./Race.ts"

export const subjects: ReadonlyArray<Subject> = [core, coreRegistry, coreBridge, agent, acp, effect]
