/**
 * An app on Effect 3, with its tools described by `@effect/schema`, and run by Quiesce.
 *
 * Cancellation crosses twice: from a fiber of Effect 3 into the call, and from the call into the fiber of Effect 3 that is
 * its body. Whoever asks waits until the other side is quiet.
 */
import { Schema } from "@effect/schema"
import { Tool, Toolbox } from "@quiesce/example-effect3-tools"
import { Effect, Fiber, Queue } from "effect"
import assert from "node:assert/strict"
import { body, call, standard } from "./Bridge.ts"

const events: Array<string> = []
const note = (event: string) => Effect.sync(() => void events.push(event))

const Trip = Schema.Struct({
  to: Schema.NonEmptyString,
  nights: Schema.Int.pipe(Schema.positive())
})

const book = Tool.fromPromise("book", {
  description: "Book a trip",
  parameters: standard(Trip),
  success: standard(Schema.Struct({ price: Schema.Number })),
  execute: ({ nights, to }, { signal }) =>
    body(Effect.as(note(`booked ${nights} nights in ${to}`), { price: nights * 100 }), signal)
})

/** Each body of `wait`, as it begins. */
const begun = Effect.runSync(Queue.unbounded<void>())

const wait = Tool.fromPromise("wait", {
  description: "Wait for a seat, for as long as it takes",
  parameters: standard(Schema.Struct({})),
  success: standard(Schema.Null),
  execute: (_, { signal }) =>
    body(
      Effect.zipRight(Queue.offer(begun, undefined), Effect.never).pipe(
        Effect.onInterrupt(() =>
          Effect.zipRight(Effect.sleep("20 millis"), note("the place in the queue is given back"))
        )
      ),
      signal
    )
})

class SoldOut extends Schema.TaggedError<SoldOut>()("SoldOut", { to: Schema.String }) {}

const fly = Tool.fromPromise("fly", {
  description: "Fly",
  parameters: standard(Trip),
  success: standard(Schema.Null),
  execute: ({ to }, { signal }) => body(Effect.fail(new SoldOut({ to })), signal)
})

const toolbox = Toolbox.make({ tools: [book, wait, fly] })

const program = Effect.gen(function*() {
  const [schema] = toolbox.schemas()
  console.log("a model is told:", JSON.stringify(schema?.inputSchema))

  const booked = yield* call(toolbox, { callId: "1", name: "book", arguments: { to: "Bergen", nights: 2 } })
  assert(booked._tag === "Success")
  console.log("booked:", booked.value)

  const wrong = yield* call(toolbox, { callId: "2", name: "book", arguments: { to: "", nights: 0 } })
  assert(wrong._tag === "Failure" && !wrong.dispatched)
  assert.match(wrong.error.message, /\$\.to.*\$\.nights/s)
  console.log("refused:", wrong.error.code)

  const failed = yield* call(toolbox, { callId: "3", name: "fly", arguments: { to: "Bergen", nights: 1 } })
  assert(failed._tag === "Failure")
  assert.deepEqual(failed.error.detail, { _tag: "SoldOut", to: "Bergen" })
  console.log("failed:", failed.error.code, failed.error.name)

  // From here into the call, and out of the call into its body: two fibers of Effect 3 with Effect 4 between them.
  const fiber = yield* Effect.fork(call(toolbox, { callId: "4", name: "wait", arguments: {} }))
  yield* Queue.take(begun)
  yield* Fiber.interrupt(fiber)
  assert.deepEqual(events, ["booked 2 nights in Bergen", "the place in the queue is given back"])
  assert.deepEqual(toolbox.inFlight(), [])
  console.log("interrupted:", events.at(-1))

  // And the other way: the call is cancelled by somebody else, and the effect that made it is told the outcome.
  const waiting = yield* Effect.fork(call(toolbox, { callId: "5", name: "wait", arguments: {} }))
  yield* Queue.take(begun)
  assert.equal(toolbox.cancel("5"), 1)
  const cancelled = yield* Fiber.join(waiting)
  assert(cancelled._tag === "Failure")
  console.log("cancelled:", cancelled.error.code, cancelled.dispatched)

  // A body that is reached too late does nothing, and one that interrupts itself has not been cancelled by us.
  const done = [...events]
  const late = yield* Effect.flip(Effect.tryPromise({
    try: () => body(note("begun too late"), AbortSignal.abort("it was over")),
    catch: (reason) => reason
  }))
  assert.equal(late, "it was over")
  assert.deepEqual(events, done)
  const given = yield* Effect.flip(Effect.tryPromise({
    try: () => body(Effect.interrupt, new AbortController().signal),
    catch: (reason) => reason
  }))
  assert.match(String(given), /InterruptedException/)
}).pipe(Effect.ensuring(Effect.promise(() => toolbox.close())))

await Effect.runPromise(program)
