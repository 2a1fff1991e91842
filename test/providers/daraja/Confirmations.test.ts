import { expect, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { describe } from "vitest"
import type { Reference } from "../../../src/domain/Ids.ts"
import { accountReferenceOf } from "../../../src/providers/daraja/Wire.ts"
import { collectionsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder } from "../contract/Orders.ts"
import { answer, type Behaviour, reset } from "../ProviderStub.ts"
import {
  ASK,
  asked,
  billed,
  bodyOf,
  CHARGE,
  callback,
  charged,
  confirmation,
  error,
  given,
  ID,
  PULL,
  paidPrompt,
  payment,
  REGISTER,
  STATUS,
  take,
  taken,
  watching
} from "./Bench.ts"
import { open, settings } from "./Orders.ts"

/** The payer's number is 254711001234, and this is somebody else's with the same end. */
const OTHER = "254722001234"
const HOOK = "https://pay.example.ke/webhooks/daraja/KEY"

describe("a prompt, by the confirmations of its paybill,", () => {
  it.live("whose answer is lost is found by the paybill's confirmation, and only once its receipt was asked for", () =>
    Effect.gen(function* () {
      const { confirmed, fetchStatus, server } = yield* billed([payment()])
      const unnamed = yield* askOrder(charged, chargeOrder(charged, "1234").reference)
      expect(yield* fetchStatus(unnamed)).toMatchObject({
        _tag: "Unknown",
        note: "its answer was lost, and nothing has named it since"
      })
      const found = yield* Effect.flatMap(confirmed(), fetchStatus)
      expect(found).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD", amount: 12_500n, fee: 188n })
      expect(bodyOf(server.seen, STATUS)).toMatchObject({ TransactionID: "TKS41Q7ZPD", PartyA: "605512", IdentifierType: "4" })
    })
  )

  it.live.each<readonly [string, string]>([
    ["of another amount", payment("124.00")],
    ["to another payee", payment().replace("605512 - Shop", "700700 - Other")],
    ["to a payee that is not named", payment().replace('{"Key":"CreditPartyName","Value":"605512 - Shop"},', "")],
    ["from another payer whose number ends in the same digits", payment("125.00", `${OTHER} - EVE`)],
    ["from a payer whose number is masked", payment("125.00", "2547*****234 - ADA K")],
    ["from a payer whose number is cut", payment("125.00", "1234 - ADA K")],
    ["from a payer who is not named", payment().replace('{"Key":"DebitPartyName","Value":"254711001234 - ADA K"},', "")],
    ["by another receipt", payment().replace("TKS41Q7ZPD", "TKS41Q7ZPE")],
    ["that is older, whatever its confirmation says", payment().replaceAll("20261128142355", "20261128142348")],
    ["of no time", payment().replaceAll("20261128142355", '"yesterday"')],
    ["that was not completed", payment().replace("Completed", "Cancelled")]
  ])("is not paid by a payment %s", ([, says]) =>
    Effect.gen(function* () {
      const { confirmed, fetchStatus } = yield* billed([says, payment()])
      const question = yield* confirmed()
      expect((yield* fetchStatus(question))._tag).toMatch(/^(Unknown|StillPending)$/)
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded" })
    })
  )

  it.live("is not paid by a payment that has paid another one, nor by one that another one's confirmation named first", () =>
    Effect.gen(function* () {
      const { charge, confirm, confirmed, fetchStatus, server } = yield* billed([payment(), payment()])
      const first = yield* confirmed()
      const second = yield* charge()
      yield* confirm(confirmation(bodyOf(server.seen, CHARGE)["AccountReference"]))
      expect(yield* fetchStatus(second)).toMatchObject({ _tag: "Unknown" })
      expect(yield* fetchStatus(first)).toMatchObject({ _tag: "Succeeded" })
      expect(yield* fetchStatus(second)).toMatchObject({ _tag: "Unknown" })
    })
  )

  it.live("is not paid by the receipt of a prompt that was acknowledged and paid, however late it is named", () =>
    Effect.gen(function* () {
      const { charge, confirm, fetchStatus, node, server } = yield* billed([payment(), payment()], {
        [CHARGE]: [taken, reset],
        [ASK]: [asked("0")]
      })
      const paidOne = yield* charge()
      yield* take(node, callback(bodyOf(server.seen, CHARGE)["CallBackURL"], paidPrompt(ID)))
      const lost = yield* charge()
      expect(yield* fetchStatus(paidOne)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
      yield* confirm(confirmation(bodyOf(server.seen, CHARGE)["AccountReference"]))
      expect(yield* fetchStatus(lost)).toMatchObject({ _tag: "Unknown" })
    })
  )

  it.effect("has its payer's number in nothing that is kept for it", () =>
    Effect.gen(function* () {
      const { memory, server } = yield* billed([])
      const { put, shared } = watching(memory)
      const node = yield* open(settings(server.baseUrl), shared)
      yield* collectionsOf(node).charge(chargeOrder(charged, "1234"))
      expect(bodyOf(server.seen, CHARGE)["PhoneNumber"]).toBe("254711001234")
      const kept = (yield* Effect.forEach(put, memory.get)).flatMap(Option.toArray).map(Redacted.value)
      expect(kept).toContainEqual(expect.stringMatching(/^"[0-9a-f]{32}"$/))
      expect(kept.join(" ")).not.toContain("711001234")
    })
  )

  it.live("is not found where its payer's hash was not kept: the last digits of it are no proof", () =>
    Effect.gen(function* () {
      const { confirmed, fetchStatus, memory } = yield* billed([payment()])
      const question = yield* confirmed()
      yield* memory.take(`daraja 605512 3004411 payer ${question.reference}`)
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown" })
    })
  )

  it.effect("takes none at the account's own address, which others can learn, nor at one that was not made for them", () =>
    Effect.gen(function* () {
      const { address, confirm, node } = yield* billed([])
      const genuine = confirmation("K7Q2M9XZ41AB")
      for (const forged of [HOOK, `${HOOK}/`, String(address).replace(/.$/, (last) => (last === "0" ? "1" : "0"))])
        expect(yield* take(node, callback(forged, genuine))).toBeNull()
      expect(yield* confirm(genuine)).toMatchObject({ isAnswer: true })
    })
  )

  it.effect("knows its address under new keys of the application, which does not tell it from the account's", () =>
    Effect.gen(function* () {
      const { address, memory } = yield* billed([])
      const keys = { consumerKey: "new", consumerSecret: Redacted.make("new") }
      const renewed = yield* open(settings("http://127.0.0.1:9", keys), memory)
      expect(renewed.callbacks.registration?.addresses["ConfirmationURL"]).toBe(address)
      const other = yield* open(settings("http://127.0.0.1:9", { passkey: Redacted.make("another's") }), memory)
      expect(yield* take(other, callback(address, confirmation("K7Q2M9XZ41AB")))).toBeNull()
    })
  )

  it.effect.each(["254711002233", "INVOICE 8121", "K7Q2M9XZ41A", "K7Q2M9XZ41ABC", ""])(
    "takes a confirmation that names what is none of ours, as a paybill has others, and leaves nothing of it: %j",
    (bill) =>
      Effect.gen(function* () {
        const { address, memory } = yield* billed([])
        const { put, shared } = watching(memory)
        const watched = yield* open(settings("http://127.0.0.1:9"), shared)
        const others = [confirmation(bill), confirmation("K7Q2M9XZ41AB", { shortcode: "700700" })]
        for (const other of others) expect(yield* take(watched, callback(address, other))).toMatchObject({ isAnswer: true })
        expect(yield* take(watched, callback(address, "{}"))).toBeNull()
        expect(put).toEqual([])
        expect(yield* take(watched, callback(address, confirmation("K7Q2M9XZ41AB")))).toMatchObject({ isAnswer: true })
        expect(put.map((name) => name.replace(/[0-9a-f]{32}/, "…"))).toEqual([
          "daraja 605512 3004411 owner …",
          "daraja 605512 3004411 bill … 0"
        ])
      })
  )
})

describe("a prompt, among the payments of the last 48 hours,", () => {
  interface Row {
    readonly amount?: string
    readonly msisdn?: string | number | null
    readonly receipt?: string
    readonly trxDate?: string | null
  }
  const row =
    (reference: Reference) =>
    ({ amount = "125.0", msisdn = 254711001234, receipt = "TKS41Q7ZPD", trxDate = "2026-11-28T11:23:55Z" }: Row) => ({
      transactionId: receipt,
      trxDate,
      msisdn,
      transactiontype: "c2b-pay-bill-debit",
      billreference: accountReferenceOf(reference).toLowerCase(),
      amount,
      organizationname: "Shop"
    })
  const pulledRows = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    let listed: ReadonlyArray<object> = []
    const list: Behaviour = (response, seen) =>
      answer(200, { ResponseRefID: "1", ResponseCode: "1000", ResponseMessage: "Success", Response: [listed] })(response, seen)
    const bench = yield* billed([], { [PULL]: [list] }, true)
    const question = yield* bench.charge()
    listed = rows.map(row(question.reference))
    return { ...bench, question }
  })

  it.live.each<readonly [string, ReadonlyArray<Row>]>([
    ["as it was asked", [{}]],
    ["as it was asked, that is listed twice", [{}, {}]],
    ["as it was asked, from a number in another form", [{ msisdn: "+254711001234" }]],
    ["as it was asked, at a time without a zone", [{ trxDate: "2026-11-28 14:23:55" }]],
    ["as it was asked, beside an older one that names it", [{ receipt: "TKS41Q7ZPE", trxDate: "2026-11-28T11:20:00Z" }, {}]],
    ["as it was asked, beside another's that names it", [{ msisdn: OTHER, receipt: "TKS41Q7ZPE" }, {}]]
  ])("is paid by a payment %s", ([, rows]) =>
    Effect.gen(function* () {
      const { fetchStatus, question } = yield* pulledRows(rows)
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD", amount: 12_500n })
    })
  )

  it.live.each<readonly [string, ReadonlyArray<Row>]>([
    ["of another amount", [{ amount: "1.0" }]],
    ["from another payer whose number ends in the same digits", [{ msisdn: OTHER }]],
    ["from a payer whose number is masked", [{ msisdn: "2547*****234" }]],
    ["from a payer whose number is not named", [{ msisdn: null }]],
    ["that is older", [{ trxDate: "2026-11-27T10:13:00Z" }]],
    ["that has no time", [{ trxDate: null }]],
    ["whose time cannot be read", [{ trxDate: "yesterday" }]],
    ["that is one of two", [{}, { receipt: "TKS41Q7ZPE" }]]
  ])("is not paid by a payment %s", ([, rows]) =>
    Effect.gen(function* () {
      const { fetchStatus, question } = yield* pulledRows(rows)
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
    })
  )

  it.live("is not paid by a payment that has paid another one", () =>
    Effect.gen(function* () {
      const { confirm, fetchStatus, question } = yield* pulledRows([{}])
      yield* confirm(confirmation("K7Q2M9XZ41AB"))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown" })
    })
  )
})

