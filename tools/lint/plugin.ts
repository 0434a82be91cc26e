/**
 * The rules of this repository, as an oxlint plugin. `.oxlintrc.json` says where each is on.
 */
import { clockTimers } from "./rules/clock-timers.ts"
import { coreImports, stableEffect } from "./rules/core-imports.ts"
import { noAbandoning } from "./rules/no-abandoning.ts"
import { noAsAny } from "./rules/no-as-any.ts"
import { noBarrel } from "./rules/no-barrel.ts"
import { packageBoundary } from "./rules/package-boundary.ts"
import { noLiveSleep, noOnly, noSleep } from "./rules/tests.ts"

export default {
  meta: { name: "quiesce" },
  rules: {
    "clock-timers": clockTimers,
    "core-imports": coreImports,
    "no-abandoning": noAbandoning,
    "no-as-any": noAsAny,
    "no-barrel": noBarrel,
    "no-live-sleep": noLiveSleep,
    "no-only": noOnly,
    "no-sleep": noSleep,
    "package-boundary": packageBoundary,
    "stable-effect": stableEffect
  }
}
