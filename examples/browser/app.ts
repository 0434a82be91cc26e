/**
 * The page: one tool, which counts to a hundred and takes a moment to stop, and two buttons.
 *
 * Between the click on Cancel and the end of the call the page says "asked to stop": the tool is still at its clean-up.
 * "stopped" it says when the call has its result, and then nothing of the tool is left.
 */
import { Tool, Toolbox } from "@quiesce/core"
import { z } from "zod"

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E
const start = element<HTMLButtonElement>("start")
const cancel = element<HTMLButtonElement>("cancel")
const parts = element<HTMLProgressElement>("parts")
const status = element("status")
const log = element("log")

const say = (line: string) => log.append(`${line}\n`)

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const download = Tool.fromPromise("download", {
  description: "Download a hundred parts",
  parameters: z.object({}),
  success: z.number(),
  execute: async (_, { signal }) => {
    try {
      for (let part = 1; part <= 100; part++) {
        signal.throwIfAborted()
        await pause(50)
        parts.value = part
      }
      return 100
    } finally {
      if (signal.aborted) {
        say(`${parts.value} parts are thrown away`)
        await pause(300)
        parts.value = 0
      }
    }
  }
})

const toolbox = Toolbox.make({ tools: [download] })

let call = 0
const run = async () => {
  const controller = new AbortController()
  const stop = () => {
    controller.abort()
    status.textContent = "asked to stop"
    cancel.disabled = true
  }
  cancel.addEventListener("click", stop)
  start.disabled = true
  cancel.disabled = false
  status.textContent = "running"
  const result = await toolbox.execute({
    callId: String(++call),
    name: "download",
    arguments: {},
    signal: controller.signal
  })
  cancel.removeEventListener("click", stop)
  start.disabled = false
  cancel.disabled = true
  status.textContent = "stopped"
  say(
    `call ${call}: ${
      result._tag === "Success" ? "SUCCESS" : result.error.code
    }, in flight: ${toolbox.inFlight().length}`
  )
}

start.addEventListener("click", () => void run())
