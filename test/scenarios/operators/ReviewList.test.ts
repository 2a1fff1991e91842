import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

const given = Effect.gen(function* () {
  const { database, gateway, simulator } = yield* Stack
  const variables = {
    DATABASE_URL: Redacted.value(database),
    MASTER_KEY: Redacted.value(masterKey),
    ALLOW_SIMULATOR: "true",
    EVERSEND_BASE_URL: simulator.eversendBaseUrl,
    EVERSEND_LIVE_CLIENT_ID: "simulator",
    EVERSEND_LIVE_CLIENT_SECRET: "simulator-secret",
    EVERSEND_LIVE_WEBHOOK_SECRET: "webhook-secret"
  }
  const run = (...args: ReadonlyArray<string>) => command(variables, ...args)
  const result = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args, "--json"), ({ code, output }) => {
      expect(code).toBe(0)
      return JSON.parse(output)
    })
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
  return { contradicted, gateway, result, run, sql: Context.get(gateway.context, SqlClient.SqlClient), tenant }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("what operators read and ask", (it) => {
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
        /why +the provider says that it succeeded, with another amount, currency or fee than this record has, or with a fee that nobody knows\n/
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
        `npm run -s gateway -- review resolve ${reference} --outcome failed --evidence "..." [--fee-minor N] [--seen 3]`,
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

  it.effect("list of transactions is narrowed, the newest first, and says where older ones may be", () =>
    Effect.gen(function* () {
      const { contradicted, gateway, result, run, tenant } = yield* given
      const failed = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0001")))
      const open = yield* contradicted
      const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010")))
      const listed = (...flags: ReadonlyArray<string>) =>
        Effect.map(result("transaction", "list", "--app", tenant.appId, ...flags), (rows: ReadonlyArray<{ reference: string }>) =>
          rows.map(({ reference }) => reference)
        )
      expect(yield* listed()).toStrictEqual([charge, open, failed])
      expect(yield* listed("--status", "failed", "--kind", "payout")).toStrictEqual([failed])
      expect(yield* listed("--kind", "collection", "--provider", "eversend", "--mode", "live")).toStrictEqual([charge])
      expect(yield* listed("--needs-review")).toStrictEqual([open])
      expect(yield* listed("--mode", "test")).toStrictEqual([])
      expect(yield* listed("--provider", "paystack")).toStrictEqual([])

      const first = yield* run("transaction", "list", "--app", tenant.appId, "--limit", "2", "--json")
      expect(JSON.parse(first.output)).toMatchObject([
        { reference: charge, app_id: tenant.appId, mode: "live" },
        { reference: open }
      ])
      const [, older = ""] = /--to (\S+)$/.exec(first.errors) ?? []
      expect((yield* listed("--to", older)).at(-1)).toBe(failed)
      expect(yield* listed("--from", older)).toStrictEqual([charge])

      const other = yield* tenantOn(gateway)
      const theirs = referenceOf(yield* other.post("/v1/payouts", momoPayout("0010")))
      const [newest] = yield* result("transaction", "list", "--limit", "1")
      expect(newest).toMatchObject({ reference: theirs, app_id: other.appId, masked_destination: "••••0010" })

      for (const [flag, value] of [
        ["--app", "nobody"],
        ["--provider", "nobody"]
      ] as const)
        expect(yield* run("transaction", "list", flag, value)).toMatchObject({ code: 1, output: "" })
      for (const [flag, value] of [
        ["--from", "yesterday"],
        ["--status", "lost"],
        ["--limit", "0"]
      ] as const)
        expect(yield* run("transaction", "list", flag, value)).toMatchObject({ code: 2, output: "" })
    })
  )

  it.effect("answer to a question to the provider is booked, audited, and shown with the webhooks that it caused", () =>
    Effect.gen(function* () {
      const { gateway, result, run, sql, tenant } = yield* given
      const { count } = yield* webhooksOf(gateway, tenant)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0008")))
      const before = yield* result("transaction", "show", reference)
      expect(before).toMatchObject({
        app_id: tenant.appId,
        status: "pending",
        provider_reference: expect.any(String),
        trace_ids: [expect.stringMatching(/^[0-9a-f]{32}$/)],
        next_poll_at: expect.any(String),
        deliveries: []
      })
      const ask = Effect.repeat(result("transaction", "ask", reference), { until: ({ status }) => status !== "pending" })
      expect(yield* ask).toMatchObject({
        asked: "eversend",
        provider_said: [{ fact: "Succeeded", note: expect.stringContaining("status successful") }],
        status_before: "pending",
        changed: true,
        status: "successful"
      })
      yield* count(1)
      const after = yield* result("transaction", "show", reference)
      expect(after.history.at(-1)).toMatchObject({ actor: "operator", fact: "Succeeded", status: "successful" })
      expect(after.deliveries).toMatchObject([{ event_type: "payout.successful", reference }])
      const [audited] = yield* sql`SELECT actor FROM audit_log WHERE action = 'transaction ask' AND subject = ${reference}`
      expect(audited).toBeDefined()
      expect(yield* run("transaction", "ask", "nothing")).toMatchObject({ code: 1, output: "" })
    })
  )
})
