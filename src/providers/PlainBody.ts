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
 * The text of an answer. Nobody asked for a packed one, and machines on the way pack it all the same; `encoding` is the header's list, in
 * the order in which it was packed. Without a byte order mark. None where it cannot be read, or is larger than any honest answer.
 */
export const plainBody = (bytes: Buffer, encoding: string): Option.Option<string> => {
  const names = encoding
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "")
  const unpack = names.toReversed().map((name) => encodings.get(name))
  const known = unpack.filter((one) => one !== undefined)
  if (known.length < unpack.length) return Option.none()
  return Option.map(bytes.length === 0 ? Option.some(bytes) : unpacked(bytes, known), (plain) => decoder.decode(plain))
}

/** Drops a byte order mark. */
const decoder = new TextDecoder("utf-8")
