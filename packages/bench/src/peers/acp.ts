/** The ACP SDK: an agent and a client connected in process, one custom request. */
import { agent, client } from "@agentclientprotocol/sdk"
import type { Arguments, Host } from "../Host.ts"

const parse = (params: unknown): Arguments => params as Arguments

export const acp: Host = {
  name: "ACP SDK pair",
  lacks: "schemas, policy, deadline, results as values, refusing late success",
  open: async (body) => {
    const server = agent({ name: "bench" }).onRequest(
      "bench/search",
      parse,
      async ({ params, signal }) => ({ text: await body(params, { signal }) })
    )
    const connection = client({ name: "bench" }).connect(server)
    return {
      call: (parameters, cancellationSignal) =>
        connection.agent.request("bench/search", parameters, { cancellationSignal }),
      close: async () => {
        connection.close()
        await connection.closed
      }
    }
  }
}
