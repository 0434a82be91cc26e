/** Names of rows that goals and other tables refer to. */

/** Through `executePromise`: schemas, a policy before and after, a deadline, a frozen result. */
export const full = "Quiesce, full call"
export const fullInFiber = `${full}, in a fiber`
export const fullEndless = `${full}, body is an effect`
export const reference = "REF"
export const referenceTold = `${reference}, body needs no signal`
export const referenceInFiber = `${reference}, in a fiber`
export const mostListeners = "Quiesce, native listeners at any time"
export const importTime = "import of @quiesce/core beyond effect"
export const importSize = "@quiesce/core, minified, beyond effect"
