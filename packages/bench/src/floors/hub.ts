/**
 * The hub by hand: one native listener per signal, its subscribers in a linked list.
 *
 * `addEventListener` walks the list of listeners to find a duplicate and `removeEventListener` walks it to find the
 * listener, so n pending calls on one signal cost n² natively. Here both are constant. The native listener goes at
 * once when the last subscriber does.
 *
 * Lacks: forged `abort` events, subscribers that throw, subscribers that end others while the list is being walked.
 */
export interface Subscriber {
  readonly onAbort: (reason: unknown) => void
  previous: Subscriber | undefined
  next: Subscriber | undefined
}

interface Hub {
  first: Subscriber | undefined
  readonly listener: () => void
}

const make = (signal: AbortSignal): Hub => {
  const hub: Hub = {
    first: undefined,
    listener: () => {
      let subscriber = hub.first
      while (subscriber !== undefined) {
        const { next } = subscriber
        subscriber.onAbort(signal.reason)
        subscriber = next
      }
    }
  }
  return hub
}

/** An empty hub stays with its signal, without a listener: making it anew costs more than keeping it. */
const hubs = new WeakMap<AbortSignal, Hub>()

export const subscribe = (signal: AbortSignal, subscriber: Subscriber): void => {
  let hub = hubs.get(signal)
  if (hub === undefined) hubs.set(signal, hub = make(signal))
  if (hub.first === undefined) signal.addEventListener("abort", hub.listener)
  else hub.first.previous = subscriber
  subscriber.next = hub.first
  hub.first = subscriber
}

export const unsubscribe = (signal: AbortSignal, subscriber: Subscriber): void => {
  const { next, previous } = subscriber
  if (next !== undefined) next.previous = previous
  if (previous !== undefined) {
    previous.next = next
    return
  }
  const hub = hubs.get(signal)!
  hub.first = next
  if (next === undefined) signal.removeEventListener("abort", hub.listener)
}
