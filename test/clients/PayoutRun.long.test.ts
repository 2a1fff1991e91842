import { type ChildProcess, spawn } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import process from "node:process"
import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { eventually } from "../support/SignedClient.ts"
import { creditOn, everyOther, executionsOf, Stack, tenantOn } from "../support/Stack.ts"
import { givenPerson } from "./Person.ts"

const MAIN = join(import.meta.dirname, "../../clients/cli/src/main.ts")
const AMOUNT = 1_000n
const FEE = 1_000n
const ROWS = 300
const HEADING = "amount_minor,currency,country,msisdn,network,metadata.employee\r\n"
const line = (row: number, change: { readonly amount?: string; readonly msisdn?: string } = {}): string =>
  `${change.amount ?? AMOUNT},UGX,UG,${change.msisdn ?? `25677212${5_000 + row}`},MTN,${row}\r\n`
const rows = Array.from({ length: ROWS }, (_, at) => at + 2)

layer(Stack.layer({}, { beside: everyOther }), { excludeTestServices: true })("a payroll", (it) => {
  it.effect(
    "of 300 rows with mistakes, an empty float in the middle and two kills pays nobody twice, by one command",
    () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const all = (AMOUNT + FEE) * BigInt(ROWS)
        const tenant = yield* tenantOn(gateway, all)
        const { folder, login, run, variables } = yield* givenPerson(tenant)
        yield* login
        const file = join(folder, "salaries.csv")
        const write = (lines: ReadonlyArray<string>) => Effect.promise(() => writeFile(file, [HEADING, ...lines].join("")))
        const command = ["payout", "run", file, "--run", "salaries_2026_11", "--yes"]

        const mistakes: Readonly<Record<number, object>> = {
          17: { msisdn: "2.56772E+11" },
          44: { amount: "10.000" },
          120: { amount: "1" },
          201: { msisdn: "772125201" }
        }
        // A list without one good row is refused like any other.
        yield* write([line(2, mistakes[17])])
        const faulty = yield* run(...command)
        expect([faulty.code, faulty.output.split(":")[0], faulty.errors]).toEqual([
          1,
          "row 2",
          "nothing was sent: 1 row has an issue"
        ])
        yield* write(rows.map((row) => line(row, mistakes[row])))
        const refused = yield* run(...command)
        expect([refused.code, refused.output.split("\n").map((text) => text.split(":")[0]), refused.errors]).toEqual([
          1,
          ["row 17", "row 44", "row 120", "row 201"],
          "nothing was sent: 4 rows have an issue"
        ])
        expect((yield* tenant.get("/v1/transactions")).body.data["items"]).toEqual([])

        yield* write(rows.map((row) => line(row)))
        const journal = join(folder, "salaries_2026_11.run.jsonl")
        const made = Effect.promise(
          async () => (await readFile(journal, "utf8").catch(() => "")).split('"type":"made"').length - 1
        )
        const begin = (...more: ReadonlyArray<string>) => begunProcess(variables, [...command, ...more])
        const killedAfter = (begun: ChildProcess, count: number) =>
          Effect.gen(function* () {
            yield* eventually(made, (found) => found >= count)
            begun.kill("SIGKILL")
            yield* ended(begun)
          })
        yield* killedAfter(begin(), 20)

        const emptied = begin("--resume")
        yield* eventually(made, (found) => found >= 60)
        // Somebody else of the tenant pays most of what is left, while the run goes on.
        const drained = yield* eventually(drainedBy(tenant), (amount) => amount !== null)
        expect(yield* ended(emptied)).toBe(3)
        const kept = yield* Effect.promise(() => readFile(journal, "utf8"))
        const refusals = kept.split('"code":"insufficient_tenant_float"').length - 1
        expect(refusals, "no more keys are used up than were under way").toBeLessThanOrEqual(8)
        expect(refusals).toBeGreaterThan(0)
        const short = yield* run(...command, "--resume")
        expect([short.code, short.errors.split("\n").at(-1)]).toEqual([
          3,
          expect.stringMatching(/^nothing more was sent: .* is missing/)
        ])

        yield* creditOn(gateway, tenant, all)
        const begun = begin("--resume")
        yield* killedAfter(begun, 250)
        const last = yield* run(...command, "--resume")
        expect([last.code, last.output.split("\n")[0]]).toEqual([0, `${ROWS} successful`])

        const report = JSON.parse(yield* Effect.promise(() => readFile(join(folder, "salaries_2026_11.run.report.json"), "utf8")))
        const references: ReadonlyArray<string> = report.rows.map((row: { reference: string }) => row.reference)
        expect(new Set(references).size).toBe(ROWS)
        const keys: ReadonlyArray<string> = report.rows.map((row: { key: string }) => row.key)
        expect(keys.filter((key) => /-\d+-2$/.test(key))).toHaveLength(refusals)
        const executed = yield* Effect.forEach(references, (reference) => executionsOf(simulator, reference), { concurrency: 16 })
        expect(executed.filter((found) => found.length !== 1)).toEqual([])
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        const [counted] = yield* sql<{
          payouts: bigint
        }>`SELECT count(*) AS payouts FROM transactions WHERE app_id = ${tenant.appId}`
        expect(counted?.payouts).toBe(BigInt(ROWS + 1))
        expect(yield* tenant.float).toMatchObject({ available_minor: Number(all - (drained ?? 0n) - FEE), reserved_minor: 0 })

        // The next month under this month's name, from a folder that does not know it.
        yield* creditOn(gateway, tenant, all)
        const reused = yield* run(...command, "--folder", join(folder, "december"))
        expect([reused.code, reused.errors.split("\n").at(-1)]).toEqual([
          1,
          expect.stringMatching(/^the name salaries_2026_11 was used by an earlier run: row 2 .*: salaries_2026_11_r2 is free;/)
        ])
        expect((yield* tenant.float)["reserved_minor"]).toBe(0)
        const [after] = yield* sql`SELECT count(*) AS payouts FROM transactions WHERE app_id = ${tenant.appId}`
        expect(after).toEqual({ payouts: BigInt(ROWS + 1) })
      }),
    120_000
  )
})

const begunProcess = (variables: Readonly<Record<string, string | undefined>>, args: ReadonlyArray<string>): ChildProcess =>
  spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...variables }, stdio: "ignore" })

const ended = (begun: ChildProcess) =>
  Effect.promise(
    () =>
      new Promise<number | null>((resolve) => {
        if (begun.exitCode !== null || begun.signalCode !== null) return resolve(begun.exitCode)
        begun.once("exit", resolve)
      })
  )

/** How much was paid, so that some thirty rows are left; null where the float went elsewhere meanwhile. */
const drainedBy = (tenant: Effect.Success<ReturnType<typeof tenantOn>>) =>
  Effect.gen(function* () {
    const available = BigInt((yield* tenant.float)["available_minor"] ?? 0)
    const amount = available - 30n * (AMOUNT + FEE) - FEE
    const destination = { type: "momo", msisdn: "256772991234", network: "MTN", country: "UG" }
    const terms = { amount_minor: Number(amount), currency: "UGX", country: "UG", method: "momo", destination }
    return (yield* tenant.post("/v1/payouts", terms)).status === 201 ? amount : null
  })
