/** The clauses of MCP: Model Context Protocol, server and client. */
export const mcp = {
  title: "Model Context Protocol, server and client",
  clauses: {
    "MCP-01": "`notifications/cancelled` cancels the matching request; after it, nothing more is sent for that " +
      "request (no result, error or progress; the refusal of a later duplicate, which carries its own id, is the " +
      "only exception). Unknown, finished, malformed and `initialize` are ignored. Id `0`, `''`, `\"1\"` versus `1` " +
      "are distinct and work.",
    "MCP-02": "A second uncancelled live request with the same id is refused (−32600) and the first is unharmed. A " +
      "cancelled id that is not yet quiescent: refused in 2025-11-25 and earlier; in 2026-07-28, where the client no " +
      "longer has it in flight, accepted as a new call while the old one stays silent. The id space is one " +
      "connection (stdio), one session (HTTP until 2025-11-25), one exchange (2026-07-28 and stateless): equal ids " +
      "of different peers never meet.",
    "MCP-03": "Transport close, stdin EOF, server close (SIGTERM on stdio) and deletion of an HTTP session cancel " +
      "everything, answer nothing more, wait for quiescence, then finish; a stdio server exits promptly on EOF with " +
      "its children gone; after a configurable exit grace it names what is not quiet and exits 1. Nothing of a dead " +
      "connection reaches the next one.",
    "MCP-04": "HTTP: a dropped connection cancels in 2026-07-28 and does not in 2025-11-25 and earlier " +
      "(configurable); a cancelled call's response stream is ended; a cancel that arrives on another POST finds its " +
      "call within the same session only (a stateless POST without a session matches nothing and is told so: 404).",
    "MCP-05": "Late failures of cancelled calls raise no diagnostics to the peer; they are observable locally.",
    "MCP-06": "The handler's reason tells client cancel, connection close, server close, and a host's own `handle()` " +
      "signal (its reason unchanged) apart, each with its own text.",
    "MCP-07": "As a client (proxy tools): cancel or TOOL_TIMEOUT sends exactly one `notifications/cancelled` (or " +
      "closes the stream where the revision says so), a late, duplicate or unknown answer is dropped without harming " +
      "the connection, and the result's residue says that remote quiescence is unproven.",
    "MCP-08": "Cancel arriving in the same chunk as its call: the body does not start.",
    "MCP-09": "The official conformance suite passes (scored requirements of both supported revisions) with the " +
      "adapter in place. The fixture server it needs (prompts, resources, completion, …) is not published; we write " +
      "it as a test fixture.",
    "MCP-10": "`handle()`-style embedding: one function from a web Request to a Response, with the host's " +
      "AbortSignal fused in.",
    "MCP-11": "Malformed, deeply nested and oversize frames get the protocol's error and the connection lives; at " +
      "least 100 live calls per connection; a concurrency bound, where set, queues interruptibly or refuses with a " +
      "clear error."
  }
}
