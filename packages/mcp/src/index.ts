export * as Cancelled from "./Cancelled.ts"
export * as HttpServer from "./HttpServer.ts"
export * as NodeHttp from "./NodeHttp.ts"
export * as StdioServer from "./StdioServer.ts"
