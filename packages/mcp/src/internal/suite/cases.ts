/** What a server must do, one case at a time. */
import { Fault, within } from "@quiesce/wire/RawPeer"
import * as Effect from "effect/Effect"
import { cancel, HttpLink, type Link, type Revision, type StdioLink } from "./link.ts"

export type Over = "stdio" | "http"

export interface Case {
  /** A word to find it by. */
  readonly name: string
  /** What must hold, as a sentence. */
  readonly title: string
  /** Absent where it applies to every server. */
  readonly applies?: (over: Over, revision: Revision) => boolean
  readonly run: (link: Link, open: () => Promise<Link>) => Promise<void>
}

const overStdio = (over: Over): boolean => over === "stdio"

/** Where a cancel over HTTP is a notification, and requests have a session in common. */
const inSession = (over: Over, revision: Revision): boolean => over === "http" && revision === "2025-11-25"

/** Where ids are those of more than one request. */
const sharingIds = (over: Over, revision: Revision): boolean => overStdio(over) || inSession(over, revision)

const demand = (holds: boolean, fault: string): void => {
  if (!holds) throw new Fault(fault)
}

/** Begins a call, and returns when its body runs. */
const begin = async (
  link: Link,
  id: string | number,
  tool: string,
  args: { readonly key: string; readonly millis?: number }
): Promise<void> => {
  await send(link, link.call(id, tool, args))
  await link.began(id)
}

/** Does not wait for the response of a POST, which may come as late as the call's end. */
const send = async (link: Link, frame: object): Promise<void> => {
  if (link instanceof HttpLink) void link.post(frame).catch(() => undefined)
  else await link.send(frame)
}

/** Cancels as the revision says: by a notification, or by closing the response. */
const stop = async (link: Link, id: string | number, reason?: string): Promise<void> => {
  if (link instanceof HttpLink && link.revision === "2026-07-28") {
    // The headers of a response may be on their way still.
    await link.began(id)
    link.streams.get(id)?.controller.abort()
  } else await link.send(cancel(id, reason))
}

const settle = (link: Link) => link.bodies()

const silentAfter = (link: Link, id: string | number, frames: number): void => {
  const more = link.about(id).slice(frames)
  demand(more.length === 0, `after the cancel of ${JSON.stringify(id)} came ${JSON.stringify(more)}`)
}

const served = async (link: Link): Promise<void> => {
  const id = `served-${link.received.length}`
  await link.send(link.call(id, "suite_echo", { text: "served" }))
  const { result } = await link.answer(id)
  demand(result?.content?.[0]?.text === "served", "a legal call was not served")
}

const cancelled = (name: string, title: string, id: string | number): Case => ({
  name,
  title,
  run: async (link) => {
    await begin(link, id, "suite_wait", { key: name })
    const frames = link.about(id).length
    await stop(link, id, "enough")
    await link.over(name)
    await settle(link)
    silentAfter(link, id, frames)
  }
})

