import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { readForm } from "../../src/console/Gate.ts"

/** A form that arrives byte by byte, each in the same memory. */
const arriving = (text: string) => {
  const bytes = Buffer.from(text).values()
  const piece = new Uint8Array(1)
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const { done, value } = bytes.next()
        if (done === true) return controller.close()
        piece[0] = value
        controller.enqueue(piece)
      }
    },
    { highWaterMark: 0 }
  )
  const headers = { "content-type": "application/x-www-form-urlencoded" }
  // What a stream as a body needs, and the types do not have.
  const init = { method: "POST", headers, body, duplex: "half" }
  return HttpServerRequest.fromWeb(new Request("http://console/login", init))
}

describe("a form", () => {
  it.effect("that arrives byte by byte is kept in one piece, and none of the many is", () =>
    Effect.gen(function* () {
      const form = yield* readForm(arriving(`name=ada&token=${"x".repeat(4_000)}`))
      expect([...form]).toEqual([
        ["name", "ada"],
        ["token", "x".repeat(4_000)]
      ])
    })
  )

  it.effect("of a byte more than it may have is refused, although it does not say its length", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(readForm(arriving("x".repeat(64 * 1024 + 1))))).toMatchObject({ status: 413 })
    })
  )
})
