/**
 * The client's files, which may be newer in its editor than on the disk.
 *
 * A call that is cancelled cancels what it asks here, and waits for the client's answer as long as the connection's grace.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { PeerGone, RequestFailed } from "./AcpError.ts"
import * as AcpSession from "./AcpSession.ts"

/** The client did not say that it can do this. It was not asked. */
export class NotSupported extends Data.TaggedError("NotSupported")<{ readonly method: string }> {
  override get message(): string {
    return `the client does not support ${this.method}`
  }
}

/** The client answered with something else. */
export class InvalidAnswer extends Data.TaggedError("InvalidAnswer")<{ readonly method: string }> {
  override get message(): string {
    return `the client's answer to ${this.method} is not what the protocol says`
  }
}

export type Failed = RequestFailed | PeerGone | NotSupported

const Text = Schema.Struct({ content: Schema.String })

/** Reads a text, or some lines of it: `line` counts from 1. */
export const read = (file: {
  /** Absolute. */
  readonly path: string
  readonly line?: number | undefined
  readonly limit?: number | undefined
}): Effect.Effect<string, Failed | InvalidAnswer, AcpSession.AcpSession> =>
  Effect.gen(function*() {
    const method = "fs/read_text_file"
    const { capabilities, client, sessionId } = yield* AcpSession.AcpSession
    if (capabilities.fs?.readTextFile !== true) return yield* new NotSupported({ method })
    const { limit, line, path } = file
    const answer = yield* client.request(method, {
      sessionId,
      path,
      ...(line === undefined ? {} : { line }),
      ...(limit === undefined ? {} : { limit })
    })
    if (!Schema.is(Text)(answer)) return yield* new InvalidAnswer({ method })
    return answer.content
  })

/** Writes a text. Interrupted, it may have been written all the same. */
export const write = (file: {
  /** Absolute. */
  readonly path: string
  readonly content: string
}): Effect.Effect<void, Failed, AcpSession.AcpSession> =>
  Effect.gen(function*() {
    const method = "fs/write_text_file"
    const { capabilities, client, sessionId } = yield* AcpSession.AcpSession
    if (capabilities.fs?.writeTextFile !== true) return yield* new NotSupported({ method })
    yield* client.request(method, { sessionId, path: file.path, content: file.content })
  })
