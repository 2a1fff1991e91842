import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../../src/domain/Event.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { consoleServices } from "../../../src/Services.ts"
import { Approvals } from "../../../src/services/approvals/Approvals.ts"
import { ReviewApprovals } from "../../../src/services/approvals/ReviewApprovals.ts"
import { Proposals } from "../../../src/services/ports/Proposals.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway } from "../../commands/Gateway.ts"
import { approvers, asha, biko } from "../../console/Desks.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { changeCorridor, creditOn, everyOther, ledgerVerifies, Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

// The contract's fees as this gateway has them; pawaPay takes 1,000 and 3,000 of a payout, and 1.5 % of a collection.
const contract = {
  PAWAPAY_LIVE_API_TOKEN: "simulated-live-token",
  PAWAPAY_PAYOUT_FEES: "UGX:momo:1500,KES:momo:2000",
  PAWAPAY_COLLECTION_FEE: "1%",
  CONSOLE_APPROVAL_FROM: "UGX:15000,KES:100000000"
}
const settings = ({ baseUrls }: Stack["Service"]["simulator"]) => ({
  ...contract,
  // A busy machine settles later than it asks at first.
  RECONCILER_SCHEDULE: "300ms,600ms,1s,2s,4s,8s,16s,30s,1h",
  PAWAPAY_BASE_URL: baseUrls["pawapay"] ?? ""
})

const kenyan = (ending: string) =>
  momoPayout(ending, {
    currency: "KES",
    country: "KE",
    destination: { type: "momo", msisdn: `25471212${ending}`, network: "MPESA", country: "KE" }
  })

/** A tenant whose payments go to pawaPay, and the command that books the fees of its statement of today. */
const given = Effect.gen(function* () {
  const { database, gateway: own, simulator } = yield* Stack
  for (const [country, direction] of [
    ["UG", "payout"],
    ["UG", "collection"],
    ["KE", "payout"]
  ] as const)
    yield* changeCorridor(own, { country, method: "momo", direction }, { active: true, providers: ["pawapay"] })
  const tenant = yield* tenantOn(own, 100_000n)
  yield* creditOn(own, tenant, 100_000n, "KES")
  const hook = yield* webhooksOf(own, tenant, EventType.literals)
  const variables = {
    ...settings(simulator),
    DATABASE_URL: Redacted.value(database),
    MASTER_KEY: Redacted.value(masterKey),
    ALLOW_SIMULATOR: "true"
  }
  const reconcile = (...options: ReadonlyArray<string>) =>
    Effect.map(gateway(variables, "reconcile", "pawapay", ...options, "--json"), ({ code, errors, output }) => ({
      code,
      errors,
      answer: JSON.parse(output || "{}")
    }))
  const successful = Effect.fnUntraced(function* (path: string, body: object) {
    const reference = referenceOf(yield* tenant.post(path, body))
    yield* tenant.until(`${path}/${reference}`, ({ status }) => status === "successful")
    return reference
  })
  const floats = Effect.map(tenant.get("/v1/float"), ({ text }) => {
    const positions: ReadonlyArray<Record<string, number>> = JSON.parse(text).data
    return Object.fromEntries(
      positions.map(({ available_minor, currency, provider_fees_minor }) => [currency, [available_minor, provider_fees_minor]])
    )
  })
  return { own, tenant, hook, reconcile, successful, floats }
})

