/** Makes the SDK's server for a connection, with the tools on it. */
import { type JSONRPCMessage, McpServer, Server } from "@modelcontextprotocol/server"
import type { ServerOptions } from "../ServerOptions.ts"
import { bind, type Find } from "./bind.ts"
import type * as Tools from "./tools.ts"

export const make = (options: ServerOptions, tools: Tools.Tools, find: Find): McpServer | Server => {
  const { instructions, name, version } = options
  const server = options.server?.() ??
    new Server({ name, version }, instructions === undefined ? {} : { instructions })
  const release = bind(server, tools, find)
  const lowLevel = server instanceof McpServer ? server.server : server
  const { onclose } = lowLevel
  // A server serves one connection: what it was told of the tools ends with that.
  lowLevel.onclose = () => {
    release()
    onclose?.()
  }
  return server
}

/** Has `server` pass through `say` what it says to the transport it is connected by: `undefined` is not sent. */
export const speaking = <S extends McpServer | Server>(
  server: S,
  say: (message: JSONRPCMessage) => JSONRPCMessage | undefined
): S => {
  const connect = server.connect.bind(server)
  server.connect = (transport) => {
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => {
      const said = say(message)
      if (said !== undefined) await send(said, options)
    }
    return connect(transport)
  }
  return server
}
