/**
 * vscode-jsonrpc: two connections over readers and writers that hand messages over unserialized.
 *
 * It has cancellation tokens instead of signals; the listener that joins the two is the glue its user has to write.
 */
import type { DataCallback, Message } from "vscode-jsonrpc/node"
import {
  AbstractMessageReader,
  AbstractMessageWriter,
  CancellationTokenSource,
  createMessageConnection,
  RequestType
} from "vscode-jsonrpc/node"
import type { Arguments, Host } from "../Host.ts"

const Search = new RequestType<Arguments, string, void>("search")

class MemoryReader extends AbstractMessageReader {
  deliver: DataCallback = () => {}
  listen(callback: DataCallback) {
    this.deliver = callback
    return { dispose: () => {} }
  }
}

class MemoryWriter extends AbstractMessageWriter {
  readonly reader: MemoryReader
  constructor(reader: MemoryReader) {
    super()
    this.reader = reader
  }
  async write(message: Message) {
    this.reader.deliver(message)
  }
  end() {}
}

export const jsonrpc: Host = {
  name: "vscode-jsonrpc",
  lacks: "schemas, policy, deadline, results as values, refusing late success, signals",
  open: async (body) => {
    const near = new MemoryReader()
    const far = new MemoryReader()
    const server = createMessageConnection(far, new MemoryWriter(near))
    const client = createMessageConnection(near, new MemoryWriter(far))
    server.onRequest(Search, (parameters, token) => {
      let controller: AbortController | undefined
      return body(parameters, {
        get signal() {
          if (controller === undefined) {
            controller = new AbortController()
            if (token.isCancellationRequested) controller.abort()
            else token.onCancellationRequested(() => controller!.abort())
          }
          return controller.signal
        }
      })
    })
    server.listen()
    client.listen()
    return {
      call: async (parameters, signal) => {
        const source = new CancellationTokenSource()
        const cancel = () => source.cancel()
        signal.addEventListener("abort", cancel)
        try {
          return await client.sendRequest(Search, parameters, source.token)
        } finally {
          signal.removeEventListener("abort", cancel)
          source.dispose()
        }
      },
      close: async () => {
        client.dispose()
        server.dispose()
      }
    }
  }
}
