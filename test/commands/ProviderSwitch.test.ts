import { describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { expect } from "vitest"
import { asOwner } from "../support/Stack.ts"
import { gateway, givenUrl, installedOn } from "./Gateway.ts"

describe("provider off and on", () => {
  it.effect("turn the switch of a whole provider, which its list, the warnings of corridors and the audit log have", () =>
    Effect.gen(function* () {
      const url = yield* givenUrl
      const variables = {
        ...installedOn(url),
        PAYSTACK_BASE_URL: "https://api.paystack.co",
        PAYSTACK_LIVE_SECRET_KEY: "sk_live_1",
        PAYSTACK_PAYOUT_FEES: "KES:momo:1000"
      }
      const run = (line: string, ...more: ReadonlyArray<string>) => gateway(variables, ...line.split(" "), ...more)
      const result = (line: string, ...more: ReadonlyArray<string>) =>
        Effect.map(run(line, ...more, "--json"), ({ code, errors, output }) => {
          expect({ code, errors }).toEqual({ code: 0, errors: "" })
          return JSON.parse(output)
        })
      const switchIn = Effect.map(result("provider list"), (rows: ReadonlyArray<{ provider: string; switch: string }>) => [
        ...new Set(rows.filter(({ provider }) => provider === "paystack").map((row) => row.switch))
      ])
      const warnings = Effect.map(result("corridor set KE KES payout momo --provider paystack"), (row) => row.warnings)

      expect([yield* switchIn, yield* warnings]).toEqual([["on"], []])
      expect(yield* run("provider on paystack --reason why")).toMatchObject({
        code: 1,
        errors: "paystack is switched on already: nothing was done"
      })
      expect(yield* run("provider off nobody --reason why")).toMatchObject({
        code: 1,
        errors: expect.stringContaining("there is no provider nobody")
      })
      expect(yield* result("provider off paystack --reason", "it paid 256772123456 twice")).toMatchObject({
        provider: "paystack",
        switch: "off",
        reason: "it paid ••••3456 twice"
      })
      expect([yield* switchIn, yield* warnings]).toEqual([["off"], ["paystack is switched off for everybody"]])
      expect(yield* result("audit verify")).toMatchObject({ ok: true })
      const status = yield* run("status --json")
      expect(status.output).toContain("switched off for everybody: paystack (it paid ••••3456 twice)")

      const sql = yield* asOwner(Redacted.make(url))
      yield* sql`UPDATE provider_switches SET is_off = false`
      const verified = yield* run("audit verify --json")
      expect([verified.code, verified.output]).toEqual([1, expect.stringContaining("it is on, the audit log says off")])
      yield* sql`UPDATE provider_switches SET is_off = true`

      expect(yield* result("provider on paystack --reason mended")).toMatchObject({ switch: "on" })
      expect([yield* switchIn, yield* warnings]).toEqual([["on"], []])
      const audited = (yield* result("audit list")).filter(({ subject }: { subject: string }) => subject === "provider/paystack")
      expect(audited.map(({ action }: { action: string }) => action).toSorted()).toEqual(["provider off", "provider on"])
    }).pipe(Effect.scoped)
  )
})
