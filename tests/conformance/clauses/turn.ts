/** The clauses of TURN: scheduling a model's tool calls, and the log. */
export const turn = {
  title: "scheduling a model's tool calls, and the log",
  clauses: {
    "TURN-01": "Parallel calls run in a bounded rolling pool; an exclusive call is a barrier. Mode is read again " +
      "just before each start. `maxParallel` is a positive integer, 1 is serial.",
    "TURN-02": "Results become visible (history, `committed` events) in model order, each as soon as it and its " +
      "predecessors have settled. A later call's pre-policy starts only once the earlier call is past approval or " +
      "has settled (`Call.admitted`).",
    "TURN-03": "Cancelling the turn stops starting, drains what started, and gives every call that never started " +
      "ABORTED_BEFORE_DISPATCH, in order. Nothing is left without a result.",
    "TURN-04": "Cancelling one call leaves its siblings alone. Denying one call leaves its siblings alone. Optional " +
      "fail-fast skips later calls, and answers them.",
    "TURN-05": "A scheduler-internal failure stops new starts, drains, then surfaces the first failure, inventing no " +
      "results.",
    "TURN-06": "Turn cancellation has a typed cause (`user` | `parent` | `disposed`), first wins; idle cancel is a " +
      "no-op and does not leak into the next turn; each turn has a fresh scope; disposal outranks a cause already " +
      "recorded; work queued while cancelling runs afterwards or is refused, never lost silently.",
    "TURN-07": "The log is append-only and balanced: each `tool/call` has exactly one `tool/result` citing it, " +
      "appended durably when the call settles; model order belongs to the projection. A `tool/dispatched` mark is " +
      "durable before the body is invoked (marks due during a commit share the next one). The mark means _may have " +
      "run_: ABORTED_BEFORE_DISPATCH may follow it and the validator accepts that. A mark that can't be written " +
      "prevents the body. A retry writes no second mark.",
    "TURN-08": "Crash is cancellation: reopening a log closes open calls: marked → ABORTED (effects possible), not " +
      "marked → ABORTED_BEFORE_DISPATCH. Idempotent. Writing needs the owner lease (pid, process start time, boot " +
      "id, taken in one immediate transaction); a second writer gets `LogBusy` naming the holder; only the holder " +
      "recovers; readers are never locked out.",
    "TURN-09": "kill -9 at any instant loses no acknowledged event and never yields an unbalanced or unreadable log " +
      "(marks and results commit with `synchronous=FULL`, the rest NORMAL). A torn or corrupt record is reported, " +
      "not skipped silently.",
    "TURN-10": "A result that arrives for a closed call or turn is refused and reported. The turn's input says " +
      "whether the arguments are complete; incomplete ones are recorded verbatim as not dispatched and never run."
  }
}
