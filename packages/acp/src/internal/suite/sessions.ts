/** What an agent must do with prompts that are stopped. */
import { demand, type Message } from "@quiesce/wire/RawPeer"
import { type Case, sleep } from "./case.ts"
import { cancel, error, type Link, result, stop } from "./link.ts"

const allow = ({ id }: Message) => result(id, { outcome: { outcome: "selected", optionId: "allow_once" } })
const dismiss = ({ id }: Message) => result(id, { outcome: { outcome: "cancelled" } })

/** The state in which a client was told last that each call of a session is. */
const statusOf = (link: Link, sessionId: string): ReadonlyMap<string, string> => {
  const last = new Map<string, string>()
  for (const { params } of link.told("session/update")) {
    const { status, toolCallId } = params.update
    if (params.sessionId === sessionId && status !== undefined && toolCallId !== undefined) last.set(toolCallId, status)
  }
  return last
}

/** Begins a prompt, and returns when the body of its call says that it has begun. */
const begin = async (link: Link, id: string | number, sessionId: string, call: string): Promise<void> => {
  link.send(link.prompt(id, sessionId, call))
  await link.began(call.split(" ")[1]!)
}

/** Stops a prompt whose one call, of this name, has begun: it is answered when that is over. */
const stopping = (
  number: number,
  name: string,
  title: string,
  call: string,
  how: (id: number, sessionId: string) => object
): Case => ({
  number,
  name,
  title,
  run: async (link) => {
    const sessionId = await link.newSession()
    await begin(link, 1, sessionId, call)
    link.send(how(1, sessionId))
    await link.stopped(1, sessionId)
    demand((await link.log()).includes(`-${name}`), "it is answered, and its body goes on")
  }
})

