/** A tool of a registry as LangChain's. */
import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager"
import { StructuredTool, ToolInputParsingException, type ToolRunnableConfig } from "@langchain/core/tools"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Face from "../Face.ts"
import { toolMessage } from "./langChainMessages.ts"
import { textOf } from "./shown.ts"

export class RegistryTool extends StructuredTool<any, any, any, any> {
  readonly name: string
  readonly description: string
  readonly schema: ToolRegistry.ToolSchema["inputSchema"]
  readonly #face: Face.Face
  /** A call that came from no model has no id of its own. */
  #unnamed = 0

  // What `toJSON` writes of a tool is read by nobody: it cannot be made again from that.
  override lc_serializable = false

  static override lc_name(): string {
    return "QuiesceTool"
  }

  constructor(face: Face.Face, { description, inputSchema, name }: ToolRegistry.ToolSchema) {
    super()
    this.name = name
    this.description = description
    this.schema = inputSchema
    this.#face = face
  }

  /** LangChain's own check says only that something is wrong: what it refuses, the registry is asked about. */
  override async call(...parameters: Parameters<StructuredTool["call"]>): Promise<any> {
    try {
      return await super.call(...parameters)
    } catch (error) {
      if (!(error instanceof ToolInputParsingException)) throw error
      const [input, config] = parameters
      return this.#run(input, config as ToolRunnableConfig)
    }
  }

  protected override _call(input: unknown, _: CallbackManagerForToolRun | undefined, config: ToolRunnableConfig) {
    return this.#run(input, config)
  }

  async #run(input: unknown, { signal, toolCall }: ToolRunnableConfig = {}): Promise<unknown> {
    const callId = toolCall?.id
    const call = { callId: callId ?? `${this.name}-${++this.#unnamed}`, name: this.name, arguments: input, signal }
    if (callId === undefined) return textOf(await Face.succeed(this.#face, call))
    return toolMessage(await Face.settle(this.#face, call))
  }
}
