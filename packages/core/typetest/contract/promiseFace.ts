import type { Toolbox, ToolCall, ToolRegistry, ToolResult } from "@quiesce/core"
import { type Equal, is } from "./equal.ts"

declare const registry: ToolRegistry.Shape
declare const toolbox: Toolbox.Toolbox
declare const input: ToolCall.Input
declare const signal: AbortSignal
declare const perhaps: AbortSignal | undefined

void registry.executePromise({ ...input, signal })
void toolbox.execute({ ...input, signal })

// @ts-expect-error a call without a signal has no owner
void registry.executePromise(input)
// @ts-expect-error nor has one of a Toolbox
void toolbox.execute(input)
// @ts-expect-error nor is there a default for one that may be missing
void registry.executePromise({ ...input, signal: perhaps })
// @ts-expect-error nor there
void toolbox.execute({ ...input, signal: perhaps })
// @ts-expect-error a controller is no signal
void registry.executePromise({ ...input, signal: new AbortController() })

// One signature, and no second parameter that could carry it instead.
type PromiseFace = (input: ToolCall.Input & { readonly signal: AbortSignal }) => Promise<ToolResult.ToolResult>
is<Equal<ToolRegistry.Shape["executePromise"], PromiseFace>>()
is<Equal<Toolbox.Toolbox["execute"], PromiseFace>>()
