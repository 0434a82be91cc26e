/** The clauses of TIME: deadlines. */
export const time = {
  title: "deadlines",
  clauses: {
    "TIME-01": "A deadline notifies and waits; it never races. `Deadline.within(effect, { timeout, code })` fails " +
      "with `DeadlineExceeded{code, timeout}` only if its own timer fired first, after quiescence.",
    "TIME-02": "First cause wins: deadline then cancel is TOOL_TIMEOUT, cancel then deadline is ABORTED, also within " +
      "one tick; nested deadlines are told apart by identity, not by code text. A wrapper that fails with " +
      "`DeadlineExceeded` gives TOOL_TIMEOUT with its code in the detail; one that fails with another library's " +
      "timeout gives WRAPPER_FAILURE.",
    "TIME-03": "When the tool's own deadline fired first, the outcome is TOOL_TIMEOUT whether the body then " +
      "succeeds, fails or aborts; the body's late failure is kept as cause. A timeout error thrown by the body " +
      "itself is a tool failure.",
    "TIME-04": "A deadline counts from the moment its wrapper delegates: policy and approval are never charged; " +
      "fired before the body was invoked it is TOOL_TIMEOUT with dispatched: false.",
    "TIME-05": "A tool declares its budget (positive, finite, at most 2^31−1 ms; refused at definition otherwise); " +
      "it never appears in what a model sees; it is always enforced: where `Wrapper.timeout` stands in the list, " +
      "innermost when it is not listed. No budget, no deadline.",
    "TIME-06": "`Deadline.clamp({ requested, default, max })` fills, validates (positive, finite) and caps.",
    "TIME-07": "`Deadline.idle` guards a stream: armed only while one pull is outstanding, re-armed by the next pull " +
      "or by `pulse`, consumer's thinking time is free, one stable signal for the whole stream, concurrent pulls are " +
      "refused, disposal disarms.",
    "TIME-08": "No timer outlives its work: a 5 ms call with a 60 s budget leaves the process free to exit at once."
  }
}
