/**
 * What a test may not do: run alone, or wait on the wall clock.
 */
import type { Context, Node } from "../ast.ts"
import { make, ofUses } from "../rule.ts"

/** The first name of `it.effect.only` and the like. */
const rootOf = (node: Node): string | undefined =>
  node.type === "MemberExpression" ? rootOf(node.object) : node.type === "Identifier" ? node.name : undefined

const runners = new Set(["it", "test", "describe", "suite", "layer"])

export const noOnly = make("No test runs alone", (context: Context) => ({
  MemberExpression(node) {
    const name = node.property.type === "Identifier" && !node.computed ? node.property.name : undefined
    if (name !== "only" || !runners.has(rootOf(node.object) ?? "")) return
    context.report({ node: node.property, message: `".only" leaves every other test of the file out: remove it.` })
  }
}))

export const noSleep = ofUses("No test waits on the wall clock", ({ module, path, isType }) => {
  if (isType) return undefined
  const name = path.join(".")
  const sleeps = (module === null && (name === "setTimeout" || name === "setInterval" || name === "Atomics.wait")) ||
    ((module === "timers/promises" || module === "node:timers/promises") && name !== "setImmediate")
  return sleeps
    ? `A test that sleeps is slow when it passes and wrong when the machine is busy: use virtual time (TestClock), or ` +
      `wait for the event itself.`
    : undefined
})

/** `it.live` runs on real time: there a sleep is a guess. Under `it.effect` the same name is virtual. */
export const noLiveSleep = make("No test on real time sleeps", (context: Context) => {
  let live = 0
  return {
    CallExpression(node) {
      if (isLive(node.callee)) live += 1
      if (live > 0 && isSleep(node.callee)) {
        context.report({
          node,
          message:
            "Effect.sleep inside it.live sleeps for real: wait for the event itself, or use it.effect and TestClock. Where a " +
            "test must see that nothing happens any more, disable the rule on that line and say why the time is enough."
        })
      }
    },
    "CallExpression:exit"(node) {
      if (isLive(node.callee)) live -= 1
    }
  }
})

const isLive = (callee: Node): boolean =>
  callee.type === "MemberExpression"
    ? rootOf(callee) === "it" && /(?:^|\.)live(?:\.|$)/.test(pathOf(callee))
    : callee.type === "CallExpression" && isLive(callee.callee)

const isSleep = (callee: Node): boolean => callee.type === "MemberExpression" && pathOf(callee) === "Effect.sleep"

const pathOf = (node: Node): string =>
  node.type === "MemberExpression" && node.property.type === "Identifier"
    ? `${pathOf(node.object)}.${node.property.name}`
    : node.type === "Identifier"
    ? node.name
    : "?"
