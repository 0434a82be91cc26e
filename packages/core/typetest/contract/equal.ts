/** Whether two types are the same, `readonly` and optional marks included. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** Compiles when `T` is true. */
export const is = <T extends true>(..._: T extends true ? [] : [never]): void => undefined
