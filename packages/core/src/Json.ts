import * as Schema from "effect/Schema"

/** A value that JSON carries without loss. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

export const Json = Schema.Json as Schema.Codec<Json>
