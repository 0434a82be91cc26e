/**
 * One native listener per AbortSignal, however many subscribe.
 *
 * The platform walks its listener list on every add and remove, so a listener for each call makes n calls on one signal
 * cost n². Here the signal's one listener is the hub, and the subscribers are a doubly linked list of their own.
 *
 * 1. A hub is in `hubs`, and its native listener registered, exactly while it has a subscriber.
 * 2. A subscriber is notified at most once, and never after `unsubscribe` returned: not when it was removed by an
 *    earlier subscriber of the same abort, either.
 * 3. An `abort` event on a signal that is not aborted (anybody can dispatch one) notifies nobody.
 * 4. A subscriber that throws keeps nobody from being notified: as with the platform's own listeners, what it threw is
 *    reported as uncaught once all have been.
 * 5. Anything can call itself a signal. One that cannot be listened to is refused with what it threw, and leaves nothing
 *    behind; one whose listener cannot be removed, or whose reason cannot be read, holds up nobody.
 */
export interface Subscription {
  readonly hub: Hub
  readonly onAbort: (reason: unknown) => void
  previous: Subscription | undefined
  next: Subscription | undefined
  active: boolean
}

interface Hub {
  readonly signal: AbortSignal
  /** The platform calls this: a listener object needs no closure. */
  readonly handleEvent: () => void
  first: Subscription | undefined
  last: Subscription | undefined
}

/**
 * Strong on purpose: an entry lives as long as a subscription, whose owner must unsubscribe, and a derived signal must
 * abort with its source also when nobody else holds on to the source.
 */
const hubs = new Map<AbortSignal, Hub>()

/** Calls `onAbort` once when `signal` aborts. The caller has seen, in this operation, that it is not aborted yet. */
export const subscribe = (signal: AbortSignal, onAbort: (reason: unknown) => void): Subscription => {
  const hub = hubs.get(signal) ?? open(signal)
  const subscription: Subscription = { hub, onAbort, previous: hub.last, next: undefined, active: true }
  if (hub.last === undefined) hub.first = subscription
  else hub.last.next = subscription
  hub.last = subscription
  return subscription
}

/** Does nothing for a subscription that has ended. */
export const unsubscribe = (subscription: Subscription): void => {
  if (!subscription.active) return
  subscription.active = false
  const { hub, next, previous } = subscription
  if (previous === undefined) hub.first = next
  else previous.next = next
  if (next === undefined) hub.last = previous
  else next.previous = previous
  if (hub.first === undefined) close(hub)
}

/** A signal that aborts with the first of several, until it is released. */
export interface Fused {
  readonly signal: AbortSignal
  readonly subscriptions: ReadonlyArray<Subscription>
}

/** Of signals that are aborted already the first in the list counts; then there is nothing to subscribe to. */
export const fuse = (signals: ReadonlyArray<AbortSignal>): Fused => {
  const controller = new AbortController()
  const aborted = signals.find((signal) => signal.aborted)
  if (aborted !== undefined) {
    controller.abort(aborted.reason)
    return { signal: controller.signal, subscriptions: [] }
  }
  const subscriptions: Array<Subscription> = []
  const fused = { signal: controller.signal, subscriptions }
  try {
    for (const signal of signals) subscriptions.push(subscribe(signal, (reason) => controller.abort(reason)))
  } catch (thrown) {
    release(fused)
    throw thrown
  }
  return fused
}

export const release = ({ subscriptions }: Fused): void => subscriptions.forEach(unsubscribe)

const open = (signal: AbortSignal): Hub => {
  const hub: Hub = { signal, handleEvent: () => notify(hub), first: undefined, last: undefined }
  signal.addEventListener("abort", hub)
  hubs.set(signal, hub)
  return hub
}

const close = (hub: Hub): void => {
  hubs.delete(hub.signal)
  try {
    hub.signal.removeEventListener("abort", hub)
  } catch {
    // It stays, and notifies nobody.
  }
}

const notify = (hub: Hub): void => {
  if (!hub.signal.aborted) return
  // Taken off one by one: what a subscriber removes meanwhile is not visited (2).
  let thrown: { readonly value: unknown } | undefined
  const reason = reasonOf(hub.signal)
  for (let subscription = hub.first; subscription !== undefined; subscription = hub.first) {
    unsubscribe(subscription)
    try {
      subscription.onAbort(reason)
    } catch (value) {
      thrown ??= { value }
    }
  }
  if (thrown !== undefined) throw thrown.value
}

const reasonOf = (signal: AbortSignal): unknown => {
  try {
    return signal.reason
  } catch (thrown) {
    return thrown
  }
}
