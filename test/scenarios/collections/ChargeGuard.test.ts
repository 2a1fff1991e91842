import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { ZERO } from "../../../src/domain/Money.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { authorize, demandCodes, pinIdOf, RIGHT, sourceOf, wrapped } from "../../support/OtpRequests.ts"
import { momoCharge } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, executionsOf, keyOn, requestsTo, Stack, tenantOn, verified } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const CHARGES = 64
const METADATA = { order: 7 }

const duplicate = (reference: string, status: string, more: object = {}) => ({
  status: 409,
  code: "duplicate_charge_in_flight",
  class: "ambiguous",
  details: {
    reference,
    status,
    amount_minor: 20_000,
    currency: "UGX",
    metadata: METADATA,
    created_at: expect.stringMatching(/Z$/),
    ...more
  }
})

const chargesIn = Effect.gen(function* () {
  const { simulator } = yield* Stack
  return (yield* callsOf(simulator)).filter((call) => call === "POST /v1/collections/momo").length
})

/** A charge that the record knows as successful. */
const succeeded = Effect.fnUntraced(function* (tenant: Effect.Success<ReturnType<typeof tenantOn>>, ending: string) {
  const { gateway } = yield* Stack
  const first = yield* tenant.post("/v1/collections", charge(ending))
  const paid = { _tag: "Succeeded", amount: null, currency: null, fee: ZERO, providerReference: null, note: "" } as const
  yield* Context.get(gateway.context, Settlement).apply({
    reference: Reference.make(referenceOf(first)),
    fact: paid,
    actor: "callback"
  })
  return first
})

const charge = (ending: string, change: object = {}) => momoCharge(ending, { metadata: METADATA, ...change })

/** A poll of no use but for what failed in doubt. */
const poll = {
  provider: "eversend",
  actor: "reconciler",
  leaps: [],
  begunAt: 0,
  pollCount: 0,
  version: 1,
  isDocumented: false,
  graceMs: 0,
  notFoundAtLeast: 1,
  isListed: false
} as const

// Callbacks come late here, so that a charge stays live while it is looked at, and nobody is asked but by the guard.
const settings = { RECONCILER_SCHEDULE: "1h", PROVIDER_TIMEOUT_MS: "700" }

