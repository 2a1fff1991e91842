import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { bankPayout, momoPayout, walletPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { asked, executionsOf, ledgerVerifies, Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"

const events = ["payout.pending", "payout.successful", "payout.failed", "payout.returned"] as const
type PayoutEvent = (typeof events)[number]

interface Story {
  readonly promise: string
  readonly body: object
  readonly answer: object
  readonly record: Readonly<Record<string, unknown>>
  readonly float: readonly [available: number, reserved: number, paidOut: number, fees: number]
  /** Movements of money that the provider made. */
  readonly moved: ReadonlyArray<"payout" | "return">
  readonly told: ReadonlyArray<PayoutEvent>
}

const reference = expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/)
const accepted = { status: 201 }
const unheard = (code: string) => ({ status: 503, code, class: "ambiguous", details: { reference } })
const refused = (code: string, details: object = {}) => ({
  status: 422,
  code,
  class: "terminal",
  details: { reference, ...details }
})
const rejected = (failure_code: string) => refused("payout_rejected_by_provider", { failure_code })

type Outcome = Pick<Story, "record" | "float" | "moved" | "told">
const paid = (fee: number): Outcome => ({
  record: {
    status: "successful",
    needs_review: false,
    fees_minor: fee,
    total_amount_minor: 10_000 + fee,
    failure: null,
    returned: null
  },
  float: [90_000 - fee, 0, 10_000, fee],
  moved: ["payout"],
  told: ["payout.pending", "payout.successful"]
})
const failed = (code: string): Outcome => ({
  record: { status: "failed", fees_minor: 0, failure: { code }, returned: null },
  float: [100_000, 0, 0, 0],
  moved: [],
  told: ["payout.pending", "payout.failed"]
})
/** Nothing proves anything: the float stays reserved until somebody knows. */
const held: Outcome = {
  record: { status: "pending", completed_at: null, failure: null, fees_minor: 1_000 },
  float: [89_000, 11_000, 0, 0],
  moved: [],
  told: ["payout.pending"]
}
const cameBack: Outcome = {
  record: { status: "successful", fees_minor: 1_000, returned: { amount_minor: 10_000, reason: expect.any(String) } },
  float: [99_000, 0, 10_000, 1_000],
  moved: ["payout", "return"],
  told: ["payout.pending", "payout.successful", "payout.returned"]
}

const momo = (ending: string, promise: string, answer: object, outcome: Outcome): Story => ({
  promise: `momo ${ending}: ${promise}`,
  body: momoPayout(ending),
  answer,
  ...outcome
})

const stories: ReadonlyArray<Story> = [
  momo("1234", "pays, debits amount and fee once", accepted, paid(1_000)),
  momo("0001", "refused in the answer returns the float at once", rejected("provider_rejected"), failed("provider_rejected")),
  momo("0002", "accepted and then failed returns the float", accepted, failed("provider_rejected")),
  momo("0003", "executed without an answer is found and debited once", unheard("provider_timeout"), paid(1_000)),
  momo("0004", "neither executed nor answered keeps the float reserved", unheard("provider_timeout"), held),
  momo("0005", "executed and answered HTTP 500 is found and debited once", unheard("provider_unavailable"), paid(1_000)),
  momo("0006", "executed and answered with HTML is found and debited once", unheard("provider_bad_response"), paid(1_000)),
  momo("0007", "a reset connection keeps the float reserved", unheard("provider_unavailable"), held),
  momo("0008", "is settled by asking where no callback ever comes", accepted, paid(1_000)),
  momo("0009", "is debited once although three callbacks say so", accepted, paid(1_000)),
  momo("0010", "stays pending while the provider says so", accepted, held),
  momo("0011", "a late pending does not undo a success", accepted, paid(1_000)),
  momo("0012", "believes neither a forged nor a contradicted callback", accepted, held),
  momo(
    "0013",
    "an empty pool at the provider returns the float",
    refused("insufficient_wallet_float"),
    failed("provider_rejected")
  ),
  momo("0014", "a fee larger than quoted is not the tenant's to pay", accepted, paid(1_000)),
  momo("0015", "a returned payout gives the principal back, not the fee", accepted, cameBack),
  momo("0016", "an unknown account returns the float", rejected("invalid_destination"), failed("invalid_destination")),
  momo("0017", "a temporary failure keeps the float reserved", unheard("provider_unavailable"), held),
  { promise: "bank 1234: the payout succeeds", body: bankPayout("1234"), answer: accepted, ...paid(5_400) },
  { promise: "bank 0002: the payout fails later", body: bankPayout("0002"), answer: accepted, ...failed("provider_rejected") },
  {
    promise: "bank 0003: the payout is found without an answer",
    body: bankPayout("0003"),
    answer: unheard("provider_timeout"),
    ...paid(5_400)
  },
  { promise: "wallet 1234: the payout succeeds", body: walletPayout("1234"), answer: accepted, ...paid(500) },
  {
    promise: "wallet 0001: the payout is refused",
    body: walletPayout("0001"),
    answer: rejected("provider_rejected"),
    ...failed("provider_rejected")
  },
  {
    promise: "wallet 0005: the payout is found without an answer",
    body: walletPayout("0005"),
    answer: unheard("provider_unavailable"),
    ...paid(500)
  }
]

/** An open payout has been asked for so often before its story ends. */
const ASKED = 3

// The provider settles later than a call may take: what the answer alone tells is seen in the answer.
const slow = Stack.layer({ PROVIDER_TIMEOUT_MS: "800", RECONCILER_SCHEDULE: "3500ms,4s,4500ms,5s" }, { delayMs: 3_000 })

layer(slow, { excludeTestServices: true, concurrent: true })("every ending of a payout", (it) => {
  for (const story of stories) it.effect(story.promise, () => tell(story))

  it.effect("wallet 0016: a wallet with an unknown owner is refused before anything is reserved", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const issues = [{ path: "destination", message: expect.any(String) }]
      expect(said(yield* tenant.post("/v1/payouts", walletPayout("0016")))).toStrictEqual({
        status: 422,
        code: "validation_failed",
        class: "terminal",
        details: { issues }
      })
      expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0 })
    })
  )

  for (const [ending, refusal] of [
    ["0016", { status: 422, code: "bank_account_unresolvable", class: "terminal", details: {} }],
    ["0017", { status: 503, code: "provider_error", class: "retriable", details: {} }]
  ] as const)
    it.effect(`bank ${ending}: ${refusal.code}, because the account is resolved before anything is reserved`, () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        expect(said(yield* tenant.post("/v1/payouts", bankPayout(ending)))).toStrictEqual(refusal)
        expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0 })
      })
    )

  it.effect("a fee beyond the provider's quote is borne by the gateway", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0014")))
      yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
      const sql = Context.get(gateway.context, SqlClient.SqlClient)
      const excess = yield* sql`SELECT account, amount_minor FROM postings
        WHERE reference = ${reference} AND account IN ('drift', 'pool') ORDER BY account`
      expect(excess).toStrictEqual([
        { account: "drift", amount_minor: 200n },
        { account: "pool", amount_minor: -200n }
      ])
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies, { concurrent: false })
})

