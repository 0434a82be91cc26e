/**
 * Runs connections at random: `npm run connections`, or `npm run connections -- <runs> <seed>`. With `--write`, the result
 * becomes `docs/acp-connections.md`. The connection of one seed is run again by `npm run connections -- 1 <its seed>`.
 *
 * The last line printed is `N connections, N faults`.
 */
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { taken } from "../../../../tests/taken.ts"
import { version } from "../support/schema.ts"
import { run } from "./run.ts"

const writes = process.argv.includes("--write")
const [first = "10000", seed = "connection"] = process.argv.slice(2).filter((it) => !it.startsWith("--"))
const runs = Number(first)

const page = (done: { readonly requests: number; readonly frames: number; readonly faults: number }): string =>
  [
    "# Connections at random",
    "",
    "What `npm run connections` did last, and what it found. A connection is made of a seed, and is of one of two kinds.",
    "",
    "Requests: a raw peer sends them, cancels them, uses their ids again, answers what it was and was not asked, and sends",
    "`session/cancel`, in chunks of any kind, to handlers that tell, ask, fail, wait and leave things behind that go on to tell.",
    "Then the connection is closed in the middle of all that. Each request that was read has one answer, and nothing was sent of it",
    "behind that.",
    "",
    "Sessions: prompts with calls that wait, fail, clean up, ask for permission and run commands in terminals, to a client that",
    "answers late, twice, with nonsense or not at all, and stops them in any way at any moment; some end by a close. Each prompt has",
    "one answer, each call that the client was told of has ended by then, each terminal was released, once, or is told as residue,",
    "nothing that needs permission began without it, nothing came when nothing was asked any more, and all of it is what the",
    "protocol's schema says.",
    "",
    "The tests run some of them each time.",
    "",
    `- ${runs.toLocaleString("en")} connections, of the seeds \`${seed} 0\` to \`${seed} ${runs - 1}\``,
    `- ${done.requests.toLocaleString("en")} requests of the peer`,
    `- ${done.frames.toLocaleString("en")} frames sent to it, each looked at`,
    `- ${done.faults.toLocaleString("en")} faults`,
    "",
    taken(`@agentclientprotocol/sdk ${version}`),
    ""
  ].join("\n")

const main = Effect.gen(function*() {
  const done = { requests: 0, frames: 0, faults: 0 }
  for (let n = 0; n < runs; n++) {
    const outcome = yield* run(runs === 1 ? seed : `${seed} ${n}`)
    done.requests += outcome.requests
    done.frames += outcome.frames
    done.faults += outcome.faults.length
    for (const fault of outcome.faults) console.log(`${outcome.seed}: ${fault}`)
    if ((n + 1) % 500 === 0) console.log(`${n + 1} done`)
  }
  console.log(`${done.requests} requests, ${done.frames} frames`)
  console.log(`${runs} connections, ${done.faults} faults`)
  if (writes) {
    writeFileSync(fileURLToPath(new URL("../../../../docs/acp-connections.md", import.meta.url)), page(done))
  }
  process.exitCode = done.faults === 0 ? 0 : 1
})

// What a connection logs of a peer that misbehaves is no news here.
await Effect.runPromise(Effect.provide(main, [TestClock.layer(), Logger.layer([])]))
