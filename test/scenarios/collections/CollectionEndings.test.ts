import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { momoCharge } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { asked, callsOf, executionsOf, ledgerVerifies, Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"

const events = [
  "collection.requires_action",
  "collection.pending",
  "collection.successful",
  "collection.failed",
  "collection.expired"
] as const

interface Outcome {
  readonly record: Readonly<Record<string, unknown>>
  readonly credited: readonly [available: number, fees: number] | "nothing"
  /** Movements of money that the provider made. */
  readonly moved: ReadonlyArray<"collection" | "return">
  readonly told: ReadonlyArray<(typeof events)[number]>
}

interface Story extends Outcome {
  readonly ending: string
  readonly promise: string
  readonly answer: object
}

const reference = expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/)
const accepted = { status: 201 }
const unheard = (code: string) => ({ status: 503, code, class: "ambiguous", details: { reference } })
const rejected = (failure_code: string) => ({
  status: 422,
  code: "charge_rejected_by_provider",
  class: "terminal",
  details: { reference, failure_code }
})

const observed = { observed_amount_minor: 20_000, observed_currency: "UGX" }
const paid: Outcome = {
  record: { status: "successful", needs_review: false, fees_minor: 300, failure: null, late_success: false, ...observed },
  credited: [19_700, 300],
  moved: ["collection"],
  told: ["collection.pending", "collection.successful"]
}
const paidLate: Outcome = {
  ...paid,
  record: { ...paid.record, late_success: true },
  told: ["collection.pending", "collection.failed", "collection.successful"]
}
const failed = (code: string): Outcome => ({
  record: { status: "failed", needs_review: false, failure: { code } },
  credited: "nothing",
  moved: [],
  told: ["collection.pending", "collection.failed"]
})
/** The window passed, and the provider says neither success nor live. */
const expired: Outcome = {
  record: { status: "expired", needs_review: false, failure: { code: "timed_out" } },
  credited: "nothing",
  moved: [],
  told: ["collection.pending", "collection.expired"]
}
const open: Outcome = {
  record: { status: "pending", needs_review: false, completed_at: null, failure: null },
  credited: "nothing",
  moved: [],
  told: ["collection.pending"]
}
/** Money moved, and not the money that was asked for: a person looks. */
const otherAmount: Outcome = {
  ...open,
  record: { status: "pending", needs_review: true, completed_at: null },
  moved: ["collection"]
}
/** The float is debited by a person's correction only. */
const reversed: Outcome = { ...paid, record: { status: "successful", needs_review: true }, moved: ["collection", "return"] }

const story = (ending: string, promise: string, answer: object, outcome: Outcome): Story => ({
  ending,
  promise,
  answer,
  ...outcome
})

const stories: ReadonlyArray<Story> = [
  story("1234", "credits the amount without the fee, once", accepted, paid),
  story("0001", "refused in the answer credits nothing", rejected("provider_rejected"), failed("provider_rejected")),
  story("0002", "declined by the payer credits nothing", accepted, failed("declined_by_payer")),
  story("0003", "executed without an answer is found and credited once", unheard("provider_timeout"), paid),
  story("0004", "neither executed nor answered expires with its window", unheard("provider_timeout"), expired),
  story("0005", "executed and answered HTTP 500 is found and credited once", unheard("provider_unavailable"), paid),
  story("0006", "executed and answered with HTML is found and credited once", unheard("provider_bad_response"), paid),
  story("0007", "a reset connection expires with its window", unheard("provider_unavailable"), expired),
  story("0008", "is settled by asking where no callback ever comes", accepted, paid),
  story("0009", "is credited once although three callbacks say so", accepted, paid),
  story("0010", "stays pending beyond its window while the provider calls it live", accepted, open),
  story("0011", "a late pending does not undo a success", accepted, paid),
  story("0012", "believes neither a forged nor a contradicted callback", accepted, open),
  story("0013", "does not care for the provider's pool", accepted, paid),
  story("0014", "another amount than asked for credits nothing and goes to review", accepted, otherAmount),
  story("0015", "a reversal goes to review and debits nothing by itself", accepted, reversed),
  story("0016", "an unknown payer credits nothing", rejected("payer_not_found"), failed("payer_not_found")),
  story("0017", "a temporary failure expires with its window", unheard("provider_unavailable"), expired),
  story("0018", "paid after it had failed is credited once, and marked as late", accepted, paidLate)
]

/** A charge that stays open has been asked for so often before its story ends: also after its window has passed. */
const ASKED = 5

