export * as Frames from "./Frames.ts"
export * as RawPeer from "./RawPeer.ts"
export * as RawProgram from "./RawProgram.ts"
