import { randomBytes } from "node:crypto"

/** How many are asked of the operating system at once: each question costs more than its bytes. */
const AT_ONCE = 128

/** Bytes that nobody had before, so many each time; what was given out is overwritten at once. */
export const randomAhead = (count: number): (() => Uint8Array) => {
  let bytes = Buffer.alloc(0)
  return () => {
    if (bytes.length === 0) bytes = randomBytes(count * AT_ONCE)
    const given = new Uint8Array(bytes.subarray(0, count))
    bytes.fill(0, 0, count)
    bytes = bytes.subarray(count)
    return given
  }
}
