export * as LogError from "./LogError.ts"
export * as LogEvent from "./LogEvent.ts"
export * as SessionLog from "./SessionLog.ts"
export * as Turn from "./Turn.ts"
