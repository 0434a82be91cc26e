/**
 * What the app has without any tool: a warehouse with two connections, and a post office.
 */
import { Context, Deferred, Effect, Layer, Ref, Schema, Semaphore } from "effect"
import type { Scope } from "effect"

/** The warehouse is restarting: ask again. */
export class Busy extends Schema.TaggedError<Busy>()("Busy", { region: Schema.String }) {}

export class Warehouse extends Context.Service<Warehouse, {
  /** A connection, given back when the scope closes. */
  readonly connect: Effect.Effect<(region: string) => Effect.Effect<ReadonlyArray<number>, Busy>, never, Scope.Scope>
  readonly open: Effect.Effect<number>
  /** Comes when two queries hang. */
  readonly stuck: Effect.Effect<void>
}>()("pipeline/Warehouse") {
  static readonly layer = Layer.effect(
    Warehouse,
    Effect.gen(function*() {
      const connections = yield* Semaphore.make(2)
      const open = yield* Ref.make(0)
      // Each region is busy the first time it is asked for.
      const restarted = new Set<string>()
      const stuck = yield* Deferred.make<void>()
      let hanging = 0
      const query = Effect.fn("Warehouse.query")(function*(region: string) {
        yield* Effect.sleep("5 millis")
        if (!restarted.has(region)) {
          restarted.add(region)
          return yield* new Busy({ region })
        }
        if (region.startsWith("nowhere")) {
          if (++hanging === 2) yield* Deferred.succeed(stuck, undefined)
          return yield* Effect.never
        }
        return region === "north" ? [120, 80] : [300]
      })
      return {
        connect: Effect.gen(function*() {
          yield* Effect.acquireRelease(connections.take(1), () => connections.release(1), { interruptible: true })
          // Hanging up takes a moment.
          yield* Effect.acquireRelease(
            Ref.update(open, (count) => count + 1),
            () => Effect.delay(Ref.update(open, (count) => count - 1), "10 millis")
          )
          return query
        }),
        open: Ref.get(open),
        stuck: Deferred.await(stuck)
      }
    })
  )
}

export class PostOffice extends Context.Service<PostOffice, {
  readonly send: (to: string, text: string) => Effect.Effect<void>
  readonly sent: Effect.Effect<ReadonlyArray<string>>
}>()("pipeline/PostOffice") {
  static readonly layer = Layer.effect(
    PostOffice,
    Effect.map(Ref.make<ReadonlyArray<string>>([]), (sent) => ({
      send: Effect.fn("PostOffice.send")((to: string, text: string) =>
        Ref.update(sent, (all) => [...all, `${to}: ${text}`])
      ),
      sent: Ref.get(sent)
    }))
  )
}
