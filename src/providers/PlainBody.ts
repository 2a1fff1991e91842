import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from "node:zlib"
import { Option } from "effect"

/** Larger than any honest answer, whether it is packed or not. */
export const LARGEST_BODY_BYTES = 1024 * 1024

type Unpack = (bytes: Buffer) => Buffer

const bounds = { maxOutputLength: LARGEST_BODY_BYTES }
const gunzip: Unpack = (bytes) => gunzipSync(bytes, bounds)

const encodings: ReadonlyMap<string, Unpack> = new Map([
  ["identity", (bytes: Buffer) => bytes],
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  // Some mean the raw stream by it.
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
 * The text of an answer. No request asks for compression, and machines on the way compress it all the same; `encoding` is the header's
 * list, in the order in which it was compressed. A label can be wrong, too: where nothing can be unpacked by it, the bytes are taken as the
 * plain answer. Without a byte order mark. None where it cannot be read, or is larger than any honest answer.
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

/** Whether the bytes are what they say, by the header's word. */
export const isPlainEncoding = (encoding: string): boolean => namesIn(encoding).every((name) => name === "identity")

/** Text as answers are: it begins with no byte that packed ones begin with, and all of it is UTF-8. */
const isPlain = (bytes: Buffer): boolean => Option.isSome(strictly(bytes)) && !bytes.subarray(0, LONGEST_START).some(isControl)
const isControl = (byte: number): boolean => byte < FIRST_PRINTABLE && !BLANKS.includes(byte)
const strictly = Option.liftThrowable((bytes: Buffer) => new TextDecoder("utf-8", { fatal: true }).decode(bytes))
const LONGEST_START = 64
const FIRST_PRINTABLE = 0x20
const BLANKS = [0x09, 0x0a, 0x0d]

/** Drops a byte order mark. */
const decoder = new TextDecoder("utf-8")
