import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../commands/Gateway.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { masterKey } from "../support/TestDatabase.ts"

const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const run = (...args: ReadonlyArray<string>) =>
    command({ DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }, ...args)
  const tenant = yield* tenantOn(gateway, 100_000n)
  /** A payout of which the provider says that another amount moved. */
  const contradicted = Effect.gen(function* () {
    const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
    yield* Context.get(gateway.context, Settlement).apply({
      reference: Reference.make(reference),
      fact: {
        _tag: "Succeeded",
        providerReference: "E1",
        amount: minor(9_999n),
        currency: "UGX",
        fee: null,
        note: "status successful"
      },
      actor: "callback"
    })
    return reference
  })
  return { contradicted, run, sql: Context.get(gateway.context, SqlClient.SqlClient), tenant }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("the list of reviews", (it) => {
  it.effect("shows the reason, what was sent and answered, and the commands that end the case; reading it is audited", () =>
    Effect.gen(function* () {
      const { contradicted, run, sql, tenant } = yield* given
      const reference = yield* contradicted
      const { code, output } = yield* run("review", "list")
      expect(code).toBe(0)
      const lines = output.split("\n").map((line) => line.trim())
      expect(lines[0]).toBe("1 case needs a person, the oldest first")
      expect(lines[2]).toBe(`1. ${reference}, a pending payout`)
      expect(output).toMatch(
        /why +the provider says that it succeeded, with another amount, currency or fee than this record has\n/
      )
      expect(output).toContain(`${tenant.appId}, live`)
      expect(output).toMatch(/provider +eversend, where it is \S+\n/)
      expect(output).toMatch(/amount_minor +UGX 10000 \(10000 minor\)\n/)
      expect(output).toMatch(/sent_at +\S+Z, less than a minute ago\n/)
      expect(output).toMatch(new RegExp(`sent +\\{.*"transactionRef":"${reference}".*\\}\n`))
      expect(output).toMatch(/answered +\{.*"status":"pending".*\}\n/)
      expect(output).toMatch(/last_answer +status successful; amount 9999 UGX; fee unsaid\n/)
      expect(lines.slice(-5)).toStrictEqual([
        "to end it, one of",
        `npm run -s gateway -- review resolve ${reference} --outcome successful --evidence "..." [--amount-minor N] [--fee-minor N] [--seen 3]`,
        "money moved: what is reserved is paid",
        `npm run -s gateway -- review resolve ${reference} --outcome failed --evidence "..." [--seen 3]`,
        "nothing moved: what is reserved returns to the float"
      ])
      expect(output).not.toContain("772120010")

      const [one] = JSON.parse((yield* run("review", "list", "--json")).output)
      expect(one).toMatchObject({
        reference,
        reason: expect.stringMatching(/^the provider says/),
        raw_request: expect.any(String)
      })
      const audited = yield* sql`SELECT details::json->>'reason' AS reason FROM audit_log
        WHERE action = 'transaction raw read' AND subject = ${reference}`
      expect(audited).toStrictEqual([{ reason: "review list" }, { reason: "review list" }])
    })
  )

  it.effect("lists the other cases when one record cannot be read", () =>
    Effect.gen(function* () {
      const { contradicted, run, sql } = yield* given
      const [broken, whole] = [yield* contradicted, yield* contradicted]
      yield* sql`UPDATE transactions SET record = '{"kind":"payout"}' WHERE reference = ${broken}`
      const { code, output } = yield* run("review", "list", "--json")
      expect(code).toBe(0)
      const listed: ReadonlyArray<Record<string, unknown>> = JSON.parse(output)
      const references = listed.map(({ reference }) => reference)
      expect(references).toContain(whole)
      expect(references).not.toContain(broken)
    })
  )
})
