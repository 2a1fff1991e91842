import { PassThrough } from "node:stream"
import { it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { describe, expect } from "vitest"
import { bodyReader, drained } from "../../../src/http/edge/RequestBody.ts"

const LIMIT = 64 * 1024
const reading = bodyReader(() => () => {})

const arriving = () => {
  const message = Object.assign(new PassThrough(), { headers: {} })
  return { message, body: reading({ source: message } as never, LIMIT) }
}

describe("a body", () => {
  it.effect("that arrives byte by byte is kept in one piece, and none of the many is", () =>
    Effect.gen(function* () {
      const { body, message } = arriving()
      const read = yield* Effect.forkChild(body, { startImmediately: true })
      const piece = Buffer.alloc(1)
      const sent = Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 7) % 251))
      message.emit("data", Buffer.from(sent.subarray(0, 1)))
      for (const byte of sent.subarray(1)) {
        piece[0] = byte
        message.emit("data", piece)
      }
      message.emit("end")
      expect(Buffer.compare(Buffer.from((yield* Fiber.join(read)) ?? []), sent)).toBe(0)
    })
  )

  it("of a request that has none is discarded as it arrives", () => {
    const { message } = arriving()
    expect(drained({ source: message } as never)).toHaveLength(0)
    expect(message.readableFlowing).toBe(true)
  })

  it.effect("of a byte more than it may have is refused", () =>
    Effect.gen(function* () {
      const { body, message } = arriving()
      const read = yield* Effect.forkChild(Effect.flip(body), { startImmediately: true })
      for (const size of [1, LIMIT - 1, 1]) message.emit("data", Buffer.alloc(size))
      expect(yield* Fiber.join(read)).toMatchObject({ _tag: "payload_too_large", maximum_bytes: LIMIT })
    })
  )
})
