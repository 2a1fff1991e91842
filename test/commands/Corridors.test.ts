import { describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { expect } from "vitest"
import { eventually } from "../support/SignedClient.ts"
import { asOwner } from "../support/Stack.ts"
import { gateway, givenUrl, installedOn } from "./Gateway.ts"

const installation = Effect.map(givenUrl, (url) => {
  const variables = installedOn(url)
  const run = (line: string, ...more: ReadonlyArray<string>) => gateway(variables, ...line.split(" "), ...more)
  const result = (line: string, ...more: ReadonlyArray<string>) =>
    Effect.map(run(line, ...more, "--json"), ({ code, errors, output }) => {
      expect({ code, errors }).toEqual({ code: 0, errors: "" })
      return JSON.parse(output)
    })
  return { run, result }
})

const unchanged = { updated_at: "" }

describe("corridor set", () => {
  it.effect("changes and audits nothing when no change is named", () =>
    Effect.gen(function* () {
      const { result, run } = yield* installation
      const before = yield* result("corridor list")
      const asked = yield* run("corridor set UG UGX payout momo --json")
      expect(asked).toEqual({
        code: 2,
        output: "",
        errors: "nothing to change: give at least one option; gateway corridor set --help lists them"
      })
      expect(yield* result("corridor list")).toEqual(before)
      expect(yield* result("audit list")).toEqual([])
    })
  )

  it.effect("closes a corridor with a reason for its tenants, and opens it again without one", () =>
    Effect.gen(function* () {
      const { result, run } = yield* installation
      const closed = yield* result(
        "corridor set KE KES payout bank --active false --inactive-reason",
        "the bank's switch is down"
      )
      expect(closed).toMatchObject({ active: false, inactive_reason: "the bank's switch is down" })
      const again = yield* result("corridor set KE KES payout bank --inactive-reason", "until Monday")
      expect({ ...again, ...unchanged }).toEqual({ ...closed, inactive_reason: "until Monday", ...unchanged })
      expect(yield* run("corridor set KE KES payout bank --active true --inactive-reason why")).toMatchObject({
        code: 1,
        errors: "--inactive-reason is for a closed corridor: set --active false, or leave the reason out"
      })
      expect(yield* result("corridor set KE KES payout bank --active true")).toMatchObject({
        active: true,
        inactive_reason: null
      })
    })
  )

  it.live("is refused where the row was changed or added between its look and its write, and takes nothing back", () =>
    Effect.gen(function* () {
      const url = yield* givenUrl
      const variables = installedOn(url)
      yield* gateway(variables, "corridor", "list")
      const [sql, watching] = [yield* asOwner(Redacted.make(url)), yield* asOwner(Redacted.make(url))]
      const waiting = watching`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%audit_head_locked%'`
      const meanwhile = Effect.fnUntraced(function* (line: string, change: string) {
        const [held, seen] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        // Every change of a corridor is made under this lock.
        const other = Effect.gen(function* () {
          yield* sql`SELECT FROM audit_head FOR UPDATE`
          yield* Deferred.succeed(held, undefined)
          yield* Deferred.await(seen)
          yield* sql.unsafe(change)
        })
        const changing = yield* Effect.forkChild(sql.withTransaction(other))
        yield* Deferred.await(held)
        const command = yield* Effect.forkChild(gateway(variables, "corridor", "set", ...line.split(" ")))
        yield* eventually(waiting, (rows) => rows.length > 0)
        yield* Deferred.succeed(seen, undefined)
        yield* Fiber.join(changing)
        return yield* Fiber.join(command)
      })
      const refused = { code: 1, output: "", errors: "the corridor was changed meanwhile: look at it again" }
      expect(
        yield* meanwhile(
          "UG UGX payout momo --availability degraded",
          `UPDATE corridors SET maximum_minor = 77000, updated_at = now()
            WHERE (country, currency, direction, method) = ('UG', 'UGX', 'payout', 'momo')`
        )
      ).toEqual(refused)
      expect(
        yield* meanwhile(
          "SN XOF payout momo --provider eversend",
          `INSERT INTO corridors SELECT (json_populate_record(c, '{"country": "SN"}')).* FROM corridors c
            WHERE (country, currency, direction, method) = ('CI', 'XOF', 'payout', 'momo')`
        )
      ).toEqual(refused)
      const rows = JSON.parse((yield* gateway(variables, "corridor", "list", "--json")).output)
      expect(rows).toContainEqual(
        expect.objectContaining({
          country: "UG",
          direction: "payout",
          method: "momo",
          maximum_minor: 77_000,
          availability: "operational"
        })
      )
      expect(JSON.parse((yield* gateway(variables, "audit", "list", "--json")).output)).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("sets networks, currencies and requirements of a corridor, and clears a maximum", () =>
    Effect.gen(function* () {
      const { result } = yield* installation
      const row = "corridor set UG UGX payout bank"
      const before = yield* result(`${row} --maximum-minor 900000`)
      const after = yield* result(
        `${row} --maximum-minor none --requires-msisdn true --networks MTN,AIRTEL --destination-currencies UGX,KES --availability degraded`
      )
      expect({ ...after, ...unchanged }).toEqual({
        ...before,
        maximum_minor: null,
        requires_msisdn: true,
        requires_name: false,
        networks: ["MTN", "AIRTEL"],
        destination_currencies: ["UGX", "KES"],
        availability: "degraded",
        ...unchanged
      })
      expect(yield* result(`${row} --networks none`)).toMatchObject({ networks: [], requires_msisdn: true })
      const [newest] = yield* result("audit list --limit 2").pipe(Effect.map((rows) => rows.toReversed()))
      expect(newest.details).toMatchObject({
        maximum: "none",
        requiresMsisdn: "true",
        networks: "MTN,AIRTEL",
        destinationCurrencies: "UGX,KES",
        availability: "degraded"
      })
    })
  )

  it.effect("keeps the customer action redirect and the required redirect URL together", () =>
    Effect.gen(function* () {
      const { result, run } = yield* installation
      const row = "corridor set KE KES collection momo"
      const redirected = yield* result(`${row} --customer-action redirect`)
      expect(redirected).toMatchObject({ customer_action: "redirect", requires_redirect_url: true })
      expect(yield* run(`${row} --requires-redirect-url false`)).toMatchObject({
        code: 1,
        errors: "customer action redirect needs --requires-redirect-url true"
      })
      expect(yield* result(`${row} --minimum-minor 100`)).toMatchObject({ requires_redirect_url: true })
      const back = yield* result(`${row} --customer-action handset_pin`)
      expect(back).toMatchObject({ customer_action: "handset_pin", requires_redirect_url: false })
      expect(yield* result(`${row} --requires-redirect-url true`)).toMatchObject({
        customer_action: "handset_pin",
        requires_redirect_url: true
      })
    })
  )

  it.effect("keeps the order that is preferred, whatever else of the corridor is changed", () =>
    Effect.gen(function* () {
      const { result, run } = yield* installation
      const row = "UG UGX payout momo"
      const preferred = yield* result(`corridor prefer ${row} success`)
      expect(preferred).toMatchObject({ preference: "success", providers: ["eversend", "airtel"], warnings: [] })
      expect(yield* result(`corridor set ${row} --minimum-minor 700`)).toMatchObject({
        preference: "success",
        minimum_minor: 700
      })
      const [audited] = (yield* result("audit list --limit 2")).filter(
        ({ details }: { details: object }) => "preference" in details
      )
      expect(audited).toMatchObject({
        action: "corridor set",
        subject: "UG/UGX/payout/momo",
        details: { preference: "success", row: expect.stringContaining('"preference":"success"') }
      })
      expect(yield* result("audit verify")).toMatchObject({ ok: true })
      expect(yield* result(`corridor show ${row}`)).toMatchObject({
        preference: "success",
        orders: [],
        last_hour: [],
        last_day: []
      })
      const refused = (line: string) => Effect.map(run(line), ({ code, errors }) => [code, errors.split("\n")[0]])
      expect(yield* refused("corridor prefer UG UGX payout bank price")).toEqual([
        1,
        "a bank corridor keeps the row's own order: a bank's code and a wallet belong to one provider; gateway corridor set --provider changes it"
      ])
      expect(yield* refused("corridor prefer ZZ UGX payout momo price")).toEqual([
        1,
        "there is no corridor ZZ/UGX/payout/momo: gateway corridor list shows all of them"
      ])
      yield* result("corridor set KE KES collection momo --customer-action otp")
      expect(yield* refused("corridor prefer KE KES collection momo success")).toEqual([
        1,
        "a corridor with codes keeps the row's own order: a code belongs to the provider that sent it"
      ])
      expect(yield* result("corridor prefer CM XAF payout momo price")).toMatchObject({
        warnings: ["the corridor has one provider: there is none to prefer"]
      })
      expect(yield* result(`corridor prefer ${row} order`)).toMatchObject({ preference: "order" })
      expect((yield* run(`corridor prefer ${row} cheapest`)).code).toBe(2)
    })
  )

  it.effect("exits 2 for an unknown value", () =>
    Effect.gen(function* () {
      const { run } = yield* installation
      for (const wrong of [
        "--active yes",
        "--requires-msisdn 1",
        "--networks mtn",
        "--networks MTN,MTN",
        "--networks MTN,",
        "--destination-currencies none",
        "--destination-currencies UGX,JPY",
        "--availability fine",
        "--maximum-minor 0"
      ]) {
        const { code, errors, output } = yield* run(`corridor set UG UGX payout bank ${wrong}`)
        expect([wrong, code, output, errors.split("\n").length]).toEqual([wrong, 2, "", 2])
      }
    })
  )

  it.effect("says which providers no payment would go to: without an account, without such operations, or without a fee", () =>
    Effect.gen(function* () {
      const url = yield* givenUrl
      const account = {
        ...installedOn(url),
        PAWAPAY_BASE_URL: "https://pawapay.example",
        PAWAPAY_LIVE_API_TOKEN: "token",
        PAWAPAY_PAYOUT_FEES: "UGX:momo:1000",
        PAWAPAY_COLLECTION_FEE: "1.5%",
        PAYSTACK_BASE_URL: "https://paystack.example",
        PAYSTACK_TEST_SECRET_KEY: "sk_test_1",
        PAYSTACK_PAYOUT_FEES: "KES:momo:1000"
      }
      const warningsOf = (line: string) =>
        Effect.map(gateway(account, ..."corridor set".split(" "), ...line.split(" "), "--json"), ({ code, errors, output }) => {
          expect({ code, errors }).toEqual({ code: 0, errors: "" })
          return JSON.parse(output).warnings
        })
      expect(yield* warningsOf("UG UGX payout momo --provider pawapay,eversend")).toEqual([
        "eversend has no account in the settings"
      ])
      expect(yield* warningsOf("UG UGX payout momo --provider pawapay")).toEqual([])
      expect(yield* warningsOf("KE KES payout momo --provider pawapay,paystack")).toEqual([
        "no fee of pawapay's contract covers this corridor",
        "paystack has no account in live mode"
      ])
      expect(yield* warningsOf("UG UGX payout bank --provider pawapay")).toEqual([
        "no fee of pawapay's contract covers this corridor"
      ])
    })
  )
})

describe("tenant pin", () => {
  it.effect("says, in the words of the console, in which open corridors of the provider the tenant would be refused", () =>
    Effect.gen(function* () {
      const url = yield* givenUrl
      const account = {
        ...installedOn(url),
        PAYSTACK_BASE_URL: "https://paystack.example",
        PAYSTACK_LIVE_SECRET_KEY: "sk_live_1",
        PAYSTACK_PAYOUT_FEES: "KES:momo:1000"
      }
      const result = (line: string, ...more: ReadonlyArray<string>) =>
        Effect.map(gateway(account, ...line.split(" "), ...more, "--json"), ({ code, errors, output }) => {
          expect({ code, errors }).toEqual({ code: 0, errors: "" })
          return JSON.parse(output)
        })
      const warningsOf = (provider: string) =>
        Effect.map(result(`tenant pin shop ${provider} --reason contract`), ({ pinned_provider: pinned, warnings }) => {
          expect(pinned).toBe(provider)
          return warnings
        })
      yield* result("tenant create shop")
      expect(yield* warningsOf("paystack")).toEqual(["no open corridor names paystack"])

      yield* result("corridor set KE KES payout momo --provider eversend,paystack")
      expect(yield* warningsOf("paystack")).toEqual([])
      yield* result("provider off paystack --reason why")
      expect(yield* warningsOf("paystack")).toEqual([
        "KE KES payout momo would not work for it: paystack is switched off for everybody."
      ])
      yield* result("provider on paystack --reason mended")

      yield* result("corridor set GH GHS payout momo --provider eversend,paystack")
      expect(yield* warningsOf("paystack")).toEqual([
        "GH GHS payout momo would not work for it: no fee of paystack's contract covers this corridor."
      ])
      expect(yield* warningsOf("eversend")).toContain(
        "KE KES payout momo would not work for it: eversend has no account in the settings."
      )
    })
  )
})
