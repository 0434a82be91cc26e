/**
 * The core depends on effect and on itself, and of effect only on what is tagged stable.
 */
import { ofImports, ofUses } from "../rule.ts"
import { allowed, ofModule } from "../stable-exports.ts"

export const coreImports = ofImports(
  "The core imports effect's modules and its own",
  (specifier) =>
    specifier.startsWith(".") || specifier === "effect" || specifier.startsWith("effect/")
      ? undefined
      : `The core has no dependency besides effect, so it cannot import "${specifier}".`
)

export const stableEffect = ofUses("The core uses only exports of effect tagged stable", ({ module, path }) => {
  if (module === null || !module.startsWith("effect/")) return undefined
  const exports = ofModule(module)
  if (exports === undefined) return `effect has no module "${module}".`
  const name = path[0]
  if (name === undefined) {
    return `"${module}" is used as a whole here, so nobody can tell whether only stable exports are: name the export.`
  }
  const full = `${module}.${name}`
  const stability = exports.get(name)
  if (stability === "stable" || allowed.has(full)) return undefined
  return stability === undefined
    ? `effect has no export "${full}".`
    : `"${full}" is ${stability}, and the core uses only exports of effect tagged stable.`
})
