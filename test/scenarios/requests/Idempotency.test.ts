import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { debit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { referenceOfKey } from "../../../src/domain/ReferenceBucket.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { referenceHash, Vault } from "../../../src/services/ports/Vault.ts"
import { Review } from "../../../src/services/settlement/Review.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { asOwner, callsOf, creditOn, executionsOf, keyOn, ledgerVerifies, Stack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const PAYOUTS = "/v1/payouts"
const replayed = ({ headers }: Answer) => headers.get("idempotency-replayed")
const inProgress = (reference: string) => ({
  status: 409,
  code: "request_in_progress",
  class: "retriable",
  details: { reference }
})
const indeterminate = (reference: string) => ({
  status: 409,
  code: "indeterminate_outcome",
  class: "ambiguous",
  details: { reference }
})
const delivered: Fact = {
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(10_000n),
  currency: "UGX",
  fee: null,
  note: "status successful"
}
const reused = { status: 422, code: "idempotency_key_reused", class: "terminal", details: {} }

const stack = Stack.layer(
  { IDEMPOTENCY_LEASE: "10m", PROVIDER_TIMEOUT_MS: "800", COLLECTION_EXPIRY: "2s", RECONCILER_SCHEDULE: "1500ms,2s,2500ms" },
  { delayMs: 1_200 }
)

/** The lease of a payout's key has just ended. */
const leaseEnds = Effect.fnUntraced(function* (reference: string) {
  const owner = yield* asOwner((yield* Stack).database)
  yield* Effect.orDie(owner`UPDATE idempotency_keys SET lease_until = now() - interval '1 second' WHERE reference = ${reference}`)
})

layer(stack, { excludeTestServices: true })("one key, one payout", (it) => {
  it.effect("thirty identical requests at once make one payout", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const once = tenant.post(PAYOUTS, momoPayout("1234"), "once")
      const answers = yield* Effect.replicateEffect(once, 30, { concurrency: "unbounded" })
      const first = answers.find((answer) => answer.status === 201 && replayed(answer) === null)
      expect(answers.filter((answer) => answer.status === 201 && replayed(answer) === null)).toHaveLength(1)
      for (const answer of answers) {
        if (answer.status === 201) expect(answer.text).toBe(first?.text)
        else expect(said(answer)).toMatchObject({ status: 409, code: "request_in_progress", class: "retriable" })
      }
      const reference = first === undefined ? "" : referenceOf(first)
      yield* tenant.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
      expect((yield* callsOf(simulator, reference)).filter((call) => call === "POST /v1/payouts")).toHaveLength(1)
      expect(yield* executionsOf(simulator, reference)).toHaveLength(1)
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_000, reserved_minor: 0, paid_out_minor: 10_000 })
    })
  )

  it.effect("a repeated request gets the first response's bytes, also when the payout has changed since", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const first = yield* tenant.post(PAYOUTS, momoPayout("1234"), "again")
      const reference = referenceOf(first)
      const now = yield* tenant.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
      const again = yield* tenant.post(PAYOUTS, momoPayout("1234"), "again")
      expect([again.status, again.text, replayed(again)]).toStrictEqual([201, first.text, "true"])
      expect([replayed(first), first.body.data.status, now["status"]]).toStrictEqual([null, "pending", "successful"])
      expect((yield* callsOf(simulator, reference)).filter((call) => call === "POST /v1/payouts")).toHaveLength(1)
    })
  )

  const spellings: ReadonlyArray<readonly [promise: string, body: object | string]> = [
    [
      "a default that is written out",
      momoPayout("1234", { deduct_fee_from_amount: false, destination_currency: "UGX", metadata: {} })
    ],
    ["the key's own mode", momoPayout("1234", { mode: "live", is_test_mode: false })],
    ["another order of the members", Object.fromEntries(Object.entries(momoPayout("1234")).toReversed())],
    ["white space", JSON.stringify(momoPayout("1234"), null, 4)],
    ["a member that the contract does not name", momoPayout("1234", { colour: "green" })]
  ]
  const others: ReadonlyArray<readonly [what: string, body: object]> = [
    ["amount", momoPayout("1234", { amount_minor: 10_001 })],
    ["recipient", momoPayout("1235")],
    ["narration", momoPayout("1234", { narration: "rent" })],
    ["metadata", momoPayout("1234", { metadata: { order: 1 } })],
    ["deduction", momoPayout("1234", { deduct_fee_from_amount: true })]
  ]

  it.effect("the same JSON written otherwise is the same request, and a different request with the key is refused", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const first = yield* tenant.post(PAYOUTS, momoPayout("1234"), "spelt")
      for (const [promise, body] of spellings) {
        const again = yield* tenant.post(PAYOUTS, body, "spelt")
        expect([promise, again.status, again.text, replayed(again)]).toStrictEqual([promise, 201, first.text, "true"])
      }
      for (const [what, body] of others) {
        expect([what, said(yield* tenant.post(PAYOUTS, body, "spelt"))]).toStrictEqual([what, reused])
      }
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_000, reserved_minor: 11_000 })
    })
  )

  it.effect("the same key at another endpoint, in another mode or of another tenant is a different key", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const inTest = yield* keyOn(gateway, tenant.appId, "test")
      const stranger = yield* tenantOn(gateway)
      yield* creditOn(gateway, inTest, 100_000n)
      const answers = [
        yield* tenant.post(PAYOUTS, momoPayout("1234"), "shared"),
        yield* inTest.post(PAYOUTS, momoPayout("1234"), "shared"),
        yield* stranger.post(PAYOUTS, momoPayout("1234"), "shared"),
        yield* tenant.post("/v1/collections", momoCharge("1234"), "shared")
      ]
      expect(answers.map((answer) => [answer.status, replayed(answer)])).toStrictEqual(answers.map(() => [201, null]))
      expect(new Set(answers.map(referenceOf)).size).toBe(answers.length)
    })
  )

  it.effect("a terminal refusal is stored and repeated, even when the request would succeed by then", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 5_000n)
      const noCorridor = momoPayout("1234", { country: "NG", currency: "NGN" })
      const refusals = [
        ["no-corridor", noCorridor, "corridor_unsupported"],
        ["no-float", momoPayout("1234"), "insufficient_tenant_float"],
        ["too-little", momoPayout("1234", { amount_minor: 499 }), "amount_below_minimum"]
      ] as const
      const first = yield* Effect.forEach(refusals, ([key, body]) => tenant.post(PAYOUTS, body, key))
      expect(first.map(said)).toMatchObject(refusals.map(([, , code]) => ({ status: 422, code, class: "terminal" })))
      yield* creditOn(gateway, tenant, 100_000n)
      const again = yield* Effect.forEach(refusals, ([key, body]) => tenant.post(PAYOUTS, body, key))
      expect(again.map((answer) => [answer.text, replayed(answer)])).toStrictEqual(first.map(({ text }) => [text, "true"]))
    })
  )

  it.effect("a request that is refused before its key is claimed leaves the key free", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const refusals = [
        yield* tenant.post(PAYOUTS, "{", "free"),
        yield* tenant.post(PAYOUTS, momoPayout("1234", { mode: "test" }), "free"),
        yield* tenant.post(PAYOUTS, momoPayout("1234", { amount_minor: 0 }), "free"),
        yield* tenant.post(PAYOUTS, momoPayout("1234", { destination_currency: "KES" }), "free"),
        yield* tenant.call("POST", PAYOUTS, momoPayout("1234"))
      ]
      expect(refusals.map(said)).toMatchObject([
        { status: 400, code: "validation_failed" },
        { status: 400, code: "mode_mismatch" },
        { status: 422, code: "validation_failed" },
        { status: 400, code: "amount_type_required" },
        { status: 400, code: "idempotency_key_required" }
      ])
      const answer = yield* tenant.post(PAYOUTS, momoPayout("1234"), "free")
      expect([answer.status, replayed(answer)]).toStrictEqual([201, null])
    })
  )

  it.effect("a retriable refusal stores nothing, and the same key may succeed later", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const wish = { provider: "eversend", operation: "quotation", ending: "0017" }
      yield* Effect.promise(() => simulator.control("POST", "/next", wish))
      const first = yield* tenant.post(PAYOUTS, momoPayout("1234"), "later")
      expect(said(first)).toStrictEqual({ status: 503, code: "provider_error", class: "retriable", details: {} })
      expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0 })
      const again = yield* tenant.post(PAYOUTS, momoPayout("1234"), "later")
      expect([again.status, replayed(again)]).toStrictEqual([201, null])
    })
  )
})

