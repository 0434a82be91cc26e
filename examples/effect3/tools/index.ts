/**
 * The door: what an app on Effect 3 sees of Quiesce, and no Effect 4 with it.
 *
 * A package can have one effect. This one has version 4, which Quiesce is built on; the app has version 3; and between them
 * are only promises, AbortSignals and JSON.
 */
export { Tool, Toolbox, type ToolResult } from "@quiesce/core"
