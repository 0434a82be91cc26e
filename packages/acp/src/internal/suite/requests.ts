/** What an agent must do with requests of any method. */
import { demand, within } from "@quiesce/wire/RawPeer"
import { type Case, sleep } from "./case.ts"
import { cancel, type Id, type Link, request } from "./link.ts"

/** Bodies that take their time take at least this long: enough to see that somebody does not wait for them. */
const millis = 300

const cancelled = (number: number, name: string, title: string, id: Id): Case => ({
  number,
  name,
  title,
  run: async (link) => {
    await link.begin(id, "_suite/wait", { key: name })
    link.send(cancel(id))
    await link.cancelled(id)
    demand((await link.log()).includes(`-${name}`), "it is answered, and its body goes on")
  }
})

/** Ends the program, while a body is there that takes its time to clean up. */
const ending = (number: number, name: string, title: string, end: (link: Link) => void): Case => ({
  number,
  name,
  title,
  run: async (link) => {
    const { isWritten, path } = link.file(name)
    await link.begin(1, "_suite/cleanup", { key: name, millis, file: path })
    end(link)
    const code = await within(link.program.exited, "the program did not end")
    demand(isWritten(), "the program has ended, and the clean-up had not")
    demand(code === 0, `the program ended with ${code ?? link.program.child.signalCode}`)
  }
})

