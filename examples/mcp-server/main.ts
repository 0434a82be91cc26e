/**
 * An MCP server that any MCP client can start: it runs commands, and reads and writes the files below one folder.
 *
 *     node main.ts [FOLDER]
 *
 * Whoever starts it asks its user before a tool is called, as MCP hosts do; so nobody is asked here. When its input ends,
 * or on SIGTERM, whatever its calls have started is ended first.
 */
import { Approval } from "@quiesce/core"
import { StdioServer } from "@quiesce/mcp"
import { Files, Http, Tools } from "@quiesce/node"
import { Layer } from "effect"

const tools = Tools.layer.pipe(
  Layer.provide([
    Approval.layerAllow,
    Files.layer({ root: process.argv[2] ?? process.cwd() }),
    Layer.succeed(Http.Destinations, Http.publicOnly)
  ])
)

StdioServer.main({ name: "quiesce-example", version: "1.0.0" }, tools)
