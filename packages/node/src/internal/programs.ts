/**
 * The programs that are run in threads and processes of their own, in the form this file is in.
 */
const program = (path: string): URL =>
  new URL(`${path}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

export const isolate: URL = program("./isolate/main")

export const guardian: URL = program("./guardian/main")