export const requests: ReadonlyArray<Case> = [
  cancelled(1, "cooperative", "a cancelled request is answered once, when its body is over", 1),
  {
    number: 2,
    name: "late-finish",
    title: "a cancelled request whose body goes on is answered when that is over",
    run: async (link) => {
      await link.begin(1, "_suite/stubborn", { key: "late", millis })
      link.send(cancel(1))
      demand(!(await link.log()).includes("-late") && link.answers(1).length === 0, "it is answered before that")
      await link.cancelled(1)
      demand((await link.log()).includes("-late"), "it is answered, and its body goes on")
    }
  },
  {
    number: 3,
    name: "same-chunk",
    title: "a request that is cancelled in the same chunk is answered, and does not begin",
    run: async (link) => {
      link.send(request(1, "_suite/wait", { key: "same-chunk" }), cancel(1))
      await link.cancelled(1)
      demand(!(await link.log()).includes("+same-chunk"), "its body began")
    }
  },
  cancelled(4, "zero", "a request with the id 0 can be cancelled", 0),
  {
    number: 5,
    name: "typed-ids",
    title: "the ids 1 and \"1\" are two",
    run: async (link) => {
      await link.begin(1, "_suite/wait", { key: "number" })
      await link.begin("1", "_suite/wait", { key: "text" })
      link.send(cancel("1"))
      await link.cancelled("1")
      demand(!(await link.log()).includes("-number"), "the cancel of \"1\" has cancelled 1")
      link.send(cancel(1))
      await link.cancelled(1)
    }
  },
  {
    number: 6,
    name: "ignored",
    title: "a cancel of what is unknown or over, or that makes no sense, is ignored",
    run: async (link) => {
      await link.served()
      await link.begin(1, "_suite/wait", { key: "ignored" })
      const senseless = [undefined, null, {}, [], "1", 99, true].map(cancel)
      link.send(...senseless, { jsonrpc: "2.0", method: "$/cancel_request" }, cancel("served-1"))
      await link.served()
      demand(!(await link.log()).includes("-ignored"), "it has cancelled a request")
      demand(link.received.every(({ error }) => error === undefined), "it is answered with an error")
    }
  },
  {
    number: 7,
    name: "twice",
    title: "a second cancel changes nothing",
    run: async (link) => {
      await link.begin(1, "_suite/cleanup", { key: "twice", millis })
      link.send(cancel(1), cancel(1))
      link.send(cancel(1))
      await link.cancelled(1)
    }
  },
  {
    number: 8,
    name: "duplicate",
    title: "a second request with an id that is live is refused with -32600, and the first is unharmed",
    run: async (link) => {
      await link.begin(1, "_suite/stubborn", { key: "duplicate", millis })
      link.send(request(1, "_suite/echo", { text: "second" }))
      const { error } = await link.answer(1)
      demand(error?.code === -32600, "the second is not refused")
      await link.message(({ id, result }) => id === 1 && result?.key === "duplicate", "the first answer")
    }
  },
  {
    number: 9,
    name: "race",
    title: "a request that ends while it is cancelled is answered once",
    run: async (link) => {
      for (let n = 0; n < 25; n++) {
        const id = `race-${n}`
        await link.begin(id, "_suite/stubborn", { key: id, millis: 2 })
        await sleep(n % 5)
        link.send(cancel(id))
        await link.cancelled(id)
      }
    }
  },
  {
    number: 10,
    name: "nothing-after",
    title: "nothing is told for a request behind its answer",
    run: async (link) => {
      link.send(request(1, "_suite/leave", { key: "leave", millis }))
      await link.answer(1)
      await sleep(2 * millis)
      await link.log()
      const after = link.received.slice(link.received.findIndex(({ id }) => id === 1))
      demand(!after.some(({ params }) => params?.key === "leave"), "something was told behind it")
    }
  },
  ending(11, "end-of-input", "at the end of its input the program ends, and not before its bodies", (link) => {
    link.program.child.stdin!.end()
  }),
  ending(12, "asked-to-end", "on SIGTERM the program ends, and not before its bodies", (link) => {
    link.program.child.kill("SIGTERM")
  }),
  {
    number: 13,
    name: "deadline",
    title: "a request that ends by a deadline of its own, cancelled or not, is answered as cancelled",
    run: async (link) => {
      await link.begin(1, "_suite/deadline", { key: "deadline", millis: 20 })
      demand((await link.answer(1)).error?.code === -32800, `it is answered with ${link.answers(1)[0]?.error?.code}`)
      await link.begin(2, "_suite/deadline", { key: "cancelled", millis: 60_000 })
      link.send(cancel(2))
      await link.cancelled(2)
    }
  },
  {
    number: 14,
    name: "long-cleanup",
    title: "a request whose clean-up takes longer than anybody has patience is not answered before it has ended",
    run: async (link) => {
      await link.begin(1, "_suite/cleanup", { key: "long", millis: 6000 })
      link.send(cancel(1))
      await sleep(5500)
      demand(!(await link.log()).includes("-long"), "its clean-up has ended too early")
      demand(link.answers(1).length === 0, "it is answered before that")
      await link.cancelled(1)
    }
  },
  ending(16, "hung-up", "when its client is gone the program ends, and not before its bodies", (link) => {
    link.program.child.stdin!.destroy()
    link.program.child.stdout!.destroy()
  }),
  {
    number: 19,
    name: "throwing-cleanup",
    title: "a cancelled request whose clean-up fails is answered as cancelled, and the connection lives",
    run: async (link) => {
      await link.begin(1, "_suite/cleanup", { key: "throwing", millis: 1, fails: true })
      link.send(cancel(1))
      await link.cancelled(1)
      await link.served()
    }
  },
  {
    number: 21,
    name: "slow-reader",
    title: "a client that does not read can cancel",
    run: async (link) => {
      const { isWritten, path } = link.file("slow-reader")
      await link.begin(1, "_suite/cleanup", { key: "slow", millis: 1, file: path })
      link.program.child.stdout!.pause()
      // More than a pipe holds.
      const text = "x".repeat(10_000)
      for (let n = 0; n < 100; n++) link.send(request(`slow-${n}`, "_suite/echo", { text }))
      link.send(cancel(1))
      for (let waited = 0; waited < 100 && !isWritten(); waited++) await sleep(100)
      demand(isWritten(), "its request was not cancelled within 10000 ms")
      link.program.child.stdout!.resume()
      await link.cancelled(1)
    }
  },
  {
    number: 29,
    name: "garbage",
    title: "what is no message is answered with an error, and the connection lives",
    run: async (link) => {
      link.send("{\"jsonrpc\":")
      await link.message(({ error, id }) => id === null && error?.code === -32700, "the error")
      await link.served()
      link.send(
        "[".repeat(20_000) + "]".repeat(20_000),
        "null",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"_a\"}"
      )
      await link.served()
    }
  },
  {
    number: 30,
    name: "huge",
    title: "a frame of 48 MB is refused, and the connection lives",
    run: async (link) => {
      link.send(request(1, "_suite/echo", { text: "x".repeat(48_000_000) }))
      demand((await link.answer(1)).error?.code === -32600, "it is not refused")
      await link.served()
    }
  }
]
