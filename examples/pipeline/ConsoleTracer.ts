/**
 * A tracer that prints: each root span with all that was inside it, once it has ended.
 */
import { Cause, Exit, Layer, Option, Tracer } from "effect"

class Printed extends Tracer.NativeSpan {
  readonly inside: Array<Printed> = []

  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    super.end(endTime, exit)
    if (Option.isNone(this.parent)) console.log(lines(this, 0).join("\n"))
  }
}

const lines = (span: Printed, depth: number): ReadonlyArray<string> => [
  `${"  ".repeat(depth)}${span.name} ${ended(span)}${events(span)}`,
  ...span.inside.flatMap((child) => lines(child, depth + 1))
]

const ended = ({ status }: Printed): string => {
  if (status._tag === "Started") return "…"
  const millis = Number((status.endTime - status.startTime) / 1_000_000n)
  const outcome = Exit.isSuccess(status.exit)
    ? "ok"
    : Cause.hasInterruptsOnly(status.exit.cause)
    ? "interrupted"
    : "failed"
  return `${outcome}, ${millis} ms`
}

const events = (span: Printed): string =>
  span.events.length === 0 ? "" : ` (${span.events.map(([name]) => name).join(", ")})`

export const layer = Layer.succeed(
  Tracer.Tracer,
  Tracer.make({
    span: (options) => {
      const span = new Printed(options)
      const parent = Option.getOrUndefined(options.parent)
      if (parent instanceof Printed) parent.inside.push(span)
      return span
    }
  })
)
