/** What a server must do, one case at a time. */
import * as Effect from "effect/Effect"
import { cancel, Fault, HttpLink, type Link, type Revision, type StdioLink, within } from "./link.ts"

export interface Case {
  /** A word to find it by. */
  readonly name: string
  /** What must hold, as a sentence. */
  readonly title: string
  readonly over?: "stdio" | "http"
  readonly revision?: Revision
  readonly run: (link: Link, open: () => Promise<Link>) => Promise<void>
}

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
  const id = `served-${link.frames.length}`
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
    over: "stdio",
    run: async (link) => {
      await link.send(link.call(1, "suite_wait", { key: "same-chunk" }), cancel(1))
      await settle(link)
      demand(!(await link.bodies()).began.includes("same-chunk"), "its body began")
      silentAfter(link, 1, 0)
    }
  },
  {
    name: "typed-ids",
    title: "the ids 1 and \"1\" are two",
    run: async (link) => {
      await begin(link, 1, "suite_wait", { key: "number" })
      await begin(link, "1", "suite_wait", { key: "text" })
      await stop(link, "1")
      await link.over("text")
      demand(!(await link.bodies()).over.includes("number"), "the cancel of \"1\" has cancelled 1")
      await stop(link, 1)
      await link.over("number")
    }
  },
  {
    name: "ignored",
    title: "a cancel of what is unknown or over, or that makes no sense, is ignored",
    over: "stdio",
    run: async (link) => {
      await served(link)
      await begin(link, 1, "suite_wait", { key: "ignored" })
      for (const params of [{}, null, { requestId: null }, { requestId: {} }, { requestId: "1" }, { requestId: 99 }]) {
        await link.send({ jsonrpc: "2.0", method: "notifications/cancelled", params })
      }
      await served(link)
      demand(!(await link.bodies()).over.includes("ignored"), "it has cancelled a call")
    }
  },
  {
    name: "twice",
    title: "a second cancel changes nothing",
    over: "stdio",
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
    name: "duplicate",
    title: "a second request with an id that is in flight is refused with -32600, and the first is answered",
    revision: "2025-11-25",
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "duplicate", millis: 500 })
      await send(link, link.call(1, "suite_echo", { text: "second" }))
      const refusal = await link.frame(({ error, id }) => id === 1 && error !== undefined, "the refusal")
      demand(refusal.error?.code === -32600, `it was refused with ${refusal.error?.code}`)
      const { result } = await link.frame(({ id, result }) => id === 1 && result !== undefined, "the first answer")
      demand(result.content[0].text !== "second", "the second was answered, and not the first")
    }
  },
  {
    name: "race",
    title: "a call that ends while it is cancelled is answered once or not at all",
    over: "stdio",
    run: async (link) => {
      for (let n = 0; n < 25; n++) {
        const id = `race-${n}`
        await begin(link, id, "suite_stubborn", { key: id, millis: 2 })
        await Effect.runPromise(Effect.sleep(n % 5))
        await link.send(cancel(id))
        await link.over(id)
        const answers = link.frames.filter((frame) => frame.id === id)
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
    title: "what is no message is answered with an error, and the connection lives",
    over: "stdio",
    run: async (link) => {
      const before = link.frames.length
      await link.send("{\"jsonrpc\":")
      await link.frame((frame) => link.frames.indexOf(frame) >= before && frame.error !== undefined, "the error")
      await served(link)
      await link.send("[".repeat(20_000) + "]".repeat(20_000))
      await served(link)
    }
  },
  {
    name: "huge",
    title: "a frame of 12 MB is refused, and the connection lives",
    over: "stdio",
    run: async (link) => {
      await link.send(link.call(1, "suite_echo", { text: "x".repeat(12_000_000) }))
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
    over: "stdio",
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "end-of-input", millis: 300 })
      const { child, exited, frames } = link as StdioLink
      const before = frames.length
      child.stdin!.end()
      demand(await within(exited, "the process did not end") === 0, "the process did not end with code 0")
      demand(frames.length === before, `it sent ${JSON.stringify(frames.slice(before))}`)
    }
  },
  {
    name: "asked-to-end",
    title: "on SIGTERM the server ends, and answers nothing more",
    over: "stdio",
    run: async (link) => {
      await begin(link, 1, "suite_stubborn", { key: "asked-to-end", millis: 300 })
      const { child, exited, frames } = link as StdioLink
      const before = frames.length
      child.kill("SIGTERM")
      demand(await within(exited, "the process did not end") === 0, "the process did not end with code 0")
      demand(frames.length === before, `it sent ${JSON.stringify(frames.slice(before))}`)
    }
  },
  {
    name: "stream",
    title: "the response of a cancelled call ends",
    over: "http",
    revision: "2025-11-25",
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
    over: "http",
    revision: "2025-11-25",
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
    over: "http",
    revision: "2025-11-25",
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
    name: "deleted",
    title: "the deletion of a session cancels its calls",
    over: "http",
    revision: "2025-11-25",
    run: async (link, open) => {
      await begin(link, 1, "suite_wait", { key: "deleted" })
      await link.close()
      const other = await open()
      await other.over("deleted")
      await other.close()
    }
  }
]
