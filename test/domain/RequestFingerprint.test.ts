import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { RawJson } from "../../src/domain/Json.ts"
import { fingerprintText } from "../../src/domain/RequestFingerprint.ts"

const PAYOUTS = "POST /v1/payouts"

/** The same value with the members of every object in the opposite order. */
const reversed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(reversed)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([name, member]) => [name, reversed(member)])
        )
      : value

describe("two requests with one idempotency key have the same parameters", () => {
  it("by the endpoint, the parameters of its path and the body, in that order", () => {
    expect(fingerprintText(PAYOUTS, { b: "2", a: "1" }, { d: [{ f: null, e: 1n }], c: "x" })).toBe(
      '["POST /v1/payouts",{"a":"1","b":"2"},{"c":"x","d":[{"e":1,"f":null}]}]'
    )
    expect(fingerprintText(PAYOUTS, {}, null)).toBe('["POST /v1/payouts",{},null]')
  })

  it("whatever the order of the members is, and not of the items of a list", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        expect(fingerprintText(PAYOUTS, {}, reversed(body))).toBe(fingerprintText(PAYOUTS, {}, body))
      })
    )
    expect(fingerprintText(PAYOUTS, {}, [1, 2])).not.toBe(fingerprintText(PAYOUTS, {}, [2, 1]))
  })

  it("only where metadata has the same digits in the same order", () => {
    const body = (metadata: string) => fingerprintText(PAYOUTS, {}, { metadata: new RawJson(metadata) })
    expect(body('{"b":1.0,"a":2}')).toBe('["POST /v1/payouts",{},{"metadata":{"b":1.0,"a":2}}]')
    expect(body('{"a":1.0}')).not.toBe(body('{"a":1.00}'))
  })

  it("not where one of the three differs", () => {
    const own = fingerprintText(PAYOUTS, { reference: "1" }, { amount_minor: 1n })
    expect(fingerprintText("POST /v1/collections", { reference: "1" }, { amount_minor: 1n })).not.toBe(own)
    expect(fingerprintText(PAYOUTS, { reference: "2" }, { amount_minor: 1n })).not.toBe(own)
    expect(fingerprintText(PAYOUTS, { reference: "1" }, { amount_minor: 2n })).not.toBe(own)
  })
})
