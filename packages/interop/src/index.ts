// What needs no host. Each host is a module of its own (`@quiesce/interop/AiSdk`), so that nobody loads one he has not.
export * as Face from "./Face.ts"
export * as Ledger from "./Ledger.ts"
