/**
 * A suite for cancellation: what an agent does with requests and prompts that are cancelled, told by a client that is no SDK.
 *
 * It can be put to any program that speaks the protocol over standard input and output and does this for it. A body says
 * when it begins, by the notification `_suite/began` with its key, and `file`, where there is one, it writes when it is over.
 *
 * | request           | parameters                      | does                                                            |
 * | ----------------- | ------------------------------- | --------------------------------------------------------------- |
 * | `_suite/echo`     | `{ text }`                      | answers with `{ text }`                                         |
 * | `_suite/wait`     | `{ key }`                       | ends when it is cancelled                                       |
 * | `_suite/stubborn` | `{ key, millis }`               | answers with `{ key }` after that time, whoever cancels it      |
 * | `_suite/cleanup`  | `{ key, millis, file?, fails? }`| as `wait`, with a clean-up that takes that long, and may throw  |
 * | `_suite/deadline` | `{ key, millis }`               | as `wait`, with a deadline of its own                           |
 * | `_suite/leave`    | `{ key, millis }`               | is answered at once, and tells `_suite/progress` after that     |
 * | `_suite/log`      | `{}`                            | answers with `{ log }`: `"+key"` began, `"-key"` over, in order |
 *
 * The text of a prompt has a call per line, none of which waits for the end of another: `brief KEY`, `wait KEY`, `cleanup KEY MILLIS`, `ask KEY`, which
 * needs the client's permission and then waits, and `terminal KEY`, which runs a command in a terminal of the client.
 */
import { within } from "@quiesce/wire/RawPeer"
import { Link } from "./internal/suite/link.ts"
import { requests } from "./internal/suite/requests.ts"
import { sessions } from "./internal/suite/sessions.ts"

/** A program that is an agent. */
export interface Command {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

export interface Outcome {
  readonly number: number
  readonly name: string
  readonly title: string
  /** Absent where the case holds. */
  readonly fault?: string | undefined
}

const all = [...requests, ...sessions].sort((left, right) => left.number - right.number)

export const cases: ReadonlyArray<Omit<Outcome, "fault">> = all

export interface Options {
  /** The names of the cases. Default: all. */
  readonly only?: ReadonlyArray<string> | undefined
  /** Told of each outcome when it is known. */
  readonly told?: ((outcome: Outcome) => void) | undefined
}

/** Puts the cases to the program, each to a process of its own, one after the other. It does not reject. */
export const run = async (
  { args, command }: Command,
  { only, told = () => undefined }: Options = {}
): Promise<ReadonlyArray<Outcome>> => {
  const outcomes: Array<Outcome> = []
  for (const { name, number, run, title } of all.filter(({ name }) => only?.includes(name) ?? true)) {
    const link = new Link(command, args)
    let fault: string | undefined
    try {
      await link.initialize()
      await run(link)
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
    }
    await within(link.close(), "it did not close").catch(() => undefined)
    const outcome = { number, name, title, fault }
    outcomes.push(outcome)
    told(outcome)
  }
  return outcomes
}
