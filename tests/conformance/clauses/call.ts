/** The clauses of CALL: one call through the registry. */
export const call = {
  title: "one call through the registry",
  intro: "Pipeline: materialize → pre-policy → decode parameters → approval → wrappers( journal, body ) → " +
    "post-policy → result snapshot → finalizeContent → publish.",
  clauses: {
    "CALL-01": "A call has exactly one outcome. `execute` never fails and never rejects for an outcome; outcomes are " +
      "data (`ToolResult`).",
    "CALL-02": "Materialize first: mint the call token, snapshot the visible tool's `finalizeContent`, then snapshot " +
      "the arguments losslessly as JSON and deep-freeze them. Cycles, `undefined`, functions, symbols, bigint, " +
      "non-finite numbers, `-0`, sparse arrays, exotic prototypes (class instances, array subclasses, Date, Map), " +
      "symbol and non-enumerable keys, extra keys on arrays, throwing getters and `toJSON` tricks are refused with " +
      "INVALID_ARGUMENTS; `__proto__` is an ordinary key. At most 512 levels deep and 1,000,000 nodes (a shared " +
      "reference counts each time).",
    "CALL-03": "A materialization failure wins even when the caller was already cancelled.",
    "CALL-04": "A call already cancelled on entry, or while its arguments are materialized, and whose arguments are " +
      "JSON, skips pre-policy, approval, wrappers, body and post-policy, passes ABORTED_BEFORE_DISPATCH through " +
      "`finalizeContent`, and publishes exactly one frozen result (also where the tool is unknown or the schema " +
      "would refuse the arguments).",
    "CALL-05": "Cancelled before the body is invoked, in any wait (pre-policy, approval, wrapper, journal) or " +
      "immediately before the body: the body never starts; the outcome is ABORTED_BEFORE_DISPATCH unless CALL-09 " +
      "keeps what that stage itself failed with while ending. This holds also when policy, approval or a wrapper " +
      "triggers the cancel synchronously.",
    "CALL-06": "Waiting stages are cancelled promptly: pre-policy, approval and wrappers are interrupted (their " +
      "signal aborts), their own clean-up is awaited.",
    "CALL-07": "Once the body is invoked it is awaited to quiescence, always: never raced, never abandoned. " +
      "Cancellation reaches it through interruption (Effect bodies) or the fused signal (promise bodies). Each body " +
      "run has its own Scope, closed before it counts as quiescent. A wrapper that settles while a `next` it started " +
      "still runs does not end the call: that run is interrupted and awaited, then the wrapper's outcome stands.",
    "CALL-08": "Cancelled after dispatch and the body ends in success: the outcome is ABORTED. The value is dropped, " +
      "deferred contexts stay attached.",
    "CALL-09": "More specific beats generic; cancellation replaces success only. A typed failure or defect that a " +
      "stage settles with after cancellation (a denial, a tool failure, a wrapper failure, a post-policy block), and " +
      "TOOL_TIMEOUT by TIME-02, stay. A success that arrives after cancellation is replaced, and a decision given as " +
      "a value (`Effect.succeed(Policy.deny(…))`) is one; `Policy.deny` is therefore also an effect that fails with " +
      "itself (`return yield* Policy.deny(…)`), and the promise face rethrows a late deny inside the bridge. The " +
      "body's own abort (BRIDGE-01) is not a failure. A failure counts as swallowed only by a handler that ran: what " +
      "a pending interrupt skipped did not recover anything.",
    "CALL-10": "Cancellation while post-policy waits, after the body ended, replaces only a successful outcome " +
      "(ABORTED); it counts until post-policy returns, the rest is synchronous. Post-policy is never cut short (it " +
      "may be redacting); it sees the cancellation through the call and may opt in to interruption.",
    "CALL-11": "ABORTED means the body was invoked; ABORTED_BEFORE_DISPATCH means it never was. Both carry error " +
      "name `AbortError`; texts are `Error: tool call aborted` and `Error: tool call aborted before dispatch`. Every " +
      "result says whether the body was invoked (`dispatched: boolean`).",
    "CALL-12": "Caller cancellation cannot be detached. A wrapper may add cancellation for the part it delegates (a " +
      "deadline, an operational scope); it cannot remove the caller's. Running `next` uninterruptibly, on another " +
      "fiber, or detached does not drop cancellation. What a wrapper added ends with it: after it returned, " +
      "triggering its source changes nothing.",
    "CALL-13": "A wrapper's own cancellation that is active when it delegates gives ABORTED_BEFORE_DISPATCH with " +
      "reason Wrapper; later, ABORTED with reason Wrapper. A deadline is not such a cancellation.",
    "CALL-14": "A wrapper may answer without running the body (then `dispatched: false`). Cancellation before the " +
      "body was invoked turns its success into ABORTED_BEFORE_DISPATCH; after, into ABORTED. A wrapper-authored " +
      "value passes the tool's success schema like a body's.",
    "CALL-15": "`next` may run again only after its previous run is quiescent (retry); an overlapping run is refused " +
      "with WRAPPER_FAILURE naming the wrapper, once the first run is quiescent.",
    "CALL-16": "Every listener the core adds to a caller's AbortSignal is gone before the caller can observe the " +
      "settlement, also for failing, timing-out and pre-aborted calls. Ten thousand calls on one signal never hold " +
      "more than one native listener on it at a time and leave none. A forged `abort` event on a signal that is not " +
      "aborted cancels nothing.",
    "CALL-17": "First cause wins and is kept: `signal.reason` seen by a promise body is the caller's own reason, " +
      "unchanged (`0`, `''`, `null`, any object) when the caller aborted; an AbortError naming the origin when a " +
      "fiber was interrupted; the deadline's error when a deadline fired.",
    "CALL-18": "Interrupting the fiber that runs `execute` is caller cancellation: the interrupter waits until the " +
      "body is quiescent and the one result (CALL-05, 08, 09) has been published; a fiber in an interruptible region " +
      "then exits interrupted, also if the call had just succeeded; inside the caller's own uninterruptible region " +
      "the interrupt is seen when that region ends.",
    "CALL-19": "Unknown tool: UNKNOWN_TOOL, after pre-policy has seen the name, nobody is asked about it. Arguments " +
      "that fail the tool's schema: INVALID_ARGUMENTS with every issue and its path, after pre-policy and before " +
      "approval.",
    "CALL-20": "A body value that fails the success schema or is not lossless JSON: INVALID_OUTPUT. `render` or " +
      "`finalizeContent` that throws turns a success into INVALID_OUTPUT; a failure keeps its code and gets default " +
      "text. `finalizeContent` is not called twice. `dispatched` stays true to fact.",
    "CALL-21": "A throwing pre-policy, wrapper or post-policy is that call's failure (POLICY_FAILURE / " +
      "WRAPPER_FAILURE), the registry lives on. Thrown values of any kind (`undefined`, a Proxy that throws on " +
      "inspection, a string) become a message without crashing.",
    "CALL-22": "Which stages run, by outcome so far:\n\n" +
      "| outcome decided at                                                                     | post-policy | finalizeContent | publish |\n" +
      "| -------------------------------------------------------------------------------------- | ----------- | --------------- | ------- |\n" +
      "| materialization failure, pre-aborted entry                                             | no          | yes             | yes     |\n" +
      "| pre-policy / wrapper / post-policy threw                                               | no          | yes             | yes     |\n" +
      "| denial, approval refused, schema-invalid arguments, cancelled before dispatch          | yes         | yes             | yes     |\n" +
      "| unknown tool, tool failure, invalid output, timeout, success, cancelled after dispatch | yes         | yes             | yes     |\n\n" +
      "Approval: rejected → DENIED; unavailable, or a channel that throws → DENIED with its own reason; cancelled → " +
      "ABORTED_BEFORE_DISPATCH. An answer that comes later is refused as stale.",
    "CALL-23": "Post-policy may accept, replace content, replace the value (revalidated; never on a failure; never " +
      "both at once), or block (becomes a failure with feedback, deferred contexts dropped). It may attach contexts; " +
      "wrappers may too (`Wrapper.deferContext`). Order: body, wrapper, post. Deferred contexts stay on every " +
      "outcome but a block. Misuse (value on a failure) is POLICY_FAILURE.",
    "CALL-24": "The result is snapshotted, deep-frozen and published exactly once: every observer is started with " +
      "the object the caller gets, before the caller gets it. A throwing, rejecting or hanging observer changes " +
      "nothing and starves nobody; `whenIdle` does not wait for observers, shutdown interrupts them.",
    "CALL-25": "Registration is scoped: closing its scope unregisters, cancels that tool's calls and waits for them; " +
      "duplicate names are refused; a registration that fails half-way leaves no trace. A call in flight keeps the " +
      "`finalizeContent` it materialized with; the body is resolved at dispatch.",
    "CALL-26": "Nested calls: parent and cancellation are inherited through the fiber, or inferred when the `signal` " +
      "given is a call's own. Outer cancel reaches running inner calls, inner calls not yet dispatched settle " +
      "ABORTED_BEFORE_DISPATCH, the root reason passes down unchanged; when a body settles, inner calls still " +
      "running are cancelled and awaited. `parent` is an opaque token, `rootCallId` is inherited.",
    "CALL-27": "Two phases are visible: `cancel` returns when the request is accepted; the result arrives at " +
      "quiescence. `inFlight` shows each call's stage, since when, and \"cancelling, not yet quiescent\" with its " +
      "reason. A call still not quiescent after a configurable grace is reported (log, metric, " +
      "`Observer.notQuiescent`), again with back-off, and never released early.",
    "CALL-28": "`shutdown` refuses new calls (ABORTED_BEFORE_DISPATCH, reason Shutdown), cancels all calls, waits " +
      "for quiescence; closing the registry's scope does the same. `whenIdle` resolves when nothing is in flight. " +
      "Called from inside a call, none of them waits for that call or its ancestors, nor for a call that waits for " +
      "them in the same way, itself or by way of others; the latest to begin waiting goes on first. The end of a " +
      "registration is one of them.",
    "CALL-29": "One call's cancellation, failure or hang touches no other call.",
    "CALL-30": "Types: the promise face requires `readonly signal: AbortSignal` (omission is a compile error, no " +
      "overload, no default); policies, observers and bodies get readonly views; a wrapper cannot drop or forge the " +
      "dispatch scope; tool bodies infer `signal` without a cast. Proved by type tests.",
    "CALL-31": "A body that throws synchronously, returns a plain value, a foreign thenable, or a promise already " +
      "settled is handled like any other. The core leaves no promise it made or derived unhandled.",
    "CALL-32": "Policy, Approval, Wrapper and Observer are references captured when the registry is built. `X.layer` " +
      "sets; the application writes one list, in the order the reader sees. Contributions that must not override one " +
      "another go through the registry, scoped (`register`, `layerTools`, `observe`). From the caller's context come " +
      "only Clock, Scheduler, Random, Tracer and parent span, loggers, the current call and Journal; a policy in the " +
      "caller's context that differs from the captured one is a defect that says where to provide it. Mis-wiring " +
      "never fails open.",
    "CALL-33": "`callId` is a label, not unique; identity is the token. `registry.cancel(token | callId, reason?)` " +
      "returns how many calls it reached.",
    "CALL-34": "`Journal.dispatching(call)` (default: none) is awaited directly before the body; cancellation is " +
      "rechecked after it; its failure prevents the body (WRAPPER_FAILURE, dispatched: false).",
    "CALL-35": "A result carries `residue`: what may still be alive or unproven (a process outside the group, a " +
      "remote server that never confirmed), empty when quiescence is proved; bodies declare it."
  }
}
