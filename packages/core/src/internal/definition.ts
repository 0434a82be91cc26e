/** The part of a tool that only the registry reads. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { FinalizeContent } from "../Tool.ts"
import type * as ToolCall from "../ToolCall.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Codec } from "./shape.ts"

/** The key under which a tool has it. Registered: a tool of another copy of this package is one, too. */
export const TypeId: unique symbol = Symbol.for("@quiesce/core/Tool")
export type TypeId = typeof TypeId

export interface Definition {
  readonly parameters: Codec
  readonly success: Codec
  /** Absent where no failure was declared. */
  readonly failure: Codec | undefined
  readonly timeout: Duration.Duration | undefined
  readonly render: ((value: any) => ReadonlyArray<ToolResult.Content>) | undefined
  readonly finalizeContent: FinalizeContent | undefined
  readonly body: Body
}

export type Body =
  | {
    readonly _tag: "Effect"
    readonly execute: (parameters: any, call: ToolCall.Running) => Effect.Effect<unknown, unknown, any>
  }
  | { readonly _tag: "Promise"; readonly execute: (parameters: any, call: ToolCall.Running) => unknown }
