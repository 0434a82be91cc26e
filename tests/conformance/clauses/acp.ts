/** The clauses of ACP: Agent Client Protocol, both directions. */
export const acp = {
  title: "Agent Client Protocol, both directions",
  clauses: {
    "ACP-01": "`$/cancel_request {requestId}` cancels the one request and everything nested under it; unknown, " +
      "finished or malformed ids are ignored; ids are typed (`1` is not `\"1\"`) and per direction.",
    "ACP-02": "A cancelled request is always answered, once, at quiescence: a valid result, or error −32800. A " +
      "request that finished first gets its normal answer; a body that succeeds after the cancel may still answer " +
      "with its result. `session/prompt` cancelled in any way, shutdown included, answers `stopReason: " +
      "\"cancelled\"`.",
    "ACP-03": "Internal cancellation (timeout, shutdown, limits) gives the same −32800.",
    "ACP-04": "`session/cancel`: stops the turn, cascades `$/cancel_request` to our outstanding requests of that " +
      "session, sends pending updates first, then answers the prompt with `stopReason: \"cancelled\"`, never with an " +
      "error; the prompt answers so under either cancel, or both, once. Pending permissions are resolved locally " +
      "without waiting for the client; other cascaded requests wait for the answer up to the grace, then are " +
      "reported.",
    "ACP-05": "Two live requests with one id in one direction: the second is refused (−32600), the first is unharmed.",
    "ACP-06": "EOF or close cancels everything and the connection's `closed` resolves only at quiescence; a late " +
      "permission answer is refused.",
    "ACP-07": "Cancelling our own outgoing request sends one notification; by default we wait for the peer's answer; " +
      "optionally stop waiting and drop the late answer.",
    "ACP-08": "Nothing of a turn is sent after its answer; a prompt sent right behind a cancel runs, once the " +
      "previous turn is quiescent. Malformed frames, oversize frames and unknown methods get the protocol's error " +
      "and harm nobody else.",
    "ACP-09": "AbortSignal, fibers and JSON-RPC are wired automatically: a handler written as an Effect, or as a " +
      "promise function taking a signal, needs no protocol code to be cancellable.",
    "ACP-10": "A cancel that arrives in the same chunk as its request: the handler does not start, the request is " +
      "answered."
  }
}
