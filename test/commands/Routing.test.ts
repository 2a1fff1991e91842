import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { providerNames } from "../../src/App.ts"
import { gateway, gatewayReading, givenUrl, installedOn } from "./Gateway.ts"

const installation = Effect.map(givenUrl, (url) => {
  const variables = installedOn(url)
  return (line: string, input = "") =>
    Effect.map(gatewayReading(input, variables, ...line.split(" "), "--json"), ({ code, errors, output }) => ({
      code,
      errors,
      answer: output === "" ? undefined : JSON.parse(output)
    }))
})

const unknown = (name: string) => ({
  code: 1,
  errors: `there is no provider ${name}: the providers are ${providerNames.join(", ")}`
})

describe("the commands that route", () => {
  it.effect("set a corridor's providers in order, and refuse an unknown one in one line", () =>
    Effect.gen(function* () {
      const run = yield* installation
      const [first = "", second = ""] = providerNames.toReversed()
      const set = (providers: string) => run(`corridor set UG UGX payout momo --provider ${providers}`)
      expect((yield* set(`${first},${second}`)).answer).toMatchObject({ provider: first, providers: [first, second] })
      expect((yield* set(second)).answer).toMatchObject({ provider: second, providers: [second] })
      expect(yield* set(`${first},nobody`)).toMatchObject(unknown("nobody"))
      expect((yield* set(`${first},${first}`)).code).toBe(2)
      expect((yield* set("none")).code).toBe(2)
      const { answer } = yield* run("corridor list")
      expect(answer).toContainEqual(
        expect.objectContaining({ country: "UG", direction: "payout", method: "momo", providers: [second] })
      )
    })
  )

  it.effect("say what a payment costs by the contract, and by which of its entries, at any moment (38.11)", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "fees-"))),
        (made) => Effect.sync(() => rmSync(made, { recursive: true }))
      )
      const file = join(folder, "fees.json")
      const general = { direction: "payout", currency: "GHS", from: "2026-01-01", percent: "1" }
      const own = { direction: "payout", currency: "GHS", network: "MTN", from: "2026-06-01", flat: 70 }
      writeFileSync(file, JSON.stringify([general, own]))
      const account = {
        PAYSTACK_BASE_URL: "https://api.paystack.co",
        PAYSTACK_LIVE_SECRET_KEY: "sk_live_1",
        PAYSTACK_FEE_SCHEDULE: file
      }
      // It asks neither the database nor a provider.
      const show = (asked: string, ...more: ReadonlyArray<string>) =>
        gateway(
          { ...installedOn("postgres://gateway:x@127.0.0.1:1/gateway"), ...account },
          ...`fees show --method momo --direction payout ${asked}`.split(" "),
          ...more
        )
      const rows = (asked: string) => Effect.map(show(asked, "--json"), ({ output }) => JSON.parse(output))
      const row = { provider: "paystack", currency: "GHS", amount_minor: 50_000 }
      const before = { entry: "entry 1 payout GHS 2026-01-01", fee_minor: 500, at: "2026-05-31T23:59:59.000Z" }
      const since = { entry: "entry 2 payout GHS MTN 2026-06-01", fee_minor: 70, at: "2026-06-01T00:00:00.000Z" }
      const ghana = "--amount 50000 --country GH"
      expect(yield* rows(`${ghana} --network mtn --at 2026-05-31T23:59:59Z`)).toStrictEqual([{ ...row, ...before }])
      expect(yield* rows(`${ghana} --network mtn --at 2026-06-01T00:00:00Z`)).toStrictEqual([{ ...row, ...since }])
      const now = "2026-03-01T12:00:00.000Z"
      yield* TestClock.setTime(Date.parse(now))
      expect(yield* rows(ghana)).toStrictEqual([{ ...row, ...before, at: now }])
      expect((yield* show(ghana)).output).toContain("GHS 5.00 (500 minor)")
      expect(yield* show("--amount 50000 --country UG")).toMatchObject({
        code: 1,
        errors: "no provider that is set charges such a payment by its contract: see docs/settings.md"
      })
      for (const wrong of [
        "--amount 0 --country GH",
        "--amount 1.5 --country GH",
        "--amount 1 --country ghana",
        `${ghana} --at 2026-06-01`
      ])
        expect([wrong, (yield* show(wrong)).code]).toStrictEqual([wrong, 2])
      writeFileSync(file, JSON.stringify([{ ...general, percent: "-1" }]))
      expect(yield* show(ghana)).toMatchObject({ code: 1, errors: expect.stringContaining("entry 1 payout GHS 2026-01-01") })
    }).pipe(Effect.scoped)
  )

  it.effect("say who pays for a tenant, masked, or in one line what is wrong with it (38.9)", () =>
    Effect.gen(function* () {
      const run = yield* installation
      yield* run("tenant create acme")
      const set = (number: string, name = "Acme") =>
        run(`sender set acme --name ${name} --country KE --number ${number} --address Nairobi --reason KYC`)
      expect((yield* set("0711002233")).answer).toEqual({
        app_id: "acme",
        sender: { name: "A•••", country: "KE", number: "••••2233", address: "N••••••" }
      })
      expect(
        yield* run("sender set acme --name Acme --country KE --number - --address Nairobi --reason KYC", "0711002244")
      ).toMatchObject({ code: 0, answer: { sender: { number: "••••2244" } } })
      expect(yield* set("12")).toMatchObject({
        code: 1,
        errors: "the number must be a phone number that is possible in its country"
      })
      expect(yield* set("0711002233", "\u200B")).toMatchObject({ code: 1, errors: expect.stringContaining("the name must be") })
      expect((yield* run("sender remove acme --reason moved")).answer).toEqual({ app_id: "acme", sender: null })
      expect((yield* run("sender remove absent --reason moved")).code).toBe(1)
      expect((yield* run("audit list")).answer).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            action: "tenant sender",
            subject: "acme",
            details: expect.objectContaining({ number: "••••2233" })
          })
        ])
      )
    })
  )

  it.effect("pin a tenant to one provider and unpin it, each with its reason in the audit log", () =>
    Effect.gen(function* () {
      const run = yield* installation
      const [provider = ""] = providerNames
      yield* run("tenant create acme")
      expect((yield* run("tenant list")).answer).toMatchObject([{ app_id: "acme", pinned_provider: null }])
      expect((yield* run(`tenant pin acme ${provider} --reason contract`)).answer).toMatchObject({
        app_id: "acme",
        pinned_provider: provider
      })
      expect((yield* run("tenant list")).answer).toMatchObject([{ app_id: "acme", pinned_provider: provider }])
      expect((yield* run("tenant unpin acme --reason ended")).answer).toMatchObject({ pinned_provider: null })
      expect(yield* run("tenant pin acme nobody --reason contract")).toMatchObject(unknown("nobody"))
      expect(yield* run(`tenant pin absent ${provider} --reason contract`)).toMatchObject({
        code: 1,
        errors: "there is no tenant absent: gateway tenant list shows all of them"
      })
      expect((yield* run(`tenant pin acme ${provider}`)).code).toBe(2)
      const { answer } = yield* run("audit list")
      const changes = answer.filter(({ action }: { readonly action: string }) => action.endsWith("pin"))
      expect(changes).toHaveLength(2)
      expect(changes).toContainEqual(
        expect.objectContaining({ action: "tenant pin", subject: "acme", details: { provider, reason: "contract" } })
      )
      expect((yield* run("audit verify")).code).toBe(0)
    })
  )

  it.effect("let a tenant charge again after a success and undo that, each with its reason in the audit log", () =>
    Effect.gen(function* () {
      const run = yield* installation
      yield* run("tenant create acme")
      expect((yield* run("tenant list")).answer).toMatchObject([{ app_id: "acme", repeat_sales: "refuse" }])
      const allowed = yield* run("tenant guard acme --repeat-sales allow --reason tickets")
      expect(allowed.answer).toMatchObject({ app_id: "acme", repeat_sales: "allow" })
      expect((yield* run("tenant guard acme --repeat-sales refuse --reason over")).answer).toMatchObject({
        repeat_sales: "refuse"
      })
      expect(yield* run("tenant guard absent --repeat-sales allow --reason tickets")).toMatchObject({
        code: 1,
        errors: "there is no tenant absent: gateway tenant list shows all of them"
      })
      expect((yield* run("tenant guard acme --repeat-sales allow")).code).toBe(2)
      expect((yield* run("tenant guard acme --repeat-sales often --reason tickets")).code).toBe(2)
      const { answer } = yield* run("audit list")
      expect(answer).toContainEqual(
        expect.objectContaining({
          action: "tenant guard",
          subject: "acme",
          details: { repeat_sales: "allow", reason: "tickets" }
        })
      )
    })
  )
})
