import { describe, expect, it } from "vitest"
import { type EdgeClient, onEdge } from "../support/EdgeClient.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
const destination = { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
const payout = { amount_minor: 1000, currency: "UGX", country: "UG", method: "momo", destination }
const collection = {
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  source: { type: "momo", msisdn: "256772123456", network: "MTN" }
}

let keys = 0
const post = (client: EdgeClient, target: string, body: unknown) =>
  client.signed("POST", target, [["Idempotency-Key", `edge-${keys++}`]], typeof body === "string" ? body : JSON.stringify(body))

const issues = (answer: { text: string }): ReadonlyArray<{ path: string; message: string }> =>
  parsed(answer).error?.details.issues ?? []
const outcome = (answer: { status: number; text: string }) => [answer.status, ...issues(answer).map(({ path }) => path)]

/** An object whose compact JSON has exactly so many bytes, filled with one character as far as it fits. */
const metadataOf = (bytes: number, fill: string) => {
  const room = bytes - Buffer.byteLength('{"m":""}')
  const times = Math.floor(room / Buffer.byteLength(fill))
  return { m: fill.repeat(times) + "x".repeat(room - times * Buffer.byteLength(fill)) }
}

const nested = (levels: number, open: string, close: string) =>
  JSON.stringify({ ...payout, metadata: { x: "@" } }).replace('"@"', `${open.repeat(levels)}1${close.repeat(levels)}`)

describe("the exact limits of a request", () => {
  it(
    "are 4096 bytes of metadata as compact UTF-8, however it is written",
    onEdge(async (client) => {
      for (const fill of ["a", "é", "€", "😀"]) {
        const fits = { ...payout, metadata: metadataOf(4096, fill) }
        expect([fill, ...outcome(await post(client, "/v1/payouts", fits))]).toEqual([fill, 201])
        const over = { ...payout, metadata: metadataOf(4097, fill) }
        expect([fill, ...outcome(await post(client, "/v1/payouts", over))]).toEqual([fill, 422, "metadata"])
        // White space and escapes are of the request, not of the metadata.
        const escaped = JSON.stringify(fits, null, 8).replace(
          /[^ -~\n]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
        )
        expect([fill, ...outcome(await post(client, "/v1/payouts", escaped))]).toEqual([fill, 201])
      }
    })
  )

  it(
    "are 32 levels of nesting",
    onEdge(async (client) => {
      // The body and its metadata are the first two.
      for (const [open, close] of [
        ["[", "]"],
        ['{"a":', "}"]
      ] as const) {
        expect(outcome(await post(client, "/v1/payouts", nested(30, open, close)))).toEqual([201])
        expect(outcome(await post(client, "/v1/payouts", nested(31, open, close)))).toEqual([400, ""])
      }
    })
  )

  it(
    "are 128 characters for each of a payer's details, and 140 for a narration",
    onEdge(async (client) => {
      for (const detail of ["first_name", "last_name", "email", "phone", "external_id"]) {
        for (const member of ["payer", "customer"]) {
          const asked = (length: number) => ({ ...collection, [member]: { [detail]: "é".repeat(length) } })
          expect(outcome(await post(client, "/v1/collections", asked(128)))).toEqual([201])
          expect(outcome(await post(client, "/v1/collections", asked(129)))).toEqual([422, `${member}.${detail}`])
        }
      }
      for (const [target, body] of [
        ["/v1/payouts", payout],
        ["/v1/collections", collection]
      ] as const) {
        expect(outcome(await post(client, target, { ...body, narration: "é".repeat(140) }))).toEqual([201])
        expect(outcome(await post(client, target, { ...body, narration: "é".repeat(141) }))).toEqual([422, "narration"])
      }
    })
  )

  it(
    "are 2^53−1 minor units",
    onEdge(async (client) => {
      const asked = (amount: string) => JSON.stringify(payout).replace("1000", amount)
      expect(outcome(await post(client, "/v1/payouts", asked("9007199254740991")))).toEqual([201])
      const over = await post(client, "/v1/payouts", asked("9007199254740992"))
      expect([over.status, parsed(over).error.code]).toEqual([422, "validation_failed"])
    })
  )
})

describe("the message for a refused field", () => {
  it(
    "names the possible types in words",
    onEdge(async (client) => {
      expect(issues(await post(client, "/v1/payouts", { ...payout, destination: { ...destination, type: "crypto" } }))).toEqual([
        { path: "destination.type", message: "must be one of momo, bank, wallet" }
      ])
      expect(issues(await post(client, "/v1/collections", { ...collection, source: {} }))).toEqual([
        { path: "source.type", message: "is required" }
      ])
    })
  )
})
