/** One process that explores the races it is sent, one after the other, and sends back their reports. */
import { Explore, type Report } from "@quiesce/testing"
import { subjects } from "./index.ts"
import { heavyBounds } from "./Race.ts"

/** Which race is to be explored. */
export interface Order {
  readonly subject: number
  readonly race: number
}

/** What came of it. */
export interface Answer extends Order {
  readonly report: Report.Report
}

const explore = async ({ race: index, subject }: Order): Promise<void> => {
  const race = subjects[subject]!.races[index]!
  const report = await Explore.runPromise(race.program, { name: race.name, ...heavyBounds(race) })
  process.send!({ subject, race: index, report } satisfies Answer)
}

process.on("message", (order: Order) => void explore(order))
