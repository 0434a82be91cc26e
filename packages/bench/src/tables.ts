/** The tables by name, in the order they are printed. Loaded one by one: a child process holds the code of its own. */
import type { Table } from "./Table.ts"

const loaders: Readonly<Record<string, () => Promise<{ readonly table: Table }>>> = {
  call: () => import("./tables/call.ts"),
  fiber: () => import("./tables/fiber.ts"),
  thousand: () => import("./tables/thousand.ts"),
  peers: () => import("./tables/peers.ts"),
  semantics: () => import("./tables/semantics.ts"),
  concurrency: () => import("./tables/concurrency.ts"),
  scaling: () => import("./tables/scaling.ts"),
  pending: () => import("./tables/pending.ts"),
  singleUse: () => import("./tables/singleUse.ts"),
  bridge: () => import("./tables/bridge.ts"),
  deadline: () => import("./tables/deadline.ts"),
  abort: () => import("./tables/abort.ts"),
  memory: () => import("./tables/memory.ts"),
  settled: () => import("./tables/settled.ts"),
  stopping: () => import("./tables/stopping.ts"),
  turn: () => import("./tables/turn.ts"),
  log: () => import("./tables/log.ts"),
  interleavings: () => import("./tables/interleavings.ts"),
  import: () => import("./tables/import.ts")
}

export const names: ReadonlyArray<string> = Object.keys(loaders)

export const load = async (name: string): Promise<Table> => {
  const loader = loaders[name]
  if (loader === undefined) throw new Error(`no table ${name}; there are ${names.join(", ")}`)
  return (await loader()).table
}