layer(Stack.layer(settings, { beside: everyOther }), { excludeTestServices: true })("the fee that a statement names", (it) => {
  it.effect(
    "is booked once, up to the fee that was held of a payout and as it is of a collection, and what takes two people waits",
    () =>
      Effect.gen(function* () {
        const { floats, hook, own, reconcile, successful, tenant } = yield* given
        const cheaper = yield* successful("/v1/payouts", momoPayout("1234"))
        const dearer = yield* successful("/v1/payouts", kenyan("1234"))
        const charge = yield* successful("/v1/collections", momoCharge("1234"))
        const before = { UGX: [100_000 - 11_500 + 19_800, 1_700], KES: [100_000 - 12_000, 2_000] }
        expect(yield* floats).toEqual(before)

        const differing = yield* reconcile()
        expect(
          differing.answer.differences.map(({ kind, ours, theirs }: Record<string, string>) => [kind, ours, theirs])
        ).toEqual(
          expect.arrayContaining([
            ["fee", "1500", "1000"],
            ["fee", "2000", "3000"],
            ["fee", "200", "300"]
          ])
        )
        const dry = yield* reconcile("--book-fees")
        const listed = (fees: ReadonlyArray<Record<string, unknown>>) =>
          Object.fromEntries(
            fees.map((fee) => [
              fee["reference"],
              [
                fee["booked_fee_minor"],
                fee["real_fee_minor"],
                fee["float_effect_minor"],
                fee["drift_minor"],
                fee["takes_two_people"]
              ]
            ])
          )
        expect([dry.code, dry.answer.dry_run, dry.answer.left]).toEqual([0, true, []])
        expect(listed(dry.answer.fees)).toEqual({
          [cheaper]: [1_500, 1_000, 500, 0, false],
          [dearer]: [2_000, 3_000, 0, 1_000, false],
          [charge]: [200, 300, -100, 0, true]
        })
        expect([yield* floats, (yield* reconcile()).code]).toEqual([before, 1])

        const applied = yield* reconcile("--book-fees", "--apply")
        expect([applied.code, applied.errors]).toEqual([1, "1 fees of pawapay were not booked"])
        expect(Object.keys(listed(applied.answer.fees)).sort()).toEqual([cheaper, dearer].sort())
        expect(applied.answer.left).toEqual([{ reference: charge, why: expect.stringContaining("it takes two people") }])
        expect((yield* tenant.get(`/v1/collections/${charge}`)).body.data).toMatchObject({ needs_review: true, fees_minor: 200 })
        expect((yield* tenant.get(`/v1/payouts/${cheaper}`)).body.data).toMatchObject({
          needs_review: false,
          fees_minor: 1_000,
          total_amount_minor: 11_000
        })
        const paid = { UGX: [100_000 - 11_000 + 19_800, 1_200], KES: before.KES }
        expect(yield* floats).toEqual(paid)
        expect(yield* reconcile("--book-fees", "--apply")).toMatchObject({ code: 1, answer: { fees: [] } })
        expect(yield* floats).toEqual(paid)

        const alone = yield* reconcile("--book-fees", "--apply", "--no-second-person")
        expect([alone.code, Object.keys(listed(alone.answer.fees))]).toEqual([0, [charge]])
        expect(yield* floats).toEqual({ ...paid, UGX: [100_000 - 11_000 + 19_700, 1_300] })
        expect(yield* reconcile("--book-fees", "--apply")).toMatchObject({ code: 0, answer: { fees: [], left: [] } })
        const settled = yield* reconcile()
        expect([settled.code, settled.answer.known]).toMatchObject([0, [{ reference: dearer, because: "drift_booked" }]])

        const events = (yield* hook.count(12)).map(({ body }) => JSON.parse(body))
        expect(events.filter(({ type }) => type.endsWith(".corrected")).map(({ data, type }) => [type, data.reference])).toEqual([
          ["payout.corrected", cheaper],
          ["collection.corrected", charge]
        ])
        const sql = Context.get(own.context, SqlClient.SqlClient)
        const audits = yield* sql<{ details: string }>`SELECT details FROM audit_log WHERE subject = ${charge}`
        expect(audits.map(({ details }) => JSON.parse(details))).toMatchObject([
          {
            fee_minor: "300",
            second_person: "there is none",
            evidence: expect.stringMatching(/^statement of pawapay of 20.*, row .*: fee 300 UGX$/)
          }
        ])
      })
  )

  it.effect(
    "is booked by the next run where one ended between the review and its ruling, and is no news to a review of something else",
    () =>
      Effect.gen(function* () {
        const { floats, own, reconcile, successful } = yield* given
        const reference = yield* successful("/v1/payouts", momoPayout("1234"))
        const [row] = (yield* reconcile("--book-fees")).answer.fees
        const { apply } = Context.get(own.context, Settlement)
        const about = { reference: Reference.make(reference), actor: "operator" } as const
        yield* apply({ ...about, fact: { _tag: "FeeStated", fee: minor(1_000n), note: row.evidence } })
        expect(yield* floats).toMatchObject({ UGX: [88_500, 1_500] })
        expect(yield* reconcile("--book-fees", "--apply")).toMatchObject({ code: 0, answer: { fees: [{ reference }], left: [] } })
        expect(yield* floats).toMatchObject({ UGX: [89_000, 1_000] })

        const doubted = yield* successful("/v1/payouts", momoPayout("1234"))
        yield* apply({
          reference: Reference.make(doubted),
          actor: "callback",
          fact: {
            _tag: "Refused",
            providerReference: null,
            kind: "party",
            failure: { code: "provider_rejected", message: "no" },
            note: "FAILED"
          }
        })
        expect(yield* reconcile("--book-fees", "--apply")).toMatchObject({
          code: 1,
          answer: { fees: [], left: [{ reference: doubted, why: "it is in review for another reason: a person rules on it" }] }
        })
      })
  )

  it.effect("of a large payment is booked by two people of the console, and by nobody again", () =>
    Effect.gen(function* () {
      const { floats, own, reconcile, successful, tenant } = yield* given
      const charge = yield* successful("/v1/collections", momoCharge("1234"))
      const waiting = yield* reconcile("--book-fees", "--apply")
      const [left] = waiting.answer.left.filter(({ reference }: { reference: string }) => reference === charge)
      expect(left).toMatchObject({ why: expect.stringContaining("it takes two people") })
      const stored = Option.getOrThrow(yield* Context.get(own.context, Transactions).byReference(Reference.make(charge)))
      const resolution = { outcome: "successful", evidence: "the statement", amount: null, fee: minor(300n) } as const
      const wish = { reference: stored.transaction.reference, resolution, seen: stored.revision }
      const { amounts, people } = { amounts: own.settings.console.approvalFrom, people: Layer.succeedContext(own.context) }
      yield* Effect.gen(function* () {
        const { rule } = yield* ReviewApprovals
        const { approve } = yield* Approvals
        expect(yield* rule(wish, { by: asha, at: stored.transaction.updatedAt })).toBe("proposed")
        const proposals = yield* Context.get(own.context, Proposals).list({ kinds: ["review resolve"], about: charge }, 1)
        for (const { id } of proposals) {
          expect((yield* Effect.flip(approve(id, { by: asha, at: stored.transaction.updatedAt }))).message).toContain("your own")
          yield* approve(id, { by: biko, at: stored.transaction.updatedAt })
        }
      }).pipe(Effect.provide(Layer.provide(Layer.merge(consoleServices(amounts), approvers), people)))
      expect((yield* tenant.get(`/v1/collections/${charge}`)).body.data).toMatchObject({ needs_review: false, fees_minor: 300 })
      expect(yield* floats).toMatchObject({ UGX: [119_700, 300] })
      const { answer } = yield* reconcile("--book-fees", "--apply", "--no-second-person")
      expect([...answer.fees, ...answer.left].map(({ reference }) => reference)).not.toContain(charge)
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
