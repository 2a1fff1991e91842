import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Corridor } from "../../src/domain/Corridor.ts"
import type { Currency } from "../../src/domain/Currency.ts"
import type { Destination } from "../../src/domain/Party.ts"
import { openBranches } from "../../src/providers/CountryBranches.ts"
import { bank, corridorOf, momo, newReference } from "./contract/Orders.ts"

const uganda = momo("UG", "UGX", "MTN", "25670000")
const ghana = momo("GH", "GHS", "MTN", "23320000")
const silent = Effect.die(new Error("no call was expected"))
const identity = { name: "alpha", title: "Alpha", readAsUnknown: () => null } as never
const accounts: ReadonlyArray<{ readonly country: string; readonly currency: Currency }> = [
  { country: "UG", currency: "UGX" },
  { country: "GH", currency: "GHS" }
]

const opened = openBranches(identity, {
  accounts,
  network: "MTN",
  open: (account) => Effect.succeed({ ...account, client: () => silent }),
  transport: { call: () => silent },
  timeoutMs: 1_000
})

const placed = (corridor: Corridor, party: Destination) =>
  Effect.flatMap(opened, ({ placing }) => placing(corridor, party, ({ account }) => Effect.succeed(`sent in ${account.country}`)))

const corridor = corridorOf(uganda, "payout")
const number = uganda.party("1234")

describe("a provider with an account in each country", () => {
  it.effect("is sent an order in the order's own country", () =>
    Effect.gen(function* () {
      expect(yield* placed(corridor, number)).toBe("sent in UG")
      expect(yield* placed(corridorOf(ghana, "payout"), ghana.party("1234"))).toBe("sent in GH")
    })
  )

  it.effect.each([
    { other: "currency", why: "no account in this currency", corridor: { ...corridor, currency: "USD" as const }, party: number },
    { other: "country", why: "no account in this country", corridor: { ...corridor, country: "RW" }, party: number },
    { other: "country of the number", why: "no account in this country", corridor, party: ghana.party("1234") },
    { other: "network", why: "another network", corridor, party: momo("UG", "UGX", "AIRTEL", "25670000").party("1234") },
    { other: "method", why: "another method", corridor, party: bank("UG", "UGX", "01", "900").party("1234") }
  ])("is not sent an order of another $other", ({ corridor, party, why }) =>
    Effect.gen(function* () {
      expect(yield* placed(corridor, party)).toMatchObject({
        fact: { _tag: "Refused" },
        alarm: `a corridor leads to Alpha, which cannot serve it: ${why}`
      })
    })
  )

  it.effect.each([
    { where: "where it has an account", country: "UG", currency: "UGX" as const, asked: true },
    {
      where: "in another currency than the account's, because its answer would prove nothing",
      country: "UG",
      currency: "EUR" as const,
      asked: false
    },
    { where: "in a country without an account", country: "RW", currency: "RWF" as const, asked: false }
  ])("is asked about a payment $where: $asked", ({ asked, country, currency }) =>
    Effect.gen(function* () {
      const { looking } = yield* opened
      const query = {
        reference: newReference(),
        providerReference: null,
        currency,
        destinationCurrency: null,
        country,
        sentAt: 0
      }
      const answer = looking(() => () => Effect.succeed({ fact: { _tag: "NotFound" as const, note: "" }, alarm: null }))
      expect(yield* answer(query, 0)).toMatchObject({ fact: { _tag: asked ? "NotFound" : "Unknown" } })
    })
  )
})
