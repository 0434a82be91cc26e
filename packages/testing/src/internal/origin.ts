/** Where in a program something was made: the first line of its own, below the frames of Node, of Effect and of the kit. */
import { relative } from "node:path"
import { fileURLToPath } from "node:url"

/** What was called, and where. */
export interface Origin {
  /** The function of the platform that the program called, where there is a frame of it. */
  readonly called: string | undefined
  /** The line of the program, where there is one. */
  readonly where: string | undefined
}

/** Deep enough to reach the program below the frames of Node and of the fiber that runs it. */
const stackDepth = 60

/** Takes the stack of this moment. It is written out only when somebody asks, which is most of its price. */
export const capture = (): Error => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = stackDepth
  const error = new Error()
  Error.stackTraceLimit = limit
  return error
}

export const originOf = (captured: Error): Origin => {
  const frames = framesOf(captured)
  // First come the kit's own frames, then Node, then whoever called Node.
  const node = frames.findIndex(isNode)
  const caller = frames.findIndex((frame, i) => i > node && !isNode(frame) && !frame.includes(kit))
  const program = frames.slice(Math.max(caller, 0)).find(isProgram)
  const where = program === undefined ? undefined : place(program)
  const called = node === -1 ? undefined : nameOf(frames[caller - 1])
  return { called, where }
}

/** The line of the program that an error comes from. */
export const whereOf = (error: unknown): string | undefined => {
  try {
    if (!(error instanceof Error) || typeof error.stack !== "string") return undefined
    const thrower = framesOf(error).find(isProgram)
    return thrower === undefined ? undefined : place(thrower)
  } catch {
    // A hostile error may throw from its getters.
    return undefined
  }
}

const kit = fileURLToPath(new URL("..", import.meta.url))

const framesOf = ({ stack }: Error): ReadonlyArray<string> =>
  (stack ?? "").split("\n").filter((line) => line.trimStart().startsWith("at "))

const isNode = (frame: string): boolean => frame.includes("(node:") || frame.includes("at node:")

const isProgram = (frame: string): boolean =>
  !isNode(frame) && !frame.includes("/node_modules/effect/") && !frame.includes(kit) && located.test(frame)

const located = /\(?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*):(\d+:\d+)\)?$/

const place = (frame: string): string => {
  const [, file, position] = located.exec(frame)!
  return `${relative(process.cwd(), file!.startsWith("file:") ? fileURLToPath(file!) : file!)}:${position}`
}

/** `readFile` for `at Object.readFile (node:fs:1:1)`; nothing for the hook that tells of a native constructor. */
const nameOf = (frame: string | undefined): string | undefined => {
  const name = /at (?:async )?(?:Object\.)?([\w.$ ]+?)(?: \[as (\w+)\])? \(node:/.exec(frame ?? "")
  const called = name?.[2] ?? name?.[1]
  return called?.includes("emitInit") === true ? undefined : called
}
