/**
 * A buffer that takes any amount of output and keeps the first and the last bytes of it.
 *
 * Invariants: (1) memory is bounded by `maxBytes` whatever the size of the chunks, since bytes are copied out of them:
 * a retained one-byte chunk would cost a hundred bytes of bookkeeping. (2) The head is full before the tail gets its
 * first byte, so nothing is in both. (3) Every byte given is counted.
 */
import type { Output } from "../Output.ts"

export interface Keep {
  readonly push: (chunk: Uint8Array) => void
  /** A copy of what is kept at this moment. */
  readonly output: (complete: boolean) => Output
}

export const make = (maxBytes: number): Keep => {
  const headLimit = Math.ceil(maxBytes / 2)
  const head = makeRing(headLimit)
  const tail = makeRing(maxBytes - headLimit)
  let bytes = 0
  return {
    push: (chunk) => {
      const forHead = Math.min(chunk.length, headLimit - Math.min(bytes, headLimit))
      bytes += chunk.length
      head.push(chunk.subarray(0, forHead))
      tail.push(chunk.subarray(forHead))
    },
    output: (complete) => ({ head: head.toBytes(), tail: tail.toBytes(), bytes, complete })
  }
}

/** Most commands write little: a buffer starts at this size and doubles up to its limit. */
const initialCapacity = 4096

/** Keeps the last `limit` bytes given to it. */
const makeRing = (limit: number) => {
  // The `size` bytes that end before index `end`, modulo the buffer's length.
  let buffer = new Uint8Array(0)
  let end = 0
  let size = 0

  const toBytes = (): Uint8Array => {
    const start = size > end ? end - size + buffer.length : end - size
    const bytes = new Uint8Array(size)
    const first = buffer.subarray(start, start + size)
    bytes.set(first)
    bytes.set(buffer.subarray(0, size - first.length), first.length)
    return bytes
  }

  const reserve = (needed: number) => {
    if (needed <= buffer.length) return
    const larger = new Uint8Array(Math.min(limit, Math.max(initialCapacity, buffer.length * 2, needed)))
    larger.set(toBytes())
    buffer = larger
    end = size
  }

  return {
    toBytes,
    push: (chunk: Uint8Array) => {
      if (limit === 0 || chunk.length === 0) return
      const last = chunk.subarray(Math.max(0, chunk.length - limit))
      reserve(Math.min(limit, size + last.length))
      const first = last.subarray(0, buffer.length - end)
      buffer.set(first, end)
      buffer.set(last.subarray(first.length), 0)
      end = (end + last.length) % buffer.length
      size = Math.min(buffer.length, size + last.length)
    }
  }
}
