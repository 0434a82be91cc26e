/** What a server must do with connections and sessions, and with the calls that they leave behind. */
import { demand, within } from "@quiesce/wire/RawPeer"
import { begin, type Case, inSession, overStdio, served, sleep, stop } from "./case.ts"
import { cancel, type HttpLink, type StdioLink } from "./link.ts"

/** Ends the server by `end` while a body takes its time: it is to end by itself, and to answer nothing more. */
const ending = (name: string, title: string, end: (link: StdioLink) => void): Case => ({
  name,
  title,
  applies: overStdio,
  run: async (link) => {
    await begin(link, 1, "suite_stubborn", { key: name, millis: 300 })
    const { program: { exited }, received } = link as StdioLink
    const before = received.length
    end(link as StdioLink)
    demand(await within(exited, "the process did not end") === 0, "the process did not end with code 0")
    demand(received.length === before, `it sent ${JSON.stringify(received.slice(before))}`)
  }
})

export const connections: ReadonlyArray<Case> = [
  ending("end-of-input", "at the end of its input the server ends, and answers nothing more", (link) => {
    link.program.child.stdin!.end()
  }),
  ending("asked-to-end", "on SIGTERM the server ends, and answers nothing more", (link) => {
    link.program.child.kill("SIGTERM")
  }),
  {
    name: "torn",
    title: "where its client is gone with both pipes the server ends",
    applies: overStdio,
    run: async (link) => {
      await begin(link, 1, "suite_wait", { key: "torn" })
      const { program: { child, exited } } = link as StdioLink
      child.stdout!.destroy()
      child.stdin!.destroy()
      demand(await within(exited, "the process did not end") === 0, "the process did not end with code 0")
    }
  },
  {
    name: "unread",
    title: "a client that does not read what it asked for can cancel",
    applies: overStdio,
    run: async (link) => {
      await begin(link, 1, "suite_wait", { key: "cancelled" })
      await begin(link, 2, "suite_stubborn", { key: "later", millis: 1_000 })
      const { program: { child } } = link as StdioLink
      child.stdout!.pause()
      const text = "x".repeat(100_000)
      await link.send(...Array.from({ length: 40 }, (_, n) => link.call(`flood-${n}`, "suite_echo", { text })))
      await link.send(cancel(1))
      // Longer than the second one takes: a cancel that is heard only when its client reads again comes behind its end.
      await sleep(2_000)
      child.stdout!.resume()
      await link.over("cancelled")
      const { over } = await link.bodies()
      demand(over[0] === "cancelled", "the cancel was not heard before its client read again")
    }
  },
  {
    name: "stream",
    title: "the response of a cancelled call ends",
    applies: inSession,
    run: async (link) => {
      await begin(link, 1, "suite_wait", { key: "stream" })
      const { ended } = (link as HttpLink).streams.get(1)!
      await link.send(cancel(1))
      await within(ended, "the response did not end")
    }
  },
  {
    name: "dropped",
    title: "a connection that drops does not cancel, until 2025-11-25",
    applies: inSession,
    run: async (link) => {
      await begin(link, 1, "suite_wait", { key: "dropped" })
      ;(link as HttpLink).streams.get(1)!.controller.abort()
      await sleep(300)
      demand(!(await link.bodies()).over.includes("dropped"), "the call was cancelled")
      await link.send(cancel(1))
      await link.over("dropped")
    }
  },
  {
    name: "other-session",
    title: "a cancel finds its call in its own session only",
    applies: inSession,
    run: async (link, open) => {
      await begin(link, 1, "suite_wait", { key: "other-session" })
      const other = await open()
      await other.send(cancel(1))
      await served(other)
      await other.close()
      demand(!(await link.bodies()).over.includes("other-session"), "a cancel in another session has cancelled it")
      await link.send(cancel(1))
      await link.over("other-session")
    }
  },
  {
    name: "other-connection",
    title: "a connection that drops cancels its own call, and not that of another one with the same id",
    applies: (over, revision) => over === "http" && revision === "2026-07-28",
    run: async (link, open) => {
      await begin(link, 1, "suite_wait", { key: "one" })
      const other = await open()
      await begin(other, 1, "suite_wait", { key: "other" })
      await stop(link, 1)
      await link.over("one")
      demand(!(await link.bodies()).over.includes("other"), "the other one was cancelled as well")
      await stop(other, 1)
      await link.over("other")
    }
  },
  {
    name: "deleted",
    title: "the deletion of a session cancels its calls",
    applies: inSession,
    run: async (link, open) => {
      await begin(link, 1, "suite_wait", { key: "deleted" })
      await link.close()
      const other = await open()
      await other.over("deleted")
      await other.close()
    }
  }
]
