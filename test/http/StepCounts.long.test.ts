import { Schema } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { json } from "../../src/domain/Json.ts"
import { Transaction } from "../../src/domain/Transaction.ts"
import { recordView } from "../../src/domain/View.ts"
import { errorEnvelope } from "../../src/http/api/Envelope.ts"
import { recordText, storedRecord } from "../../src/persistence/transactions/StoredRecord.ts"
import { bodyRoutes, refusalOf } from "../support/BodyDecoders.ts"
import { hostileBody } from "../support/HostileBodies.ts"
import { collection } from "../support/SampleTransactions.ts"
import { stepsOf } from "../support/StepCount.ts"

/** Reading takes seven for a list of zeros and thirteen for the costliest of three hundred bodies; a walk that began anew for each mistake takes some thousands. */
const STEPS_A_BYTE = 64

/** All that is done with a body before it is a command, the answer included. */
const outcomeResponse = (route: string, body: string): string => {
  const refused = refusalOf(route, body)
  return refused === null ? "" : errorEnvelope(refused).body
}

describe("the response to a body with mistakes", () => {
  it("takes a number of steps proportional to the body", () => {
    fc.assert(
      fc.property(fc.constantFrom(...bodyRoutes), hostileBody, (route, body) => {
        const steps = stepsOf(() => outcomeResponse(route, body))
        expect(steps).toBeLessThan(STEPS_A_BYTE * Buffer.byteLength(body))
      }),
      { numRuns: 8 }
    )
  })

  it("stops looking for mistakes at the bound: a thousand mistakes cost less than none", () => {
    const items = (text: string) => `{"metadata":[${Array(5_000).fill(`{"a":"${text}"}`).join()}]}`
    const card = (name: string) => `{"source":[${Array(5_000).fill(`{"${name}":"a"}`).join()}]}`
    const steps = (body: string) => stepsOf(() => outcomeResponse("POST /v1/collections", body))
    outcomeResponse("POST /v1/collections", items("\\u0041"))
    expect(steps(items("\\u0000"))).toBeLessThan(steps(items("\\u0041")))
    expect(steps(card("cvv"))).toBeLessThan(steps(card("abc")))
  })
})

const read = Schema.decodeUnknownSync(storedRecord(Transaction))

it("a record is read and shown in the same number of steps, whatever its metadata holds", () => {
  const steps = (metadata: string) => {
    const stored = JSON.parse(recordText(collection({ metadata })))
    return stepsOf(() => json(recordView(read(stored))))
  }
  steps("{}")
  // The engine itself takes a step more or less now and then; a member or a list of these would be two hundred.
  const expected = steps("{}") + 50
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      expect(steps(JSON.stringify({ value, lists: Array.from({ length: 100 }, () => [value, 1.5]) }))).toBeLessThan(expected)
    }),
    { numRuns: 10 }
  )
})
