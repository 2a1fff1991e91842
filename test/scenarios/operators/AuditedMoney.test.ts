import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { breachesStatement } from "../../../src/persistence/ledger/LedgerRule.ts"
import { adjustmentRules } from "../../../src/persistence/ledger/rules/AdjustmentRules.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { asOwner, Stack, tenantOn } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

const ended = { providerReference: "E1", currency: "UGX", fee: null, note: "status" } as const

/** A credit of UGX 5,000 named "e", a payout that a person released, and one that a person corrected. */
const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const run = (...args: ReadonlyArray<string>) =>
    Effect.map(
      command({ DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }, ...args),
      ({ code, errors }) => expect({ code, errors }).toEqual({ code: 0, errors: "" })
    )
  const tenant = yield* tenantOn(gateway)
  const money = ["--currency", "UGX", "--amount-minor", "5000", "--external-id", "e", "--note", "n"]
  yield* run("float", "credit", tenant.appId, "--mode", "live", ...money)
  const settlement = Context.get(gateway.context, Settlement)
  const contradicted = Effect.fnUntraced(function* (ending: string) {
    const reference = Reference.make(referenceOf(yield* tenant.post("/v1/payouts", momoPayout(ending))))
    if (ending !== "0010") yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
    yield* settlement.apply({ reference, fact: { _tag: "Succeeded", ...ended, amount: minor(9_999n) }, actor: "callback" })
    return reference
  })
  const released = yield* contradicted("0010")
  yield* run("review", "resolve", released, "--outcome", "failed", "--evidence", "their statement")
  const corrected = yield* contradicted("1234")
  const figures = ["--amount-minor", "9999"]
  yield* run("review", "resolve", corrected, "--outcome", "successful", "--evidence", "their statement", ...figures)
  const sql = yield* asOwner(database)
  const found = Effect.map(
    Effect.forEach(adjustmentRules, (one) => sql.unsafe<{ subject: string; found: string }>(breachesStatement(one, 10))),
    (breaches) => breaches.flatMap((rows, at) => rows.map((row) => `${adjustmentRules[at]?.rule} ${row.subject}: ${row.found}`))
  )
  /** Plants it as the owner of the database, looks, and takes it away again. */
  const finds = (damage: string) =>
    sql.unsafe(damage).pipe(
      Effect.andThen(found),
      Effect.flatMap((differences) => Effect.fail({ differences })),
      (effect) => sql.withTransaction(effect),
      Effect.catch((failed) => ("differences" in failed ? Effect.succeed(failed.differences) : Effect.die(failed)))
    )
  yield* sql`ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only`
  return { appId: tenant.appId, corrected, finds, found, released }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("ledger verify", (it) => {
  it.effect("compares operators' postings with their audit rows, amounts included", () =>
    Effect.gen(function* () {
      const { appId, corrected, finds, found, released } = yield* given
      expect(yield* found).toEqual([])

      const credit = `adjustments_are_audited ${appId}/live/e`
      const adjustment = `WHERE app_id = '${appId}' AND external_id = 'e'`
      const row = `WHERE details LIKE '%"external_id":"e"%' AND subject = '${appId}'`
      const damages: ReadonlyArray<readonly [string, ReadonlyArray<string | RegExp>]> = [
        [
          `UPDATE float_adjustments SET amount_minor = 6000 ${adjustment}`,
          [new RegExp(`${credit}: a credit of UGX 6000, audit row \\d+ says credit of UGX 5000$`)]
        ],
        [
          `UPDATE float_adjustments SET currency = 'KES' ${adjustment}`,
          [new RegExp(`${credit}: a credit of KES 5000, audit row \\d+ says credit of UGX 5000$`)]
        ],
        [
          `UPDATE float_adjustments SET note = 'another' ${adjustment}`,
          [new RegExp(`adjustments_are_as_written ${appId}/live/e: its note is not the one of audit row \\d+$`)]
        ],
        [
          `UPDATE journal SET note = 'another' WHERE app_id = '${appId}' AND fact = 'Credited' AND note = 'n'`,
          [
            new RegExp(
              `adjustments_are_as_written ${appId}/live/e: its line of the history is another than its own: operator, Credited, another`
            )
          ]
        ],
        [
          `UPDATE audit_log SET actor = 'console/asha' ${row}`,
          [new RegExp(`console_postings_have_two_people ${appId}, audit row \\d+: posted in the console by one person$`)]
        ],
        [
          `UPDATE audit_log SET actor = 'console/asha', details = (details::jsonb || '{"proposal": "P", "about": "x", "proposed_by": "biko"}')::text ${row}`,
          [
            new RegExp(
              `console_postings_have_two_people ${appId}, audit row \\d+: posted in the console, and no audit row says that console/biko proposed it$`
            )
          ]
        ],
        [`DELETE FROM audit_log ${row}`, [`${credit}: a credit without its audit row`]],
        [`UPDATE audit_log SET details = 'spoilt' ${row}`, [`${credit}: a credit without its audit row`]],
        [
          `DELETE FROM float_adjustments ${adjustment}`,
          [new RegExp(`${credit}: audit row \\d+ names an adjustment that is not there$`)]
        ],
        [
          `WITH named AS (UPDATE audit_log SET details = replace(details, '"external_id":"e"', '"external_id":"${released}"') ${row})
            UPDATE float_adjustments SET external_id = '${released}' ${adjustment}`,
          [`adjustments_are_of_no_record ${appId}/live/${released}: a credit of UGX 5000 by the reference of a transaction`]
        ],
        [
          `DELETE FROM audit_log WHERE subject = '${released}' AND action = 'review resolve'`,
          [`resolutions_are_audited ${appId}/${released}: resolved 1 times, the audit log says 0`]
        ],
        [
          `UPDATE audit_log SET details = replace(details, 'available 11000', 'available 12000') WHERE subject = '${released}'`,
          [new RegExp(`resolutions_are_audited ${appId}/${released}/close: posted \\[.*\\], audit row \\d+ says \\[.*\\]$`)]
        ],
        [
          `DELETE FROM audit_log WHERE subject = '${corrected}' AND action = 'review resolve'`,
          [
            `resolutions_are_audited ${appId}/${corrected}: resolved 1 times, the audit log says 0`,
            `resolutions_are_audited ${appId}/${corrected}/correction: a correction that no audit row names`
          ]
        ]
      ]
      for (const [damage, wanted] of damages) {
        const differences = yield* finds(damage)
        expect(differences, damage).toEqual(wanted.map((one) => (typeof one === "string" ? one : expect.stringMatching(one))))
      }
      expect(yield* found).toEqual([])
    })
  )
})