export const cases: ReadonlyArray<Case> = [
  cancelled("cooperative", "a cancelled call ends, and nothing is sent for it", 7),
  cancelled("zero", "a call with the id 0 can be cancelled", 0),
  cancelled("empty", "a call with the id \"\" can be cancelled", ""),
  {
    name: "stubborn",
    title: "nothing is sent for a cancelled call whose body goes on to its end",
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "stubborn", millis: 300 })
      const frames = link.about(1).length
      await stop(link, 1)
      await link.over("stubborn")
      await settle(link)
      silentAfter(link, 1, frames)
    }
  },
  {
    name: "same-chunk",
    title: "a call that is cancelled in the same chunk does not begin",
    applies: overStdio,
    run: async (link) => {
      await link.send(link.call(1, "suite_wait", { key: "same-chunk" }), cancel(1))
      await settle(link)
      demand(!(await link.bodies()).began.includes("same-chunk"), "its body began")
      silentAfter(link, 1, 0)
    }
  },
  {
    name: "five-ids",
    title: "the ids 0, \"\", \"0\", 1 and \"1\" are five, and each is cancelled alone",
    run: async (link) => {
      const ids = [0, "", "0", 1, "1"]
      const key = (id: string | number) => `five-ids-${JSON.stringify(id)}`
      for (const id of ids) await begin(link, id, "suite_wait", { key: key(id) })
      for (const [nth, id] of ids.entries()) {
        await stop(link, id)
        await link.over(key(id))
        const over = new Set((await link.bodies()).over)
        const wrong = ids.slice(nth + 1).filter((other) => over.has(key(other)))
        demand(wrong.length === 0, `the cancel of ${JSON.stringify(id)} has cancelled ${JSON.stringify(wrong)}`)
      }
    }
  },
  {
    name: "ignored",
    title: "a cancel of what is unknown or over, or that makes no sense, is ignored",
    run: async (link) => {
      await served(link)
      await begin(link, 1, "suite_wait", { key: "ignored" })
      for (const params of [{}, null, { requestId: null }, { requestId: {} }, { requestId: "1" }, { requestId: 99 }]) {
        await link.send({ jsonrpc: "2.0", method: "notifications/cancelled", params })
      }
      await link.send({ jsonrpc: "2.0", method: "notifications/cancelled" })
      await served(link)
      demand(!(await link.bodies()).over.includes("ignored"), "it has cancelled a call")
    }
  },
  {
    name: "twice",
    title: "a second cancel changes nothing",
    applies: sharingIds,
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "twice", millis: 200 })
      const frames = link.about(1).length
      await link.send(cancel(1), cancel(1))
      await link.over("twice")
      await served(link)
      silentAfter(link, 1, frames)
    }
  },
  {
    name: "failing",
    title: "nothing is sent for a cancelled call whose clean-up fails, and the server lives",
    run: async (link) => {
      await begin(link, 1, "suite_failing", { key: "failing" })
      const frames = link.about(1).length
      await stop(link, 1)
      await link.over("failing")
      await settle(link)
      silentAfter(link, 1, frames)
      await served(link)
    }
  },
  {
    name: "duplicate",
    title: "a second request with an id that is in flight is refused with -32600, and the first is answered",
    applies: sharingIds,
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "duplicate", millis: 500 })
      await send(link, link.call(1, "suite_echo", { text: "second" }))
      const refusal = await link.message(({ error, id }) => id === 1 && error !== undefined, "the refusal")
      demand(refusal.error?.code === -32600, `it was refused with ${refusal.error?.code}`)
      const { result } = await link.message(({ id, result }) => id === 1 && result !== undefined, "the first answer")
      demand(result.content[0].text !== "second", "the second was answered, and not the first")
    }
  },
  {
    name: "race",
    title: "a call that ends while it is cancelled is answered once or not at all",
    run: async (link) => {
      for (let n = 0; n < 25; n++) {
        const id = `race-${n}`
        await begin(link, id, "suite_stubborn", { key: id, millis: 2 })
        await Effect.runPromise(Effect.sleep(n % 5))
        await stop(link, id)
        await link.over(id)
        const answers = link.received.filter((frame) => frame.id === id)
        demand(answers.length < 2, `${answers.length} answers`)
      }
    }
  },
  {
    name: "progress",
    title: "no progress comes after the answer",
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "progress", millis: 20 })
      await link.answer(1)
      await settle(link)
      const frames = link.about(1)
      demand(frames.at(-1)?.id === 1, "there was progress behind the answer")
    }
  },
  {
    name: "garbage",
    title: "what is no message is answered with an error, and the next call is served",
    run: async (link) => {
      const before = link.received.length
      await link.send("{\"jsonrpc\":")
      await link.message((frame) => link.received.indexOf(frame) >= before && frame.error !== undefined, "the error")
      await served(link)
      await link.send("[".repeat(20_000) + "]".repeat(20_000))
      await served(link)
    }
  },
  {
    name: "huge",
    title: "after a frame of 12 MB the next call is served",
    run: async (link) => {
      await send(link, link.call(1, "suite_echo", { text: "x".repeat(12_000_000) }))
      await served(link)
    }
  },
  {
    name: "hundred",
    title: "a hundred calls run at once",
    run: async (link) => {
      const ids = Array.from({ length: 100 }, (_, n) => `hundred-${n}`)
      for (const id of ids) await send(link, link.call(id, "suite_stubborn", { key: id, millis: 300 }))
      for (const id of ids) await link.answer(id)
    }
  },
  {
    name: "end-of-input",
    title: "at the end of its input the server ends, and answers nothing more",
    applies: overStdio,
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "end-of-input", millis: 300 })
      const { program: { child, exited }, received } = link as StdioLink
      const before = received.length
      child.stdin!.end()
      demand(await within(exited, "the process did not end") === 0, "the process did not end with code 0")
      demand(received.length === before, `it sent ${JSON.stringify(received.slice(before))}`)
    }
  },
  {
    name: "asked-to-end",
    title: "on SIGTERM the server ends, and answers nothing more",
    applies: overStdio,
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "asked-to-end", millis: 300 })
      const { program: { child, exited }, received } = link as StdioLink
      const before = received.length
      child.kill("SIGTERM")
      demand(await within(exited, "the process did not end") === 0, "the process did not end with code 0")
      demand(received.length === before, `it sent ${JSON.stringify(received.slice(before))}`)
    }
  },
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
      await Effect.runPromise(Effect.sleep("2 seconds"))
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
      await Effect.runPromise(Effect.sleep("300 millis"))
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
