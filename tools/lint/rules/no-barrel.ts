/**
 * Sources import modules, not the lists of modules made for users: a barrel drags in everything it names, and an
 * import of the own one closes a cycle.
 */
import { ofImports } from "../rule.ts"

/** Directories of effect whose name alone is a list of the modules in them: `effect/testing`. */
const effectGroup = /^effect\/[a-z][a-z-]*$/

export const noBarrel = ofImports("Sources import modules and not barrels", (specifier) => {
  if (specifier === "effect") return `"effect" is a barrel: import the module, like "effect/Effect".`
  if (effectGroup.test(specifier)) return `"${specifier}" is a barrel: import the module in it.`
  if (/^\.{1,2}(?:$|\/$|\/(?:.*\/)?index\.ts$)/.test(specifier)) {
    return `"${specifier}" is a barrel: import the module, like "./Tool.ts".`
  }
  return /^@quiesce\/[^/]+$/.test(specifier)
    ? `"${specifier}" is a barrel: import the module, like "@quiesce/core/Tool".`
    : undefined
})
