import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { Option } from "effect"
import { describe, expect, it } from "vitest"
import { LARGEST_BODY_BYTES, plainBody } from "../../src/providers/PlainBody.ts"

const text = '{"status":"success","name":"Ünïcode"}'
const bytes = Buffer.from(text)

describe("an answer that something on the way packed", () => {
  const packed: ReadonlyArray<readonly [string, Buffer]> = [
    ["", bytes],
    ["identity", bytes],
    ["gzip", gzipSync(bytes)],
    ["X-GZIP", gzipSync(bytes)],
    ["deflate", deflateSync(bytes)],
    ["deflate", deflateRawSync(bytes)],
    ["br", brotliCompressSync(bytes)],
    ["gzip, br", brotliCompressSync(gzipSync(bytes))],
    // Labels that are wrong: something on the way unpacked it already, or has a word of its own.
    ["gzip", bytes],
    ["br", bytes],
    ["deflate", bytes],
    ["gzip, br", bytes],
    ["none", bytes],
    ["utf-8", bytes]
  ]
  for (const [encoding, body] of packed)
    it(`is read, by "${encoding}" of ${body.length} bytes (38.12)`, () => {
      expect(plainBody(body, encoding)).toStrictEqual(Option.some(text))
    })

  it("without a body has none", () => {
    expect(plainBody(Buffer.alloc(0), "gzip")).toStrictEqual(Option.some(""))
  })

  it("loses its byte order mark (38.12)", () => {
    expect(plainBody(Buffer.from(`\ufeff${text}`), "")).toStrictEqual(Option.some(text))
  })

  const unreadable: ReadonlyArray<readonly [string, string, Buffer]> = [
    ["packed in a way that nobody knows", "zstd", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00])],
    ["packed in another way than its header says", "br", gzipSync(bytes)],
    ["that breaks off", "gzip", gzipSync(bytes).subarray(0, 20)],
    ["that is larger than any honest answer", "gzip", gzipSync(Buffer.alloc(LARGEST_BODY_BYTES + 1, "x"))]
  ]
  for (const [name, encoding, body] of unreadable)
    it(`is none, ${name}`, () => {
      expect(plainBody(body, encoding)).toStrictEqual(Option.none())
    })
})
