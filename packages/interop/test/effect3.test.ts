import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { childEnvironment } from "../../../tests/child-environment.ts"
import { cites } from "../../../tests/conformance/cites.ts"

const example = join(import.meta.dirname, "../../../examples/effect3")

const versionOf = (manifest: string) =>
  (JSON.parse(readFileSync(join(example, manifest), "utf8")) as { readonly dependencies: { readonly effect: string } })
    .dependencies.effect

// In a process of its own, as it is: an app with another effect than the one that the tests have.
it(
  cites(
    "an app on Effect 3 with @effect/schema has its tools run, and cancellation crosses both ways and is awaited",
    "PROMISE-05"
  ),
  () => {
    assert.match(versionOf("package.json"), /^3\./)
    assert.match(versionOf("tools/package.json"), /^4\./)
    const { status, stderr, stdout } = spawnSync(process.execPath, [join(example, "main.ts")], {
      encoding: "utf8",
      env: childEnvironment()
    })
    assert.deepStrictEqual({ status, stderr }, { status: 0, stderr: "" })
    const [told, ...lines] = stdout.trim().split("\n")
    assert.match(told!, /"required":\["to","nights"\]/)
    assert.deepStrictEqual(lines, [
      "booked: { price: 200 }",
      "refused: INVALID_ARGUMENTS",
      "failed: TOOL_FAILURE SoldOut",
      "interrupted: the place in the queue is given back",
      "cancelled: ABORTED true"
    ])
  },
  // It takes a second by itself, and several times that on a machine that is busy.
  30_000
)
