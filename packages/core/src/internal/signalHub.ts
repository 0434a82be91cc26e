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

/** Calls `onAbort` once when `signal` aborts. The caller has seen that it is not aborted yet. */
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

const open = (signal: AbortSignal): Hub => {
  const hub: Hub = { signal, handleEvent: () => notify(hub), first: undefined, last: undefined }
  hubs.set(signal, hub)
  signal.addEventListener("abort", hub)
  return hub
}

const close = (hub: Hub): void => {
  hubs.delete(hub.signal)
  hub.signal.removeEventListener("abort", hub)
}

const notify = (hub: Hub): void => {
  if (!hub.signal.aborted) return
  // Taken off one by one: what a subscriber removes meanwhile is not visited (2).
  for (let subscription = hub.first; subscription !== undefined; subscription = hub.first) {
    unsubscribe(subscription)
    subscription.onAbort(hub.signal.reason)
  }
}