layer(stack, { excludeTestServices: true, concurrent: true })("a key whose outcome is open", (it) => {
  it.effect("is in progress during its lease, then indeterminate while the outcome is unknown", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const ask = tenant.post(PAYOUTS, momoPayout("0004"), "open")
      const first = yield* ask
      const reference = referenceOf(first)
      expect(said(first)).toStrictEqual({ status: 503, code: "provider_timeout", class: "ambiguous", details: { reference } })
      expect(said(yield* ask)).toStrictEqual(inProgress(reference))
      yield* leaseEnds(reference)
      expect(said(yield* ask)).toStrictEqual(indeterminate(reference))
      expect(said(yield* tenant.post(PAYOUTS, momoPayout("1234"), "open"))).toStrictEqual(reused)
      expect((yield* callsOf(simulator, reference)).filter((call) => call === "POST /v1/payouts")).toHaveLength(1)
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_000, reserved_minor: 11_000 })
    })
  )

  it.effect("answers with the payout once it is settled", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const ask = tenant.post(PAYOUTS, momoPayout("0003"), "settled")
      const reference = referenceOf(yield* ask)
      yield* tenant.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
      const again = yield* ask
      expect([again.status, again.body.data]).toMatchObject([201, { reference, status: "successful", fees_minor: 1_000 }])
      const read = yield* tenant.get(`${PAYOUTS}/${reference}`)
      expect(again.body.data).toStrictEqual(read.body.data)
      expect((yield* ask).text).toBe(again.text)
    })
  )

  it.effect("answers with the terminal refusal once it has failed", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const ask = tenant.post("/v1/collections", momoCharge("0004"), "failed")
      const reference = referenceOf(yield* ask)
      yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status === "expired")
      const code = "charge_rejected_by_provider"
      const details = { reference, failure_code: "timed_out" }
      expect(said(yield* ask)).toStrictEqual({ status: 422, code, class: "terminal", details })
    })
  )

  it.effect("is indeterminate again where its provider contradicts the failure, until a person decides", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const ask = tenant.post(PAYOUTS, momoPayout("0004"), "contested")
      const reference = Reference.make(referenceOf(yield* ask))
      const tell = (fact: Fact) => Context.get(gateway.context, Settlement).apply({ reference, fact, actor: "reconciler" })
      yield* tell({ _tag: "NotSent", note: "asked so often, the provider does not know it" })
      expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0 })
      yield* tell(delivered)
      const read = yield* tenant.get(`${PAYOUTS}/${reference}`)
      expect(read.body.data).toMatchObject({ status: "failed", needs_review: true })
      expect(said(yield* ask)).toStrictEqual(inProgress(reference))
      yield* leaseEnds(reference)
      expect(said(yield* ask)).toStrictEqual(indeterminate(reference))
      const ruling = { outcome: "successful", amount: null, fee: null, evidence: "their statement" } as const
      yield* Effect.flatMap(Review, ({ resolve }) => resolve(reference, ruling, auditEntry())).pipe(
        Effect.provide(Review.layer),
        Effect.provide(gateway.context)
      )
      expect((yield* ask).body.data).toMatchObject({ reference, status: "successful" })
    })
  )

  it.effect("does not pay again what a restore forgot and operators booked by its reference", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const { appId, mode, ...tenant } = yield* tenantOn(gateway)
      // A restored database that forgot a payout is one that never had it.
      const scope = { appId, mode, endpoint: "POST /v1/payouts", key: "booked" }
      const reference = referenceOfKey(referenceHash(Context.get(gateway.context, Vault)), scope, 0)
      const booking = { appId, mode, currency: "UGX", direction: "debit", amount: minor(11_000n), note: "forgotten" } as const
      const entry = debit("UGX", minor(11_000n))
      const ledger = Context.get(gateway.context, FloatLedger)
      yield* ledger.adjust({ ...booking, externalId: reference, at: Date.now(), entry, audit: auditEntry() })
      const ask = tenant.post(PAYOUTS, momoPayout("1234"), "booked")
      for (const _ of [1, 2]) expect(said(yield* ask)).toStrictEqual(indeterminate(reference))
      expect(yield* callsOf(simulator, reference)).toStrictEqual([])
      const other = referenceOfKey(referenceHash(Context.get(gateway.context, Vault)), { ...scope, key: "other" }, 0)
      expect(referenceOf(yield* tenant.post(PAYOUTS, momoPayout("1234"), "other"))).toBe(other)
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies, { concurrent: false })
})
