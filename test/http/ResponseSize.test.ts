import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { errorEnvelope } from "../../src/http/api/Envelope.ts"
import { bodyRoutes, refusalOf } from "../support/BodyDecoders.ts"
import { onEdge } from "../support/EdgeClient.ts"
import { hostileBody } from "../support/HostileBodies.ts"

/** No refusal is larger, whatever was sent. */
const LARGEST_REFUSAL = 16 * 1024

/** All that is done with a body before it is a command, the answer included. */
const outcomeResponse = (route: string, body: string): string => {
  const refused = refusalOf(route, body)
  return refused === null ? "" : errorEnvelope(refused).body
}

describe("the response to a body with mistakes", () => {
  it(
    "stays small over a socket, however many mistakes there are and however long their names",
    onEdge(async (client) => {
      const long = "a".repeat(32_000)
      const bodies = [
        `{"${long}":[${Array(3_600).fill('"\\u0000"').join()}]}`,
        `{"source":{"${long}":[${Array(3_000).fill('{"cvv":1}').join()}]}}`,
        `{"url":"https://a.example","events":[${Array(32_000).fill(0).join()}]}`,
        `{"${"\\u0001".repeat(10_000)}":"\\u0000"}`,
        `{"metadata":${'{"a":'.repeat(30)}["\\u0000"]${"}".repeat(30)}}`
      ]
      for (const target of ["/v1/payouts", "/v1/collections", "/v1/fx/exchange"])
        for (const body of bodies) {
          const answer = await client.signed("POST", target, [["Idempotency-Key", "k"]], body)
          expect([answer.status, answer.text.length < LARGEST_REFUSAL], `${target} ${answer.text.length}`).toEqual([422, true])
        }
      const ignored = `{"url":"https://a.example",${Array.from({ length: 5_000 }, (_, at) => `"m${at}":1`).join()}}`
      const answer = await client.signed("POST", "/v1/refunds", [], ignored.replace("url", "original_reference"))
      expect([answer.status, (answer.headers["x-gateway-ignored"] ?? "").length]).toEqual([501, 1024])
    })
  )

  it("is smaller than 16 KiB for every endpoint and any body", () => {
    fc.assert(
      fc.property(fc.constantFrom(...bodyRoutes), hostileBody, (route, body) => {
        expect(Buffer.byteLength(outcomeResponse(route, body))).toBeLessThan(LARGEST_REFUSAL)
      }),
      { numRuns: 150 }
    )
  })
})
