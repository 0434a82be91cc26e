/** What a server must do with calls. */
import { demand } from "@quiesce/wire/RawPeer"
import { begin, type Case, overStdio, roundTrip, send, served, sharingIds, silentAfter, sleep, stop } from "./case.ts"
import { cancel } from "./link.ts"

const cancelled = (name: string, title: string, id: string | number): Case => ({
  name,
  title,
  run: async (link) => {
    await begin(link, id, "suite_wait", { key: name })
    const frames = link.about(id).length
    await stop(link, id, "enough")
    await link.over(name)
    await roundTrip(link)
    silentAfter(link, id, frames)
  }
})

export const calls: ReadonlyArray<Case> = [
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
      await roundTrip(link)
      silentAfter(link, 1, frames)
    }
  },
  {
    name: "same-chunk",
    title: "a call that is cancelled in the same chunk does not begin",
    applies: overStdio,
    run: async (link) => {
      await link.send(link.call(1, "suite_wait", { key: "same-chunk" }), cancel(1))
      await roundTrip(link)
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
      await roundTrip(link)
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
        await sleep(n % 5)
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
      await roundTrip(link)
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
  }
]
