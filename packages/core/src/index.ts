export * as Abortable from "./Abortable.ts"
