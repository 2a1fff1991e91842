import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { authorize, demandCodes, pinIdOf, RIGHT, sourceOf, waiting, wrapped } from "../../support/OtpRequests.ts"
import { momoCharge } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, executionsOf, ledgerVerifies, Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"

const events = ["collection.requires_action", "collection.pending", "collection.successful", "collection.failed"] as const
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
const CHARGE = "POST /v1/collections/momo"
const askedOf = Effect.fnUntraced(function* (reference: string) {
  const { simulator } = yield* Stack
  return yield* callsOf(simulator, reference)
})
const chargesOf = (reference: string) => Effect.map(askedOf(reference), (calls) => calls.filter((call) => call === CHARGE).length)
const given = Effect.gen(function* () {
  const { gateway } = yield* Stack
  yield* demandCodes(gateway, "UG")
  return { gateway, tenant: yield* tenantOn(gateway, 0n) }
})
const incorrect = (reference: string, attempts_remaining: number) => ({
  status: 422,
  code: "otp_incorrect",
  class: "retriable",
  details: { reference, attempts_remaining }
})

layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "700" }), { excludeTestServices: true })("the code flow", (it) => {
  it.effect("texts a code and charges nothing before authorize; then the charge is collected into the float", () =>
    Effect.gen(function* () {
      const { simulator } = yield* Stack
      const { gateway, tenant } = yield* given
      const webhooks = yield* webhooksOf(gateway, tenant, events)
      const { answer, pinId, reference } = yield* waiting(tenant, "1111")
      expect(answer.status).toBe(201)
      expect(answer.body.data).toMatchObject({ status: "requires_action", version: 1, masked_source: "••••1111" })
      expect(answer.body.data["next_action"]).toStrictEqual({
        type: "otp",
        pin_id: expect.stringMatching(/^VE/),
        message: expect.stringContaining("••••1111"),
        expires_at: iso
      })
      expect(yield* chargesOf(reference)).toBe(0)

      const authorized = yield* authorize(tenant, reference, wrapped(pinId, RIGHT, "1111"))
      expect(authorized.headers.get("deprecation")).toBeNull()
      expect(said(authorized)).toStrictEqual({ status: 200 })
      expect(authorized.body.data).toMatchObject({ reference, amount_minor: 20_000 })
      yield* tenant.until(`/v1/collections/${reference}`, (now) => now["status"] === "successful")
      expect(yield* executionsOf(simulator, reference)).toHaveLength(1)
      expect(yield* tenant.float).toMatchObject({ available_minor: 19_700 })
      expect(yield* webhooks.types(3)).toStrictEqual([
        "collection.requires_action",
        "collection.pending",
        "collection.successful"
      ])
      expect((yield* authorize(tenant, reference, wrapped(pinId, RIGHT, "1111"))).body.data).toMatchObject({
        status: "successful"
      })
      expect(yield* chargesOf(reference)).toBe(1)
    })
  )

  it.effect("answers a repeated create with the same bytes and sends no second code", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const first = yield* tenant.post("/v1/collections", momoCharge("1112"), "again")
      const second = yield* tenant.post("/v1/collections", momoCharge("1112"), "again")
      expect(second.text).toBe(first.text)
      expect(second.headers.get("idempotency-replayed")).toBe("true")
    })
  )

  it.effect("keeps the transaction open on a wrong code, counts different codes, and stops after five", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const { pinId, reference } = yield* waiting(tenant, "1113")
      const say = (pin: string) => authorize(tenant, reference, wrapped(pinId, pin, "1113"))
      for (const [pin, left] of [
        ["000001", 4],
        ["000001", 4],
        ["000002", 3],
        ["000003", 2],
        ["000004", 1],
        ["000005", 0]
      ] as const)
        expect(said(yield* say(pin))).toStrictEqual(incorrect(reference, left))
      const { body } = yield* tenant.get(`/v1/collections/${reference}`)
      expect(body.data).toMatchObject({ status: "requires_action", next_action: { pin_id: pinId } })
      const spent = yield* say(RIGHT)
      expect(said(spent)).toMatchObject({ status: 429, code: "rate_limited", details: { scope: "code" } })
      expect(Number(spent.headers.get("retry-after"))).toBeGreaterThan(500)
      expect(yield* chargesOf(reference)).toBe(5)
    })
  )

  it.effect("accepts the right code after a wrong one", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const { pinId, reference } = yield* waiting(tenant, "1114")
      expect(said(yield* authorize(tenant, reference, wrapped(pinId, "999999", "1114")))).toStrictEqual(incorrect(reference, 4))
      const before = yield* askedOf(reference)
      expect(said(yield* authorize(tenant, reference, wrapped(pinId, RIGHT, "1114")))).toStrictEqual({ status: 200 })
      // Before another code is sent, the charge is looked for once more.
      const asked = (yield* askedOf(reference)).slice(before.length)
      expect(asked.slice(0, 2)).toStrictEqual(["GET /v1/transactions", CHARGE])
      yield* tenant.until(`/v1/collections/${reference}`, (now) => now["status"] === "successful")
    })
  )

  it.effect("still accepts both legacy forms and says that they are deprecated; two forms at once are refused", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const otp = (pinId: string) => ({ pin_id: pinId, pin: RIGHT })
      for (const [ending, form] of [
        ["1115", (pinId: string) => ({ otp: otp(pinId) })],
        ["1116", otp]
      ] as const) {
        const { pinId, reference } = yield* waiting(tenant, ending)
        const both = yield* authorize(tenant, reference, { ...wrapped(pinId, RIGHT, ending), ...form(pinId) })
        expect(said(both)).toMatchObject({ status: 422, code: "validation_failed" })
        const answer = yield* authorize(tenant, reference, { ...form(pinId), source: sourceOf(ending) })
        expect([answer.status, answer.headers.get("deprecation")]).toStrictEqual([200, "true"])
      }
    })
  )

  it.effect("never charges another payer than the stored one", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const { pinId, reference } = yield* waiting(tenant, "1117")
      const others = [sourceOf("1118"), { ...sourceOf("1117"), msisdn: "256773351117" }]
      for (const source of others) {
        expect(said(yield* authorize(tenant, reference, wrapped(pinId, RIGHT, "1117", source)))).toMatchObject({
          status: 422,
          code: "validation_failed",
          details: { issues: [{ path: "source.msisdn" }] }
        })
      }
      expect(yield* chargesOf(reference)).toBe(0)
      const stranger = yield* tenantOn((yield* Stack).gateway, 0n)
      expect(yield* authorize(stranger, reference, wrapped(pinId, RIGHT, "1117"))).toMatchObject({ status: 404 })
    })
  )

  it.effect("charges once when two requests send the code at the same time", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const { pinId, reference } = yield* waiting(tenant, "1119")
      const say = authorize(tenant, reference, wrapped(pinId, RIGHT, "1119"))
      const answers = yield* Effect.all([say, say, say, say, say, say], { concurrency: "unbounded" })
      for (const answer of answers) {
        expect([200, 409]).toContain(answer.status)
        if (answer.status === 409) expect(said(answer)).toMatchObject({ code: "request_in_progress", class: "retriable" })
      }
      expect(yield* chargesOf(reference)).toBe(1)
    })
  )

  it.effect("honours a key at authorize", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const { pinId, reference } = yield* waiting(tenant, "1120")
      const say = (pin: string) => authorize(tenant, reference, wrapped(pinId, pin, "1120"), { "idempotency-key": `key-${pin}` })
      expect(said(yield* say("000000"))).toStrictEqual(incorrect(reference, 4))
      expect((yield* say("000000")).headers.get("idempotency-replayed")).toBeNull()
      const first = yield* say(RIGHT)
      expect(first.status).toBe(200)
      yield* tenant.until(`/v1/collections/${reference}`, (now) => now["status"] === "successful")
      const again = yield* say(RIGHT)
      expect([again.text, again.headers.get("idempotency-replayed")]).toStrictEqual([first.text, "true"])
    })
  )

  it.effect("charges at once where the create carries a code that the tenant requested itself", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const sent = yield* tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("1121") })
      expect(sent.status).toBe(201)
      expect(sent.body.data).toStrictEqual({
        pin_id: expect.stringMatching(/^VE/),
        message: expect.any(String),
        masked_msisdn: "••••1121",
        expires_at: iso
      })
      const otp = { pin_id: pinIdOf(sent), pin: RIGHT }
      const answer = yield* tenant.post("/v1/collections", momoCharge("1121", { otp }))
      expect(answer.status).toBe(201)
      expect(answer.body.data).toMatchObject({ status: "pending", next_action: null })
      yield* tenant.until(`/v1/collections/${referenceOf(answer)}`, (now) => now["status"] === "successful")
    })
  )

  it.effect("stores the answer to a create with a wrong code; the client continues with authorize", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const sent = yield* tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("1122") })
      const otp = { pin_id: pinIdOf(sent), pin: "654321" }
      const first = yield* tenant.post("/v1/collections", momoCharge("1122", { otp }), "wrong")
      const reference = referenceOf(first)
      expect(said(first)).toStrictEqual(incorrect(reference, 4))
      const again = yield* tenant.post("/v1/collections", momoCharge("1122", { otp }), "wrong")
      expect([again.text, again.headers.get("idempotency-replayed")]).toStrictEqual([first.text, "true"])
      const { body } = yield* tenant.get(`/v1/collections/${reference}`)
      expect(body.data).toMatchObject({ status: "requires_action", next_action: { type: "otp", pin_id: otp.pin_id } })
      expect(said(yield* authorize(tenant, reference, wrapped(otp.pin_id, "654321", "1122")))).toStrictEqual(
        incorrect(reference, 4)
      )
      expect((yield* authorize(tenant, reference, wrapped(otp.pin_id, RIGHT, "1122"))).status).toBe(200)
    })
  )

  it.effect("accepts a code that the tenant requested again; an unknown pin_id is a wrong code and counts as one attempt", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const { reference } = yield* waiting(tenant, "1124")
      const say = (pinId: string) => authorize(tenant, reference, wrapped(pinId, RIGHT, "1124"))
      expect(said(yield* say("VE0"))).toStrictEqual(incorrect(reference, 4))
      expect(said(yield* say("VE0"))).toStrictEqual(incorrect(reference, 4))
      const resent = yield* tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("1124") })
      expect(said(yield* say(pinIdOf(resent)))).toStrictEqual({ status: 200 })
    })
  )

  it.effect("sends at most three codes to a number in ten minutes", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const ask = tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("1123") })
      const answers = yield* Effect.all([ask, ask, ask, ask, ask], { concurrency: "unbounded" })
      expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([201, 201, 201, 429, 429])
      const limited = yield* ask
      expect(said(limited)).toMatchObject({ code: "rate_limited", class: "retriable", details: { scope: "number" } })
      expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(500)
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
