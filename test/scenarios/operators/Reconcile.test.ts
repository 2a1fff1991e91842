import { expect, layer } from "@effect/vitest"
import { Context, Effect, Option, Redacted } from "effect"
import { Reconciliations } from "../../../src/services/ports/Reconciliations.ts"
import type { ProviderCheckRow } from "../../../src/services/reference/ProviderCheck.ts"
import type { ReconciliationReport } from "../../../src/services/settlement/Reconciliation.ts"
import { gateway } from "../../commands/Gateway.ts"
import { payout } from "../../simulator/eversend/SimulatorFixture.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { Stack, tenantOn } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

/** The command line of the same installation, beside its running gateway. */
const commanded = Effect.fnUntraced(function* (accounts: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) {
  const { database, simulator } = yield* Stack
  const settings = {
    DATABASE_URL: Redacted.value(database),
    MASTER_KEY: Redacted.value(masterKey),
    ALLOW_SIMULATOR: "true",
    EVERSEND_BASE_URL: simulator.eversendBaseUrl,
    ...accounts
  }
  return yield* gateway(settings, ...words, "--json")
})

/** The settings of an account: `LIVE`, or `LIVE_PREVIOUS`. */
const account = (place: string, clientId: "simulator" | "other") => ({
  [`EVERSEND_${place}_CLIENT_ID`]: clientId,
  [`EVERSEND_${place}_CLIENT_SECRET`]: `${clientId}-secret`,
  [`EVERSEND_${place}_WEBHOOK_SECRET`]: "webhook-secret"
})

const reconcile = Effect.fnUntraced(function* (...options: ReadonlyArray<string>) {
  const ran = yield* commanded(account("LIVE", "simulator"), "reconcile", ...options)
  const report: ReconciliationReport = ran.output === "" ? undefined : JSON.parse(ran.output)
  return { ...ran, report }
})

