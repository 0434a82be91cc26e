/**
 * A child process that measures one table, named by its argument, and sends what it measured to its parent.
 */
import * as Measure from "./Measure.ts"
import { load } from "./tables.ts"

const [name] = process.argv.slice(2)
const table = await load(name!)

const measured = async () => {
  if (table._tag === "Observations") return await table.observe()
  const series = await Measure.measure(await table.subjects(), table.plan, table.claim)
  return table.derive === undefined ? series : table.derive(series)
}

process.send!(await measured())
process.disconnect()
