/**
 * A package is reached through its exports: not by a path into its directory, and never in its `internal/`.
 */
import { posix } from "node:path"
import { ownerOf } from "../owner.ts"
import { ofImports } from "../rule.ts"

export const packageBoundary = ofImports(
  "Other packages are imported by name and not in their internals",
  (specifier, context) => {
    if (specifier.startsWith(".")) {
      const owner = ownerOf(context.filename)
      if (owner === undefined) return undefined
      const target = posix.join(posix.dirname(owner.path), specifier)
      return target.startsWith("..")
        ? `"${specifier}" leaves the package: import what "${owner.name}" needs from elsewhere by its package name.`
        : undefined
    }
    return /^(?:@[^/]+\/)?[^/]+\/(?:.*\/)?internal(?:\/|$)/.test(specifier)
      ? `"${specifier}" is internal to its package: use what the package exports.`
      : undefined
  }
)
