/**
 * Where the program of an isolate is: beside this file, in the form this file is in.
 */
export const main: URL = new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./main.js", import.meta.url)
