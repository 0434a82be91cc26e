/** The protocol's own schema, as the SDK ships it: whether a message is what it says it is. */
import { Ajv2020 } from "ajv/dist/2020.js"
import { readFileSync } from "node:fs"

interface Definition {
  readonly "x-method"?: string
  readonly "x-side"?: "agent" | "client" | "protocol"
}

const file = new URL(import.meta.resolve("@agentclientprotocol/sdk/schema/v1/schema.json"))
const schema = JSON.parse(readFileSync(file, "utf8")) as { readonly $defs: { readonly [name: string]: Definition } }

/** The version of the SDK that is installed. */
export const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", file), "utf8")
) as { readonly version: string }

// Formats and discriminators are the generator's; the shapes are what is checked.
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
ajv.addSchema(schema, "acp")

const definitions = new Map(
  Object.entries(schema.$defs).flatMap(([name, definition]) => {
    const kind = /(Request|Response|Notification)$/.exec(name)?.[1]
    const method = definition["x-method"]
    return method === undefined || kind === undefined ? [] : [[`${method} ${kind}`, name]]
  })
)

const faults = (definition: string, value: unknown): ReadonlyArray<string> => {
  const validate = ajv.getSchema(`acp#/$defs/${definition}`)!
  if (validate(value) === true) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${definition}${instancePath} ${message}`)
}

/**
 * What is wrong with `message`, by the protocol's schema of its method. Of an answer: that of the method of the request
 * it answers. Extensions have no schema.
 */
export const faultsOf = (
  message: { readonly [key: string]: unknown },
  methodOf: (id: unknown) => string | undefined
): ReadonlyArray<string> => {
  const { error, id, method, params } = message
  if (message["jsonrpc"] !== "2.0") return ["not JSON-RPC 2.0"]
  if (typeof method === "string") {
    const kind = Object.hasOwn(message, "id") ? "Request" : "Notification"
    // That of `session/cancel` and `$/cancel_request` is called after the verb.
    const name = definitions.get(`${method} ${kind}`)
    if (name !== undefined) return faults(name, params)
    return method.startsWith("_") ? [] : [`unknown ${kind.toLowerCase()} ${method}`]
  }
  if (error !== undefined) return faults("Error", error)
  const asked = methodOf(id)
  const name = definitions.get(`${asked} Response`)
  // What a test sent as bytes is not known here.
  if (name === undefined) {
    return asked === undefined || asked.startsWith("_") ? [] : [`an answer to ${asked}, which has no schema`]
  }
  return faults(name, message["result"])
}
