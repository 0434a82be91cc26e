/** The clauses of KIT: testing cancellation races. */
export const kit = {
  title: "testing cancellation races",
  clauses: {
    "KIT-01": "`Explore` runs a program under every interleaving of its fibers, promises, timers and cancellation " +
      "points, up to a stated bound; the count is exact and reported (reduction off: 3 fibers × 3 yields = 34,650).",
    "KIT-02": "A failing interleaving is a value: printed in words and as a string that replays it; shrinking " +
      "removes steps that do not matter. Replay is itself tested.",
    "KIT-03": "Native promises, listeners and virtual time take part; what lies outside the kit's control is " +
      "detected (replay divergence; traps on timers, `queueMicrotask`, `setImmediate`) and named, never silently " +
      "explored wrong; the guide lists what cannot be detected.",
    "KIT-04": "Laws: suites any registry, wrapper, policy, approval channel or body can be run against (`law: …`), " +
      "as functions free of the test runner.",
    "KIT-05": "Script: a model-based property over {start, abort, approve, deny, complete, fail, advance time, " +
      "close} with shrinking and a replay seed.",
    "KIT-06": "Planted bugs (a bridge that abandons, a lost wake-up, a start flag set too early, a leaked listener, " +
      "a race against abort) are each found by the kit, in the repository's own tests.",
    "KIT-07": "Works from `@effect/vitest` (`it.interleavings`) and without it."
  }
}
