/** The mutants of `packages/testing`: an explorer that sees less than it says. */
import type { Mutant } from "./Mutant.ts"

export const testing: ReadonlyArray<Mutant> = [
  {
    name: "the reactions of native promises are not waited for before the next decision",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "{ init: watcher.moved, settled: watcher.moved }",
    replace: "{ init: () => {}, settled: () => {} }",
    test: { file: "packages/testing/test/control.test.ts", title: "its reactions run before the next decision" }
  },
  {
    name: "a preempted fiber is taken again at once",
    clause: "KIT-01",
    file: "packages/testing/src/internal/machine.ts",
    find: "if (alone && !this.activity.moved) this.enabled.displaced = step",
    replace: "if (alone && this.activity.moved) this.enabled.displaced = step",
    test: { file: "packages/testing/test/counts.test.ts", title: "a preempted fiber is not the next to run" }
  },
  {
    name: "only the first fiber of a step is preempted",
    clause: "KIT-01",
    file: "packages/testing/src/internal/machine.ts",
    find: "return this.activity.moved || fiber !== this.slice || follows",
    replace: "return this.activity.moved",
    test: { file: "packages/testing/test/counts.test.ts", title: "preempts a fiber between any two operations" }
  },
  {
    name: "a footprint of which nothing is known conflicts with nothing",
    clause: "KIT-01",
    file: "packages/testing/src/internal/depthFirst.ts",
    find: "if (footprint === undefined) return",
    replace: "footprint ??= { reads: new Set(), writes: new Set() }",
    test: { file: "packages/testing/test/strategies.test.ts", title: "steps nobody described conflict with everything" }
  },
  {
    name: "reads and writes do not conflict",
    clause: "KIT-01",
    file: "packages/testing/src/internal/footprint.ts",
    find: "&& disjoint(a.writes, b.reads) && disjoint(a.reads, b.writes)",
    replace: "",
    test: { file: "packages/testing/test/strategies.test.ts", title: "law: a reduction loses no outcome" }
  },
  {
    name: "two outside steps never share a tick",
    clause: "KIT-01",
    file: "packages/testing/src/internal/machine.ts",
    find: "if (this.decisions.decide(\"tick\", 2) === 0) return false",
    replace: "if (this.enabled.outside.length > 0) return false",
    test: { file: "packages/testing/test/control.test.ts", title: "two outside steps share a tick" }
  },
  {
    name: "what escapes is not told",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "if (!escaping.has(type)) return",
    replace: "if (escaping.has(type)) return",
    test: { file: "packages/testing/test/control.test.ts", title: "an escape from a promise reaction is seen too" }
  },
  {
    name: "what others do is taken for the program's",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "watchers.getStore() !== watcher || watcher.isDriving",
    replace: "watcher.isDriving",
    test: { file: "packages/testing/test/control.test.ts", title: "what others in the process do is not the program's" }
  },
  {
    name: "what follows from an escape is told as another one",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "if (known) return",
    replace: "",
    test: { file: "packages/testing/test/control.test.ts", title: "what follows from an escape has no name" }
  },
  {
    name: "jobs are told whether or not they are over when their call returns",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "if (goesOn(job)) watcher",
    replace: "watcher",
    test: { file: "packages/testing/test/control.test.ts", title: "what is over when its call returns" }
  },
  {
    name: "a job that goes on is taken for one that is over",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "\"ondone\" in job || \"cb\" in job",
    replace: "job === undefined",
    test: { file: "packages/testing/test/control.test.ts", title: "randomBytes (chance) is named" }
  },
  {
    name: "nobody looks at what the engine does without a resource",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "trap(watcher, Atomics, \"waitAsync\"),",
    replace: "",
    test: { file: "packages/testing/test/control.test.ts", title: "Atomics.waitAsync (memory) is named" }
  },
  {
    name: "traps stay when their exploration is over",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "Reflect.set(namespace, name, original)",
    replace: "",
    test: { file: "packages/testing/test/control.test.ts", title: "the traps are gone when the exploration is" }
  },
  {
    name: "what is made in a later tick is not traced to who asked for the tick",
    clause: "KIT-03",
    file: "packages/testing/src/internal/escapes.ts",
    find: "outer = originOf(tick.made).where",
    replace: "",
    test: { file: "packages/testing/test/control.test.ts", title: "FSREQCALLBACK (stream) is named" }
  },
  {
    name: "a bound that was only begun is reported as complete",
    clause: "KIT-01",
    file: "packages/testing/src/internal/searches.ts",
    find: "preemptions === 0 ? undefined : preemptions - 1",
    replace: "preemptions",
    test: { file: "packages/testing/test/counts.test.ts", title: "says which bound took something away" }
  },
  {
    name: "an interleaving that ends otherwise when it is run again is believed",
    clause: "KIT-03",
    file: "packages/testing/src/internal/telling.ts",
    find: "if (now !== before)",
    replace: "if (now === undefined)",
    test: { file: "packages/testing/test/misuse.test.ts", title: "ends otherwise when it is run again" }
  },
  {
    name: "a bound that is none ends the search before it begins",
    clause: "KIT-01",
    file: "packages/testing/src/internal/settings.ts",
    find: "if (Number.isSafeInteger(value) && value >= least) return value",
    replace: "if (name !== \"\") return value",
    test: { file: "packages/testing/test/misuse.test.ts", title: "a bound that is no whole number is refused" }
  },
  {
    name: "an edge is used beyond its run, and nothing ever comes of it",
    clause: "KIT-03",
    file: "packages/testing/src/internal/edge.ts",
    find: "if (machine.isOver)",
    replace: "if (machine === undefined)",
    test: { file: "packages/testing/test/misuse.test.ts", title: "an edge that outlived its run" }
  },
  {
    name: "a replay of a changed program passes for one of the old",
    clause: "KIT-02",
    file: "packages/testing/src/internal/again.ts",
    find: "replayed.interleaving.replay.endsWith(`!${checksum}`)",
    replace: "true",
    test: { file: "packages/testing/test/failures.test.ts", title: "a replay of a program that has changed says so" }
  },
  {
    name: "a failure is not shrunk",
    clause: "KIT-02",
    file: "packages/testing/src/internal/shrink.ts",
    find: "while (yield* round())",
    replace: "while (false)",
    test: { file: "packages/testing/test/failures.test.ts", title: "shrinks away the steps that do not matter" }
  },
  {
    name: "a program that never ends passes",
    clause: "KIT-06",
    file: "packages/testing/src/internal/machine.ts",
    find: "if (exit === undefined) this.fail({ _tag: \"Hung\" })\n    else if",
    replace: "if (exit === undefined) return { _tag: \"Passed\", outcome: undefined }\n    else if",
    test: { file: "packages/testing/test/planted.test.ts", title: "a lost wake-up is found" }
  },
  {
    name: "what a search throws is told to nobody",
    clause: "KIT-01",
    file: "packages/testing/src/internal/session.ts",
    find: "      this.thrown = { defect }\n      this.later(this.end)\n",
    replace: "      throw defect\n",
    test: { file: "packages/testing/test/misuse.test.ts", title: "an outcome that throws when it is told" }
  },
  {
    name: "timers fire without end",
    clause: "KIT-03",
    file: "packages/testing/src/internal/enabled.ts",
    find: "if (this.fibers.length + this.outside.length > 0) this.timersLeft--",
    replace: "",
    test: { file: "packages/testing/test/counts.test.ts", title: "a program that sleeps again and again" }
  },
  {
    name: "the model lets a cancellation replace a failure",
    clause: "KIT-05",
    file: "packages/testing/src/internal/model.ts",
    find: "\"TOOL_TIMEOUT\" : \"TOOL_FAILURE\", true)",
    replace: "\"TOOL_TIMEOUT\" : call.asked === undefined ? \"TOOL_FAILURE\" : \"ABORTED\", true)",
    test: { file: "packages/testing/test/Script.test.ts", title: "start 0 (effect) > abort 0 > fail 0" }
  }
]
