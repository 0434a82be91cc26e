/** The clauses of BRIDGE: interruption to and from AbortSignal. */
export const bridge = {
  title: "interruption to and from AbortSignal",
  clauses: {
    "BRIDGE-01": "`Abortable.promise(f)`: interruption aborts the signal given to `f` and waits until its promise " +
      "settles. Late success is dropped; a late rejection that is not the abort itself is kept beside the " +
      "interruption. The abort itself is, after the signal aborted, a rejection identical to `signal.reason`, or " +
      "named `AbortError`, or coded `ABORT_ERR`, or with such a value in its `cause` chain (up to 8).",
    "BRIDGE-02": "A promise that had already settled when interruption arrived is not lost track of: no lost " +
      "wake-up, no hang, no double resume, at any interleaving.",
    "BRIDGE-03": "`Abortable.interruptOn(effect, signal)`: abort interrupts the effect and waits for its finalizers; " +
      "already aborted: the effect never starts; the listener is removed in every exit.",
    "BRIDGE-04": "`Abortable.runPromise(effect, { signal })` settles only at quiescence; a signal aborted on entry " +
      "means the effect never starts; rejects with the signal's own reason when only interruption happened, else " +
      "with the failure.",
    "BRIDGE-05": "A body's AbortController exists only if the body touches its signal.",
    "BRIDGE-06": "Fusing never uses `AbortSignal.any` (on several Node lines it retains, loses aborts, and when " +
      "nobody listens takes its reason from the first aborted source in list order, not in time) nor " +
      "`AbortSignal.timeout` (outside the clock); all time comes from Effect's Clock, so TestClock drives it.",
    "BRIDGE-07": "An AbortSignal that aborts synchronously inside the body, inside a listener, or inside another " +
      "abort is handled; re-entrancy never skips a finalizer.",
    "BRIDGE-08": "Keep only a controller and a signal derived from its signal, force GC, abort the controller: the " +
      "derived signal is aborted with the same reason."
  }
}
