/**
 * The contract as a pure model: what must be seen of some calls after some commands.
 *
 * Bodies here end only when they are told to, so every state is one that rests: a call that was asked to stop stays
 * until its body ends, and nothing else does.
 */
import type { Command, Kind } from "../Script.ts"

/** Why a running call was asked to stop, if it was. */
export type Asked = "caller" | "deadline" | "shutdown" | undefined

export type CallState =
  | { readonly _tag: "Asking"; readonly kind: Kind }
  | { readonly _tag: "Running"; readonly deadline: number | undefined; readonly asked: Asked }
  | { readonly _tag: "Settled"; readonly outcome: string; readonly dispatched: boolean }

export interface State {
  readonly now: number
  readonly isClosed: boolean
  readonly calls: ReadonlyMap<number, CallState>
}

export const initial: State = { now: 0, isClosed: false, calls: new Map() }

/** The budget of a tool that has one, in milliseconds. */
export const budget = 100

const settled = (outcome: string, dispatched: boolean): CallState => ({ _tag: "Settled", outcome, dispatched })

const beforeDispatch = settled("ABORTED_BEFORE_DISPATCH", false)

const run = (kind: Kind, now: number): CallState => ({
  _tag: "Running",
  deadline: kind.budgeted ? now + budget : undefined,
  asked: undefined
})

/** What `command` makes of `state`. A command about a call that is not in its way changes nothing. */
export const step = (state: State, command: Command): State => {
  switch (command._tag) {
    case "advance": {
      const now = state.now + command.millis
      return { ...state, now, calls: mapCalls(state.calls, (call) => expire(call, now)) }
    }
    case "close":
      return { ...state, isClosed: true, calls: mapCalls(state.calls, (call) => ask(call, "shutdown")) }
    case "start": {
      if (state.calls.has(command.call)) return state
      if (state.isClosed) return set(state, command.call, beforeDispatch)
      const { kind } = command
      return set(state, command.call, kind.asks ? { _tag: "Asking", kind } : run(kind, state.now))
    }
    default: {
      const call = state.calls.get(command.call)
      return call === undefined ? state : set(state, command.call, stepCall(call, command._tag, state.now))
    }
  }
}

const stepCall = (
  call: CallState,
  command: "abort" | "approve" | "deny" | "complete" | "fail",
  now: number
): CallState => {
  switch (command) {
    case "abort":
      return ask(call, "caller")
    case "approve":
      return call._tag === "Asking" ? run(call.kind, now) : call
    case "deny":
      return call._tag === "Asking" ? settled("DENIED", false) : call
    case "complete":
      return call._tag === "Running" ? settled(completed[call.asked ?? "nobody"], true) : call
    case "fail":
      // More specific beats generic: a failure of the body outlasts a cancellation, a deadline outlasts both.
      return call._tag === "Running" ? settled(call.asked === "deadline" ? "TOOL_TIMEOUT" : "TOOL_FAILURE", true) : call
  }
}

const completed = { nobody: "Success", caller: "ABORTED", shutdown: "ABORTED", deadline: "TOOL_TIMEOUT" }

/** The first to ask counts. */
const ask = (call: CallState, asked: Asked): CallState => {
  switch (call._tag) {
    case "Asking":
      return beforeDispatch
    case "Running":
      return call.asked === undefined ? { ...call, asked } : call
    case "Settled":
      return call
  }
}

const expire = (call: CallState, now: number): CallState =>
  call._tag === "Running" && call.deadline !== undefined && call.deadline <= now ? ask(call, "deadline") : call

const set = (state: State, call: number, to: CallState): State => ({
  ...state,
  calls: new Map(state.calls).set(call, to)
})

const mapCalls = (calls: State["calls"], f: (call: CallState) => CallState): State["calls"] =>
  new Map(Array.from(calls, ([key, call]) => [key, f(call)]))