export const sessions: ReadonlyArray<Case> = [
  {
    number: 15,
    name: "pending-permission",
    title: "a prompt is stopped while a permission is pending; an answer that allows it then allows nothing",
    run: async (link) => {
      for (const [id, late] of [["dismissed", dismiss], ["allowed", allow]] as const) {
        const sessionId = await link.newSession()
        const before = link.told("session/request_permission").length
        link.send(link.prompt(id, sessionId, `ask ${id}`))
        const asked = (await link.asked("session/request_permission", before + 1)).at(-1)!
        link.send(stop(sessionId), late(asked))
        await link.stopped(id, sessionId)
        demand(!(await link.log()).includes(`+${id}`), "the call began")
      }
    }
  },
  {
    number: 17,
    name: "calls-closed",
    title: "each call that a client was told of has ended, by what it is told, when a stopped prompt is answered",
    run: async (link) => {
      const sessionId = await link.newSession()
      link.send(link.prompt(1, sessionId, "wait one", "wait two", "ask three"))
      await Promise.all([link.began("one"), link.began("two"), link.asked("session/request_permission")])
      link.send(stop(sessionId), dismiss(link.told("session/request_permission")[0]!))
      await link.stopped(1, sessionId)
      const states = [...statusOf(link, sessionId).values()]
      demand(states.length === 3, `it was told of ${states.length} calls`)
      demand(states.every((state) => state === "completed" || state === "failed"), `they are ${states.join(", ")}`)
    }
  },
  stopping(
    18,
    "session-cancel",
    "session/cancel stops a prompt: its stop reason says so, and comes when all is over and told",
    "cleanup session-cancel 300",
    (_, sessionId) => stop(sessionId)
  ),
  {
    number: 20,
    name: "other-session",
    title: "session/cancel stops the prompts of its session, and no other",
    run: async (link) => {
      const [left, right] = [await link.newSession(), await link.newSession()]
      await begin(link, 1, left, "wait left")
      await begin(link, 2, right, "wait right")
      link.send(stop("nowhere"), stop(left))
      await link.stopped(1, left)
      demand(!(await link.log()).includes("-right"), "the other one was stopped")
      link.send(stop(right))
      await link.stopped(2, right)
    }
  },
  stopping(
    22,
    "cancel-request",
    "$/cancel_request stops a prompt like session/cancel",
    "wait cancel-request",
    (id) => cancel(id)
  ),
  {
    number: 23,
    name: "both",
    title: "a prompt that is stopped in both ways is answered once",
    run: async (link) => {
      const sessionId = await link.newSession()
      await begin(link, 1, sessionId, "cleanup one 100")
      link.send(stop(sessionId), cancel(1), stop(sessionId))
      await link.stopped(1, sessionId)
      await begin(link, 2, sessionId, "cleanup two 100")
      link.send(cancel(2), stop(sessionId), cancel(2))
      await link.stopped(2, sessionId)
    }
  },
  {
    number: 24,
    name: "registering",
    title: "a prompt that is stopped at any moment of its beginning is answered once, and asks nothing afterwards",
    run: async (link) => {
      const sessionId = await link.newSession()
      for (let n = 0; n < 12; n++) {
        const asked = link.told("session/request_permission").length
        const prompt = link.prompt(n, sessionId, `ask registering-${n}`)
        if (n < 2) link.send(prompt, stop(sessionId))
        else {
          link.send(prompt)
          await sleep(n - 2)
          link.send(stop(sessionId))
        }
        const dismissed = link.message(() => link.told("session/request_permission").length > asked, "a question", 200)
        await dismissed.then(() => link.send(dismiss(link.told("session/request_permission").at(-1)!)), () => undefined)
        await link.stopped(n, sessionId)
      }
      demand(!(await link.log()).some((entry) => entry.startsWith("+registering")), "a call began")
    }
  },
  {
    number: 25,
    name: "old-card",
    title: "an answer to a question of a prompt that was stopped does not answer that of the next one",
    run: async (link) => {
      const sessionId = await link.newSession()
      link.send(link.prompt(1, sessionId, "ask old"))
      const [old] = await link.asked("session/request_permission")
      link.send(stop(sessionId))
      await sleep(50)
      link.send(error(old!.id, -32800))
      await link.stopped(1, sessionId)
      link.send(link.prompt(2, sessionId, "ask new"))
      const [, fresh] = await link.asked("session/request_permission", 2)
      link.send(allow(old!), result(old!.id, "anything"))
      demand(!(await link.log()).includes("+new"), "the call began")
      link.send(stop(sessionId), dismiss(fresh!))
      await link.stopped(2, sessionId)
    }
  },
  {
    number: 26,
    name: "prompt-again",
    title: "a prompt behind session/cancel begins when the one before it is over and answered",
    run: async (link) => {
      const sessionId = await link.newSession()
      await begin(link, 1, sessionId, "cleanup first 300")
      link.send(stop(sessionId), link.prompt(2, sessionId, "wait second"))
      await link.began("second")
      const { received } = link
      const began = received.findIndex(({ method, params }) => method === "_suite/began" && params.key === "second")
      demand(
        received.slice(0, began).some(({ id, result }) => id === 1 && result !== undefined),
        "it began before that"
      )
      const log = await link.log()
      demand(log.indexOf("-first") < log.indexOf("+second"), "it began before the first was over")
      link.send(stop(sessionId))
      await link.stopped(2, sessionId)
    }
  },
  {
    number: 27,
    name: "end-turn",
    title: "a prompt that nobody stops ends with end_turn",
    run: async (link) => {
      const sessionId = await link.newSession()
      link.send(link.prompt(1, sessionId, "brief one", "brief two"))
      demand((await link.answer(1)).result?.stopReason === "end_turn", "it does not")
      link.send(stop(sessionId))
      await link.served()
      demand(link.answers(1).length === 1, "it is answered again")
    }
  },
  {
    number: 28,
    name: "cascade",
    title: "what a stopped prompt asks of its client is cancelled, its terminals end, and then it is answered",
    run: async (link) => {
      const sessionId = await link.newSession()
      link.send(link.prompt(1, sessionId, "terminal shell", "ask permission"))
      const [[create], [question]] = await Promise.all([
        link.asked("terminal/create"),
        link.asked("session/request_permission")
      ])
      link.send(result(create!.id, { terminalId: "t1" }))
      const [wait] = await link.asked("terminal/wait_for_exit")
      link.send(stop(sessionId))
      const cancels = (id: unknown) =>
        link.message(
          ({ method, params }) => method === "$/cancel_request" && params.requestId === id,
          `the cancel of ${JSON.stringify(id)}`
        )
      await Promise.all([cancels(wait!.id), cancels(question!.id)])
      link.send(error(wait!.id, -32800), error(question!.id, -32800))
      const ends = ["terminal/kill", "terminal/release"]
      for (const method of ends) {
        const [end] = await link.asked(method)
        demand(link.answers(1).length === 0, `it is answered before ${method} was`)
        link.send(result(end!.id, {}))
      }
      await link.stopped(1, sessionId)
      demand(!(await link.log()).includes("+permission"), "a call began that nobody allowed")
    }
  }
]
