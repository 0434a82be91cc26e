/**
 * Pieces of UTF-8 that were cut without regard to characters.
 */

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/** Where the first whole character starts: a character has at most three continuation bytes. */
export const wholeStart = (bytes: Uint8Array): number => {
  let start = 0
  while (start < 3 && start < bytes.length && isContinuation(bytes[start]!)) start++
  return start
}

/** Where the last whole character ends. */
export const wholeEnd = (bytes: Uint8Array): number => {
  let lead = bytes.length - 1
  while (lead >= 0 && bytes.length - lead < 4 && isContinuation(bytes[lead]!)) lead--
  if (lead < 0) return bytes.length
  const byte = bytes[lead]!
  const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
  return bytes.length - lead < width ? lead : bytes.length
}