const tell = Effect.fnUntraced(function* (story: Story) {
  const { gateway, simulator } = yield* Stack
  const tenant = yield* tenantOn(gateway)
  const webhooks = yield* webhooksOf(gateway, tenant, events)

  const answer = yield* tenant.post("/v1/payouts", story.body)
  expect(said(answer)).toStrictEqual(story.answer)
  const reference = referenceOf(answer)
  const known = yield* tenant.get(`/v1/payouts/${reference}`)
  const { status, returned } = story.record
  if (status === "pending") yield* asked(simulator, reference, ASKED)
  else
    yield* tenant.until(
      `/v1/payouts/${reference}`,
      (now) => now["status"] === status && (returned === null || now["returned"] !== null)
    )

  const { body } = yield* tenant.get(`/v1/payouts/${reference}`)
  expect(body.data).toMatchObject(story.record)
  expect(known.body.data).toMatchObject({ reference, kind: "payout", amount_minor: 10_000 })
  const [available_minor, reserved_minor, paid_out_minor, provider_fees_minor] = story.float
  const position = { currency: "UGX", available_minor, reserved_minor, paid_out_minor, provider_fees_minor, collected_minor: 0 }
  const others = { credited_minor: 100_000, debited_minor: 0, fx_in_minor: 0, fx_out_minor: 0, owed_minor: 0 }
  // What is credited came in, what went out or is held is the rest: the equation of FLOAT-5.
  const returned_minor = available_minor + reserved_minor + paid_out_minor + provider_fees_minor - others.credited_minor
  expect(yield* tenant.float).toStrictEqual({ ...position, ...others, returned_minor })
  expect((yield* executionsOf(simulator, reference)).map(({ direction }) => direction)).toStrictEqual(story.moved)
  expect(yield* webhooks.types(story.told.length)).toStrictEqual(story.told)
})
