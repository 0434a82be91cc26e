/**
 * The error of an HTTP request that has no answer, or not a whole one.
 */
import * as Schema from "effect/Schema"

/**
 * There is no answer, or it is not whole.
 *
 * `Invalid`: it is no request that could be sent. `NotAllowed`: its address is not one it may go to. `Unresolved`: its
 * host has no address. `Unreachable`: nobody answers there. `Broken`: the connection was lost, or what came is not
 * HTTP. `TooLarge`, `TooManyRedirects`: more came than was asked for.
 */
export class HttpFailed extends Schema.TaggedError<HttpFailed>("@quiesce/node/HttpFailed")("HttpFailed", {
  url: Schema.String,
  reason: Schema.Literals([
    "Invalid",
    "NotAllowed",
    "Unresolved",
    "Unreachable",
    "Broken",
    "TooLarge",
    "TooManyRedirects"
  ]),
  /** The system's own word, like `ECONNREFUSED`; empty where it said nothing. */
  code: Schema.String,
  /** The server may have seen the request, and may have done what it asks for. */
  reached: Schema.Boolean
}) {
  override get message(): string {
    return `${this.url}: ${texts[this.reason]}${this.code === "" ? "" : ` (${this.code})`}`
  }

  /** It may go better another time. */
  get isTransient(): boolean {
    return this.reason === "Unresolved" || this.reason === "Unreachable" || this.reason === "Broken"
  }
}

const texts = {
  Invalid: "it is no request that could be sent",
  NotAllowed: "its address is not one it may go to",
  Unresolved: "its host has no address",
  Unreachable: "nobody answers there",
  Broken: "the connection was lost",
  TooLarge: "the answer is too large",
  TooManyRedirects: "it leads through too many redirects"
} satisfies { readonly [R in HttpFailed["reason"]]: string }
