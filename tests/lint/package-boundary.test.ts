import { packageBoundary } from "../../tools/lint/rules/package-boundary.ts"
import { snippets } from "./tester.ts"

snippets("package-boundary", packageBoundary, "packages/acp/src/internal/wire.ts", {
  good: [
    `import { a } from "./frames.ts"`,
    `import * as Connection from "../Connection.ts"`,
    `import * as Tool from "@quiesce/core/Tool"`,
    `import { internalName } from "some-package/lib/internals"`
  ],
  bad: [
    {
      code: `import * as Hub from "@quiesce/core/internal/hub"`,
      says: [`"@quiesce/core/internal/hub" is internal to its package: use what the package exports.`]
    },
    { code: `import * as core from "effect/internal/core"`, says: [/is internal to its package/] },
    { code: `export type A = import("@quiesce/core/deep/internal/x").A`, says: [/is internal to its package/] },
    {
      code: `import * as Tool from "../../../core/src/Tool.ts"`,
      says: [
        `"../../../core/src/Tool.ts" leaves the package: import what "acp" needs from elsewhere by its package name.`
      ]
    },
    { code: `export * from "../../../../tests/conformance/cites.ts"`, says: [/leaves the package/] }
  ]
})
