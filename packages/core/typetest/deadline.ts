import { Abortable, Deadline } from "@quiesce/core"
import { type Cause, Context, type Duration, type Effect, Stream } from "effect"
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const is = <T extends true>(..._: T extends true ? [] : [never]): void => undefined

class Service extends Context.Service<Service, {}>()("app/Service") {}
class Failed {
  readonly _tag = "Failed"
}
declare const effect: Effect.Effect<number, Failed, Service>
declare const stream: Stream.Stream<number, Failed, Service>
const options = { timeout: "5 seconds", code: "SLOW" } as const

// A deadline adds its error, and takes nothing away, data-first and data-last.
type Within = Effect.Effect<number, Failed | Deadline.DeadlineExceeded, Service>
const within = Deadline.within(effect, options)
const withinPiped = effect.pipe(Deadline.within(options))
is<Equal<typeof within, Within>>()
is<Equal<typeof withinPiped, Within>>()

// So does one for silence, over a stream or over what makes one.
type Idle = Stream.Stream<number, Failed | Deadline.DeadlineExceeded, Service>
const idle = Deadline.idle(stream, options)
const idlePiped = stream.pipe(Deadline.idle(options))
const idleMade = Deadline.idle(({ pulse, signal }) => {
  is<Equal<typeof signal, AbortSignal>>()
  return Stream.tap(stream, () => (pulse(), stream.pipe(Stream.runDrain)))
}, options)
is<Equal<typeof idle, Idle>>()
is<Equal<typeof idlePiped, Idle>>()
is<Equal<typeof idleMade, Idle>>()

// Promise code says whose cancellation it is.
const iterable = Deadline.idleIterable(async function*() {
  yield 1
}, { ...options, signal: new AbortController().signal })
is<Equal<typeof iterable, AsyncIterable<number>>>()
// @ts-expect-error no signal
Deadline.idleIterable(async function*() {}, options)

// A number that a model gave may be missing.
const clamped = Deadline.clamp({ requested: undefined as number | undefined, default: "30 seconds", max: "10 minutes" })
is<Equal<typeof clamped, Effect.Effect<Duration.Duration, Deadline.InvalidTimeout>>>()
// @ts-expect-error no maximum
Deadline.clamp({ requested: 1, default: 1 })

const promised = Abortable.promise(async (signal) => signal.aborted)
is<Equal<typeof promised, Effect.Effect<boolean, Cause.UnknownError>>>()
const bound = Abortable.interruptOn(effect, new AbortController().signal)
is<Equal<typeof bound, Effect.Effect<number, Failed, Service>>>()
// @ts-expect-error no signal
void Abortable.runPromise(Abortable.promise(async () => 1), {})
