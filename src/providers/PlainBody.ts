import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from "node:zlib"
import { Option } from "effect"

/** Larger than any legitimate response, compressed or not. */
export const LARGEST_BODY_BYTES = 1024 * 1024

type Unpack = (bytes: Buffer) => Buffer

const bounds = { maxOutputLength: LARGEST_BODY_BYTES }
const gunzip: Unpack = (bytes) => gunzipSync(bytes, bounds)

const encodings: ReadonlyMap<string, Unpack> = new Map([
  ["identity", (bytes: Buffer) => bytes],
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  // Some servers mean the raw deflate stream.
  [
    "deflate",
    (bytes: Buffer) =>
      Option.getOrElse(
        attempt(bytes, (packed) => inflateSync(packed, bounds)),
        () => inflateRawSync(bytes, bounds)
      )
  ],
  ["br", (bytes: Buffer) => brotliDecompressSync(bytes, bounds)]
])

const attempt = Option.liftThrowable((bytes: Buffer, unpack: Unpack) => unpack(bytes))

const unpacked = Option.liftThrowable((bytes: Buffer, encodings: ReadonlyArray<Unpack>) =>
  encodings.reduce((packed, unpack) => unpack(packed), bytes)
)

/**
 * The text of a response, without a byte order mark. No request asks for compression, but proxies may compress all the same.
 * `encoding`: the header's list, in the order of compression. The header can also be wrong: when the body cannot be
 * decompressed accordingly, it is taken as plain. None when it cannot be read or is too large.
 */
export const plainBody = (bytes: Buffer, encoding: string): Option.Option<string> => {
  const names = namesIn(encoding)
  const unpack = names.toReversed().map((name) => encodings.get(name))
  const known = unpack.filter((one) => one !== undefined)
  const isKnown = known.length === unpack.length
  const plain = bytes.length === 0 || !isKnown ? Option.none() : unpacked(bytes, known)
  return Option.map(
    Option.orElse(plain, () => (isPlain(bytes) ? Option.some(bytes) : Option.none())),
    (whole) => decoder.decode(whole)
  )
}

const namesIn = (encoding: string): ReadonlyArray<string> =>
  encoding
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "")

/** Whether the header says that the body is not compressed. */
export const isPlainEncoding = (encoding: string): boolean => namesIn(encoding).every((name) => name === "identity")

/** Whether the bytes look like plain text: valid UTF-8, beginning without control characters, which compressed data begins with. */
const isPlain = (bytes: Buffer): boolean => Option.isSome(strictly(bytes)) && !bytes.subarray(0, LONGEST_START).some(isControl)
const isControl = (byte: number): boolean => byte < FIRST_PRINTABLE && !BLANKS.includes(byte)
const strictly = Option.liftThrowable((bytes: Buffer) => new TextDecoder("utf-8", { fatal: true }).decode(bytes))
const LONGEST_START = 64
const FIRST_PRINTABLE = 0x20
const BLANKS = [0x09, 0x0a, 0x0d]

/** Drops a byte order mark. */
const decoder = new TextDecoder("utf-8")