// The provider settles long after a call is given up: what the answer alone tells is seen in the answer.
const slow = Stack.layer(
  { PROVIDER_TIMEOUT_MS: "800", COLLECTION_EXPIRY: "5s", RECONCILER_SCHEDULE: "3500ms,4s,5500ms,6s,7s" },
  { delayMs: 3_000 }
)

layer(slow, { excludeTestServices: true, concurrent: true })("every ending of a collection", (it) => {
  for (const story of stories) it.effect(`${story.ending}: ${story.promise}`, () => tell(story))

  it.effect("GHS: credits the float after the payer finished on the provider's page", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const webhooks = yield* webhooksOf(gateway, tenant, events)
      const charge = yield* tenant.post("/v1/collections", ghana("1234"))
      expect([charge.status, charge.body.data]).toMatchObject([
        201,
        { status: "requires_action", currency: "GHS", fees_minor: null }
      ])
      expect(charge.body.data.next_action).toStrictEqual({
        type: "redirect",
        redirect_url: expect.stringMatching(/^http:/),
        message: expect.any(String),
        expires_at: charge.body.data.expires_at
      })
      expect(yield* tenant.get("/v1/float")).toMatchObject({ body: { data: [] } })

      const reference = referenceOf(charge)
      yield* Effect.promise(() => fetch(charge.body.data["next_action"]?.["redirect_url"] ?? ""))
      yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status === "successful")
      const { body } = yield* tenant.get(`/v1/collections/${reference}`)
      expect(body.data).toMatchObject({
        next_action: null,
        fees_minor: 75,
        observed_amount_minor: 5_000,
        observed_currency: "GHS"
      })
      expect(yield* tenant.float).toMatchObject({ currency: "GHS", available_minor: 4_925, collected_minor: 5_000 })
      expect(yield* executionsOf(simulator, reference)).toMatchObject([
        { direction: "collection", amount_minor: 5_000, currency: "GHS" }
      ])
      expect(yield* webhooks.types(2)).toStrictEqual(["collection.requires_action", "collection.successful"])
    })
  )

  it.effect("GHS: credits nothing before the payer was on the provider's page", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const reference = referenceOf(yield* tenant.post("/v1/collections", ghana("4321")))
      yield* asked(simulator, reference, ASKED)
      expect(yield* tenant.get(`/v1/collections/${reference}`)).toMatchObject({ body: { data: { status: "requires_action" } } })
      expect(yield* executionsOf(simulator, reference)).toStrictEqual([])
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies, { concurrent: false })
})

/** GHS 50.00 from mobile money, finished on a page: the fee is 0.75. */
const ghana = (ending: string) =>
  momoCharge(ending, {
    amount_minor: 5_000,
    currency: "GHS",
    country: "GH",
    source: { type: "momo", msisdn: `23324412${ending}`, network: "MTN" },
    redirect_url: "https://shop.example/back"
  })

const tell = Effect.fnUntraced(function* (story: Story) {
  const { gateway, simulator } = yield* Stack
  const tenant = yield* tenantOn(gateway, 0n)
  const webhooks = yield* webhooksOf(gateway, tenant, events)

  const answer = yield* tenant.post("/v1/collections", momoCharge(story.ending))
  expect(said(answer)).toStrictEqual(story.answer)
  const reference = referenceOf(answer)
  const address = `/v1/collections/${reference}`
  const { needs_review, status } = story.record
  if (status === "pending" && !needs_review) yield* asked(simulator, reference, ASKED)
  else yield* tenant.until(address, (now) => now["status"] === status && now["needs_review"] === needs_review)

  const { body } = yield* tenant.get(address)
  expect(body.data).toMatchObject({ reference, kind: "collection", amount_minor: 20_000, ...story.record })
  const positions = yield* tenant.get("/v1/float")
  expect(positions.body.data).toStrictEqual(story.credited === "nothing" ? [] : [position(...story.credited)])
  expect((yield* executionsOf(simulator, reference)).map(({ direction }) => direction)).toStrictEqual(story.moved)
  const charges = (yield* callsOf(simulator, reference)).filter((call) => call === "POST /v1/collections/momo")
  expect(charges).toHaveLength(1)
  expect(yield* webhooks.types(story.told.length)).toStrictEqual(story.told)
})

const position = (available_minor: number, provider_fees_minor: number) => ({
  currency: "UGX",
  available_minor,
  reserved_minor: 0,
  collected_minor: available_minor + provider_fees_minor,
  paid_out_minor: 0,
  provider_fees_minor,
  credited_minor: 0,
  debited_minor: 0,
  fx_in_minor: 0,
  fx_out_minor: 0,
  returned_minor: 0,
  owed_minor: 0
})
