export * as Command from "./Command.ts"
export * as Outcome from "./Outcome.ts"
export * as Output from "./Output.ts"
export * as Process from "./Process.ts"
