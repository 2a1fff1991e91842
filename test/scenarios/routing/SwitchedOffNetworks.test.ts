import { expect, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { describe } from "vitest"
import { ProviderSwitches, switchOf } from "../../../src/services/ports/ProviderSwitches.ts"
import { routed } from "../../support/EveryProvider.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import type { Answer } from "../../support/SignedClient.ts"
import { creditOn, everyOther, type Gateway, givenStack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const country = "UG"
const numbers = { MTN: "256772123401", AIRTEL: "256752123401" }

const party = (network: keyof typeof numbers) => ({ type: "momo", msisdn: numbers[network], network, country })

/** As an operator turns it. */
const turn = Effect.fnUntraced(function* ({ context }: Gateway, provider: string, to: "off" | "on") {
  const { list, set } = Context.get(context, ProviderSwitches)
  const seen = switchOf(yield* list, provider)?.changedAt ?? null
  const wish = { provider, isOff: to === "off", reason: "it paid twice", changedAt: (seen ?? NOON) + 1 }
  yield* set(wish, auditEntry({ action: `provider ${to}`, subject: `provider/${provider}` }), seen)
})

const said = ({ body, status }: Answer) => ({ status, error: body.error })

describe("a network that only a switched-off provider of the corridor reaches", () => {
  it.live("is away for the moment: payouts, quotes and charges of it are retriable, and go through once it is on again", () =>
    Effect.gen(function* () {
      const { gateway } = yield* givenStack({ PROVIDER_TIMEOUT_MS: "15000" }, { beside: everyOther })
      // Airtel reaches its own wallets alone.
      yield* routed(gateway, ["airtel", "eversend"])
      const tenant = yield* tenantOn(gateway, 0n)
      yield* creditOn(gateway, tenant, 10_000_000n, "UGX")
      yield* turn(gateway, "eversend", "off")

      const away = { status: 503, error: { code: "provider_error", retriable: true, terminal: false, ambiguous: false } }
      const toMtn = momoPayout("1000", { destination: party("MTN") })
      const fromMtn = momoCharge("1000", { source: party("MTN") })
      expect(said(yield* tenant.post("/v1/payouts", toMtn, "once"))).toMatchObject(away)
      expect(said(yield* tenant.post("/v1/payouts/quote", toMtn))).toMatchObject(away)
      expect(said(yield* tenant.post("/v1/collections", fromMtn, "once"))).toMatchObject(away)
      // The corridor is open: the other network's payments go on.
      expect(yield* tenant.post("/v1/payouts", momoPayout("1000", { destination: party("AIRTEL") }))).toMatchObject({
        status: 201,
        body: { data: { provider: "airtel" } }
      })
      expect(yield* tenant.post("/v1/collections", momoCharge("1000", { source: party("AIRTEL") }))).toMatchObject({
        status: 201,
        body: { data: { provider: "airtel" } }
      })
      const { data: rows } = (yield* tenant.get("/v1/reference/corridors?country=UG&method=momo")).body
      expect(rows).toMatchObject([
        { active: true, availability: "degraded" },
        { active: true, availability: "degraded" }
      ])

      yield* turn(gateway, "eversend", "on")
      expect(yield* tenant.post("/v1/payouts", toMtn, "once")).toMatchObject({
        status: 201,
        body: { data: { provider: "eversend" } }
      })
      expect(yield* tenant.post("/v1/collections", fromMtn, "once")).toMatchObject({
        status: 201,
        body: { data: { provider: "eversend" } }
      })
    }).pipe(Effect.scoped)
  )
})