// Nobody asks for what is open, so that what differs goes on differing.
layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("reconcile PROVIDER", (it) => {
  it.effect("finds no difference between equal accounts, and every kind of planted difference", () =>
    Effect.gen(function* () {
      const { gateway: own, simulator } = yield* Stack
      const tenant = yield* tenantOn(own, 200_000n)
      const settledBy = (path: string, reference: string, status: string) =>
        eventually(tenant.call("GET", `${path}/${reference}`), ({ body }) => body.data?.status === status)
      const pay = (ending: string) => Effect.map(tenant.post("/v1/payouts", momoPayout(ending)), referenceOf)

      const paid = yield* pay("1234")
      yield* settledBy("/v1/payouts", paid, "successful")
      yield* settledBy("/v1/payouts", yield* pay("0002"), "failed")
      yield* settledBy("/v1/payouts", yield* pay("0001"), "failed")
      const collected = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      yield* settledBy("/v1/collections", collected, "successful")
      const clean = yield* reconcile("eversend")
      expect([clean.code, clean.report.ok, clean.report.checked, clean.report.differences]).toEqual([
        0,
        true,
        { ours: 4, theirs: 4, unreadable: 0 },
        []
      ])

      const dearer = yield* pay("0014")
      yield* settledBy("/v1/payouts", dearer, "successful")
      const unheard = yield* pay("0008")
      yield* eventually(
        Effect.promise(() => simulator.search(unheard)),
        ([one]) => one?.status === "successful"
      )
      const lost = yield* pay("0004")
      const foreign = yield* Effect.promise(() => payout(simulator, "1234", "made-by-hand"))
      yield* Effect.promise(() => payout(simulator, "1234", paid))

      const { code, errors, report } = yield* reconcile("eversend")
      expect([code, errors, report.ok]).toEqual([
        1,
        "2 differences between the account at eversend and ours: see docs/runbooks/reconcile-difference.md",
        false
      ])
      expect(foreign.status).toBe(200)
      // The ledger booked the excess as drift when the payout settled; what is open here is asked for.
      const pending = { mode: "live", ours: "pending 10000 UGX", because: "pending" }
      expect(report.known).toHaveLength(3)
      expect(report.known).toEqual(
        expect.arrayContaining(
          [
            { kind: "fee", mode: "live", reference: dearer, ours: "1000", theirs: "1200", because: "drift_booked" },
            { ...pending, kind: "missing_there", reference: lost, theirs: "absent", lines: [] },
            { ...pending, kind: "state", reference: unheard, theirs: "successful 10000 UGX" }
          ].map((one) => expect.objectContaining(one))
        )
      )
      const timed = [...report.known, ...report.differences].flatMap(({ lines }) => lines)
      expect(timed.map(({ amount_minor, fee_minor, status }) => [status, amount_minor, fee_minor])).toEqual(
        expect.arrayContaining([
          ["successful", 10_000, 1_200],
          ["successful", 10_000, 1_000]
        ])
      )
      expect(timed.filter(({ at }) => Math.abs(Date.parse(at ?? "") - Date.now()) > 600_000)).toEqual([])
      // The console shows the last result.
      const result = Option.getOrThrow(yield* Context.get(own.context, Reconciliations).find("eversend", report.day))
      expect([result.differences, result.explained, result.found.length]).toEqual([2, 3, 5])
      const byKind = report.differences.map(({ kind, mode, ours, reference, theirs }) => [kind, mode, reference, ours, theirs])
      expect(byKind.sort()).toEqual(
        [
          ["doubled", "live", paid, "successful 10000 UGX", expect.stringMatching(/^\w+, \w+$/)],
          ["missing_here", "live", "made-by-hand", null, expect.stringMatching(/^(pending|successful) 20000 UGX$/)]
        ].sort()
      )
    })
  )

  it.effect(
    "says which account transactions still need, also as provider list and status do, and compares each with its own",
    () =>
      Effect.gen(function* () {
        const { gateway: own } = yield* Stack
        const tenant = yield* tenantOn(own, 200_000n)
        const lost = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0004")))
        const standings = Effect.fnUntraced(function* (accounts: Readonly<Record<string, string>>) {
          const { output } = yield* commanded(accounts, "provider", "list")
          const rows: ReadonlyArray<{
            provider: string
            mode: string
            account: string
            open: number
            fingerprint: string | null
          }> = JSON.parse(output)
          return rows.filter(({ mode, provider }) => provider === "eversend" && mode === "live")
        })
        const [before] = yield* standings(account("LIVE", "simulator"))
        const open = before?.open ?? 0
        expect([before?.account, open]).toEqual(["current", expect.toSatisfy((count: number) => count >= 1)])

        const swapped = { ...account("LIVE", "other"), ...account("LIVE_PREVIOUS", "simulator") }
        expect((yield* standings(swapped)).map((row) => [row.account, row.open])).toEqual([
          ["current", 0],
          ["previous", open]
        ])
        const warned = yield* commanded(swapped, "status")
        expect(JSON.parse(warned.output).needs_attention).toContainEqual(
          expect.stringMatching(
            new RegExp(`^${open} open transactions.* still need the previous account at eversend \\(live\\)$`)
          )
        )

        const gone = account("LIVE", "other")
        expect((yield* standings(gone)).map((row) => [row.account, row.open])).toEqual([
          ["current", 0],
          ["unset", open]
        ])
        const alarmed = yield* commanded(gone, "status")
        expect(JSON.parse(alarmed.output).needs_attention).toContainEqual(
          expect.stringMatching(
            new RegExp(`^${open} open transactions.* were sent with the account ${before?.fingerprint} at eversend`)
          )
        )
        const compared = yield* commanded(swapped, "reconcile", "eversend")
        const { known }: ReconciliationReport = JSON.parse(compared.output || '{"known":[]}')
        const ofLost = known.filter(({ reference }) => reference === lost)
        expect([compared.errors, ofLost]).toMatchObject([
          expect.anything(),
          [{ kind: "missing_there", account: "previous", because: "pending" }]
        ])
      })
  )

  it.effect("is preceded by provider check, which tries an account before money moves with it", () =>
    Effect.gen(function* () {
      const checked = Effect.fnUntraced(function* (settings: Readonly<Record<string, string>>) {
        const { code, output } = yield* commanded(settings, "provider", "check", "eversend")
        const rows: ReadonlyArray<ProviderCheckRow> = JSON.parse(output)
        return { code, rows, of: (result: string) => rows.filter((row) => row.result === result).map(({ check }) => check) }
      })
      const right = yield* checked(account("LIVE", "simulator"))
      expect([right.code, right.of("differs"), right.of("unanswered")]).toEqual([0, [], []])
      expect(right.rows).toContainEqual({
        mode: "live",
        account: "current",
        check: "prices",
        subject: "UG UGX payout momo",
        result: "ok",
        detail: "500 UGX costs 1000 UGX"
      })
      expect(new Set(right.of("ok"))).toEqual(new Set(["wallets", "countries", "banks", "prices"]))

      const wrong = yield* checked({ ...account("LIVE", "simulator"), EVERSEND_LIVE_CLIENT_SECRET: "another-secret" })
      expect(wrong.code).toBe(1)
      expect(new Set(wrong.of("unanswered"))).toEqual(new Set(["wallets", "countries", "banks", "prices"]))
      expect((yield* commanded(account("LIVE", "simulator"), "provider", "check", "nobody")).errors).toContain(
        "there is no provider nobody: the providers are "
      )
    })
  )

  it.effect("compares one day, and nothing of another", () =>
    Effect.gen(function* () {
      const { code, report } = yield* reconcile("eversend", "--day", "2026-01-31")
      expect([code, report]).toEqual([
        0,
        {
          ok: true,
          provider: "eversend",
          day: "2026-01-31",
          compared_by: { live: "statement" },
          checked: { ours: 0, theirs: 0, unreadable: 0 },
          differences: [],
          known: []
        }
      ])
    })
  )

  it.effect("refuses a day that has not begun, instead of ending the alert of another", () =>
    Effect.gen(function* () {
      for (const option of ["--rulings", "--book-fees"].map((one) => [one]).concat([[]]))
        expect(yield* reconcile("eversend", "--day", "2999-01-31", ...option)).toMatchObject({
          code: 1,
          output: "",
          errors: "2999-01-31 has not begun: give a day until today, in UTC"
        })
    })
  )

  it.effect("refuses an unknown provider, one without an account, an impossible date, and a statement that cannot be had", () =>
    Effect.gen(function* () {
      const { simulator } = yield* Stack
      expect(yield* reconcile("nobody")).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/^there is no provider nobody: it is one of eversend/)
      })
      expect(yield* reconcile("eversend", "--day", "2026-02-30")).toMatchObject({ code: 2, output: "" })
      yield* Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: true }))
      const down = yield* reconcile("eversend")
      yield* Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: false }))
      expect(down).toMatchObject({ code: 1, errors: "the statement of eversend (live) cannot be read: try again" })
    })
  )
})