layer(Stack.layer(settings, { delayMs: 60_000 }), { excludeTestServices: true })("the double-charge guard", (it) => {
  it.effect("refuses a second charge while the first is open, and records nothing for the new key", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const first = yield* tenant.post("/v1/collections", charge("2001"))
      const before = yield* chargesIn
      const second = yield* tenant.post("/v1/collections", charge("2001"), "again")
      expect(said(second)).toStrictEqual(duplicate(referenceOf(first), "pending"))
      const repeated = yield* tenant.post("/v1/collections", charge("2001", { amount_minor: 5 }), "again")
      expect(said(repeated)).toMatchObject({ code: "duplicate_charge_in_flight" })
      expect(yield* chargesIn).toBe(before)
    })
  )

  it.effect("asks the provider; a charge that succeeded there is settled and named, with already_succeeded", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const number = "0003"
      const first = yield* tenant.post("/v1/collections", charge(number))
      expect(said(first)).toMatchObject({ status: 503, code: "provider_timeout" })
      const second = yield* tenant.post("/v1/collections", charge(number))
      expect(said(second)).toStrictEqual(duplicate(referenceOf(first), "successful", { already_succeeded: "true" }))
      expect(yield* tenant.float).toMatchObject({ available_minor: 19_700 })
    })
  )

  it.effect(
    "refuses after a charge that is recorded as successful, without asking a provider, however many requests come at once",
    () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway, 0n)
        const first = yield* succeeded(tenant, "2007")
        const before = yield* requestsTo(simulator)
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => tenant.post("/v1/collections", charge("2007"))),
          { concurrency: "unbounded" }
        )
        for (const answer of answers)
          expect(said(answer)).toStrictEqual(duplicate(referenceOf(first), "successful", { already_succeeded: "true" }))
        expect(yield* requestsTo(simulator)).toStrictEqual(before)
      })
  )

  it.effect("refuses after a charge that was recorded as failed and was found successful since", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const first = yield* tenant.post("/v1/collections", charge("0016"))
      const second = yield* tenant.post("/v1/collections", charge("0016"))
      for (const answer of [first, second]) expect(said(answer)).toMatchObject({ code: "charge_rejected_by_provider" })
      const late = { _tag: "Succeeded", amount: null, currency: null, fee: ZERO, providerReference: null, note: "late" } as const
      yield* Context.get(gateway.context, Settlement).apply({
        reference: Reference.make(referenceOf(first)),
        fact: late,
        actor: "callback"
      })
      expect(said(yield* tenant.post("/v1/collections", charge("0016")))).toStrictEqual(
        duplicate(referenceOf(first), "successful", { already_succeeded: "true" })
      )
    })
  )

  it.effect("lets a released tenant charge again after a success, and never while a charge is open", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenants = Context.get(gateway.context, Tenants)
      const tenant = yield* tenantOn(gateway, 0n)
      const repeat = (allowed: boolean) => tenants.setRepeatSales(tenant.appId, allowed, auditEntry())
      const first = yield* succeeded(tenant, "2008")
      yield* repeat(true)
      const second = yield* tenant.post("/v1/collections", charge("2008"))
      expect(second.status).toBe(201)
      expect(said(yield* tenant.post("/v1/collections", charge("2008")))).toStrictEqual(duplicate(referenceOf(second), "pending"))
      yield* repeat(false)
      // What was open when the request came is no other sale, also where the question finds that it succeeded.
      const open = yield* tenant.post("/v1/collections", charge("0003"))
      yield* repeat(true)
      expect(said(yield* tenant.post("/v1/collections", charge("0003")))).toStrictEqual(
        duplicate(referenceOf(open), "successful", { already_succeeded: "true" })
      )
      expect((yield* tenant.post("/v1/collections", charge("0003"))).status).toBe(503)
      expect(referenceOf(first)).not.toBe(referenceOf(second))
    })
  )

  it.effect("lets a charge through after one that failed", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      expect((yield* tenant.post("/v1/collections", charge("0016"))).status).toBe(422)
      const second = yield* tenant.post("/v1/collections", charge("0016"))
      expect(said(second)).toMatchObject({ status: 422, code: "charge_rejected_by_provider" })
    })
  )

  it.effect("refuses after one that failed in words that its provider may correct, until the provider is sure of it", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const settlement = Context.get(gateway.context, Settlement)
      const tenant = yield* tenantOn(gateway, 0n)
      const first = yield* tenant.post("/v1/collections", charge("2010"))
      const reference = Reference.make(referenceOf(first))
      const failure = { code: "unknown", message: "no" } as const
      const refused = { _tag: "Refused", providerReference: null, kind: "other", failure, note: "INTERNAL" } as const
      const answered = { reference, fact: { ...refused, isUnsure: true } as const }
      for (const polledAt of [0, 60_000]) yield* settlement.applyAnswer({ ...poll, polledAt }, answered)
      expect(yield* tenant.get(`/v1/collections/${reference}`)).toMatchObject({ body: { data: { status: "failed" } } })
      const before = yield* chargesIn
      const down = (is: boolean) => Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: is }))
      const second = yield* Effect.acquireUseRelease(
        down(true),
        () => tenant.post("/v1/collections", charge("2010"), "again"),
        () => down(false)
      )
      expect(said(second)).toStrictEqual(duplicate(reference, "failed"))
      yield* settlement.apply({ reference, fact: refused, actor: "reconciler" })
      expect((yield* tenant.post("/v1/collections", charge("2010"), "again")).status).toBe(201)
      expect(yield* chargesIn).toBe(before + 1)
    })
  )

  it.effect("refuses without already_succeeded while the provider cannot be asked", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const first = yield* tenant.post("/v1/collections", charge("2002"))
      const down = (is: boolean) => Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: is }))
      const second = yield* Effect.acquireUseRelease(
        down(true),
        () => tenant.post("/v1/collections", charge("2002")),
        () => down(false)
      )
      expect(said(second)).toStrictEqual(duplicate(referenceOf(first), "pending"))
    })
  )

  it.effect("guards each tenant, mode and number separately", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const others = [yield* tenantOn(gateway, 0n), yield* keyOn(gateway, tenant.appId, "test")]
      const answers = [yield* tenant.post("/v1/collections", charge("2003"))]
      for (const other of others) answers.push(yield* other.post("/v1/collections", charge("2003")))
      answers.push(yield* tenant.post("/v1/collections", charge("2004")))
      expect(answers.map(({ status }) => status)).toStrictEqual([201, 201, 201, 201])
    })
  )

  it.effect(`lets exactly one of ${CHARGES} parallel charges of one number through, whatever their keys`, () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const before = yield* chargesIn
      const answers = yield* Effect.forEach(
        Array.from({ length: CHARGES }, (_, index) => `parallel-${index}`),
        (key) => tenant.post("/v1/collections", charge("2005"), key),
        { concurrency: "unbounded" }
      )
      const placed = answers.filter(({ status }) => status === 201)
      const refused = answers.filter((answer: Answer) => answer.status === 409)
      expect([placed.length, refused.length]).toStrictEqual([1, CHARGES - 1])
      const reference = placed.map(referenceOf).join()
      for (const answer of refused) expect(referenceOf(answer)).toBe(reference)
      expect(yield* chargesIn).toBe(before + 1)
      expect(yield* executionsOf(simulator, reference)).toHaveLength(0)
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )

  it.effect("applies where a code places the charge: create with otp, and authorize", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const paid = yield* succeeded(tenant, "2009")
      yield* demandCodes(gateway, "UG")
      const first = yield* tenant.post("/v1/collections", charge("2006"))
      const second = yield* tenant.post("/v1/collections", charge("2006"))
      expect([first.status, second.status]).toStrictEqual([201, 201])
      const say = (answer: Answer, pin = RIGHT) => authorize(tenant, referenceOf(answer), wrapped(pinIdOf(answer), pin, "2006"))
      expect(said(yield* say(first, "000000"))).toMatchObject({ code: "otp_incorrect" })
      // A wrong code has placed nothing, so that the number is free again.
      expect((yield* say(second)).status).toBe(200)
      expect(said(yield* say(first))).toStrictEqual(duplicate(referenceOf(second), "pending"))
      const sent = yield* tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("2006") })
      const otp = { pin_id: pinIdOf(sent), pin: RIGHT }
      expect(said(yield* tenant.post("/v1/collections", charge("2006", { otp })))).toStrictEqual(
        duplicate(referenceOf(second), "pending")
      )
      // The same of a charge that succeeded before the code was asked for.
      const refused = duplicate(referenceOf(paid), "successful", { already_succeeded: "true" })
      const late = yield* tenant.post("/v1/collections", charge("2009"))
      expect(said(yield* authorize(tenant, referenceOf(late), wrapped(pinIdOf(late), RIGHT, "2009")))).toStrictEqual(refused)
      const other = { pin_id: pinIdOf(late), pin: RIGHT }
      expect(said(yield* tenant.post("/v1/collections", charge("2009", { otp: other })))).toStrictEqual(refused)
    })
  )
})