describe("the addresses of a paybill's confirmations", () => {
  const taking = answer(200, { OriginatorCoversationID: "6e86-1", ResponseCode: "0", ResponseDescription: "success" })
  const standing = error(500, "500.003.1001")
  const registering = Effect.fnUntraced(function* (...answers: ReadonlyArray<Behaviour>) {
    const bench = yield* given({ [REGISTER]: answers })
    const { registration } = bench.node.callbacks
    return registration === undefined ? yield* Effect.die("none") : { ...bench, registration }
  })

  it.effect("are registered by one call, which completes a payment whatever comes of its validation", () =>
    Effect.gen(function* () {
      const { registration, server } = yield* registering(taking)
      expect(yield* registration.isRegistered).toBe(false)
      expect(yield* registration.register).toMatchObject({ result: "registered" })
      expect(yield* registration.isRegistered).toBe(true)
      const body = bodyOf(server.seen, REGISTER)
      expect(body).toStrictEqual({ ShortCode: "605512", ResponseType: "Completed", ...registration.addresses })
      const { ConfirmationURL, ValidationURL } = registration.addresses
      expect(ConfirmationURL).toMatch(/^https:\/\/pay\.example\.ke\/webhooks\/daraja\/KEY\/confirm-[0-9a-f]{12}-[0-9a-f]{32}$/)
      expect(ValidationURL).not.toBe(ConfirmationURL)
    })
  )

  it.effect("are the same at each call, and a second one is no mistake of this gateway's", () =>
    Effect.gen(function* () {
      const { memory, registration, server } = yield* registering(taking, standing)
      yield* registration.register
      expect(yield* registration.register).toMatchObject({ result: "registered" })
      const moved = { callbackUrl: Redacted.make("https://pay.example.ke/webhooks/daraja/KEZ") }
      const other = (yield* open(settings(server.baseUrl, moved), memory)).callbacks.registration
      expect(yield* other?.isRegistered ?? Effect.void).toBe(false)
      expect(yield* other?.register ?? Effect.void).toMatchObject({ result: "refused" })
    })
  )

  it.effect.each([
    ["another's addresses, or an error of its own", standing, "portal, under URL management"],
    ["a refusal", error(400, "400.003.02"), "400.003.02"],
    ["a page", answer(502, "<html>", "text/html"), "HTTP 502"],
    ["no answer", reset, ""]
  ] as const)("are not taken for registered after %s", ([, behaviour, why]) =>
    Effect.gen(function* () {
      const { registration } = yield* registering(behaviour)
      const { note, result } = yield* registration.register
      expect([result, note]).toStrictEqual(["refused", expect.stringContaining(why)])
      expect(yield* registration.isRegistered).toBe(false)
    })
  )

  it.effect.each([
    "http://pay.example.ke/hooks",
    "https://localhost/hooks",
    "https://127.0.0.1/hooks",
    "https://[::1]/hooks",
    "https://10.1.2.3/hooks",
    "https://gateway/hooks",
    "https://gateway.local/hooks"
  ])("are not registered where Safaricom cannot reach them: %s", (base) =>
    Effect.gen(function* () {
      const { registration, server } = yield* Effect.gen(function* () {
        const bench = yield* given({ [REGISTER]: [taking] }, [], { callbackUrl: Redacted.make(base) })
        return { ...bench, registration: bench.node.callbacks.registration }
      })
      expect(yield* registration?.register ?? Effect.void).toMatchObject({ result: "refused" })
      expect(server.seen).toEqual([])
    })
  )

  it.effect("take a validation that comes all the same, and keep nothing of it", () =>
    Effect.gen(function* () {
      const { memory, node, registration } = yield* registering()
      const { put, shared } = watching(memory)
      const watched = yield* open(settings("http://127.0.0.1:9"), shared)
      const came = callback(registration.addresses["ValidationURL"], confirmation("K7Q2M9XZ41AB"))
      expect(yield* take(node, came)).toMatchObject({ isAnswer: true })
      yield* take(watched, came)
      expect(put).toEqual([])
    })
  )
})
