import { expect, it, layer } from "@effect/vitest"
import { Clock, DateTime, Effect, Exit, Option, Redacted } from "effect"
import { describe } from "vitest"
import { paystack } from "../../../src/providers/paystack/Adapter.ts"
import type { Adapter } from "../../../src/services/ports/Provider.ts"
import type { ReferenceData } from "../../../src/services/ports/ProviderReads.ts"
import { simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { simulatedPaystack } from "../../../src/simulator/paystack/Simulator.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder, momo, payoutOrder } from "../contract/Orders.ts"
import { answer, stub } from "../ProviderStub.ts"

const present = <A>(part: A | undefined): A => Option.getOrThrow(Option.fromUndefinedOr(part))
const readsOf = ({ reference }: Adapter): Required<Omit<ReferenceData, "branches">> => {
  const { balances, banks, countries, resolve } = present(reference)
  return { balances: present(balances), banks: present(banks), countries: present(countries), resolve: present(resolve) }
}
const account = (country: string, bankCode: string, accountNumber: string) => ({
  country,
  bankCode,
  accountNumber: Redacted.make(accountNumber)
})

layer(ContractBench.layer(simulatedPaystack), { excludeTestServices: true })("Paystack's reads:", (it) => {
  it.effect("lists the banks that can be paid, without mobile networks and closed ones (38.14)", () =>
    Effect.gen(function* () {
      const { banks } = readsOf((yield* ContractBench).live)
      expect(yield* banks("NG")).toStrictEqual([
        { code: "044", name: "Access Bank" },
        { code: "058", name: "Guaranty Trust Bank" },
        { code: "14", name: "Access Bank (Diamond)" }
      ])
      expect((yield* banks("GH")).map(({ code }) => code)).toStrictEqual(["040100", "130100"])
      // Issue 38, line 14: tills and paybills are listed among Kenya's banks.
      expect((yield* banks("KE")).map(({ code }) => code)).toStrictEqual(["01", "68"])
      expect([yield* banks("CI"), yield* banks("UG")]).toStrictEqual([[], []])
    })
  )

  it.effect("resolves holders in Nigeria and Ghana, and answers none for an unknown account", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const { resolve } = readsOf(live)
      expect(live.guarantees.bankAccountCountries).toStrictEqual(["NG", "GH"])
      const holder = yield* resolve(account("NG", "058", "0012001234"))
      expect(holder === "unresolvable" ? holder : Redacted.value(holder)).toBe("JOHN DOE")
      expect(yield* resolve(account("GH", "130100", "0012000016"))).toBe("unresolvable")
      expect(yield* resolve(account("NG", "nobody", "0012001234"))).toBe("unresolvable")
      expect(Exit.isFailure(yield* Effect.exit(resolve(account("NG", "058", "0012000017"))))).toBe(true)
      expect(Exit.isFailure(yield* Effect.exit(resolve(account("KE", "68", "0012001234"))))).toBe(true)
    })
  )

  it.effect("lists the countries that it pays, and its balances in whole minor units", () =>
    Effect.gen(function* () {
      const { balances, countries } = readsOf((yield* ContractBench).test)
      expect(yield* countries).toStrictEqual([
        { country: "NG", name: "Nigeria", phonePrefix: "+234", methods: ["bank"] },
        { country: "GH", name: "Ghana", phonePrefix: "+233", methods: ["momo", "bank"] },
        { country: "KE", name: "Kenya", phonePrefix: "+254", methods: ["momo", "bank"] }
      ])
      const whole = { available: 1_000_000_000_000n, pending: null }
      expect(yield* balances).toStrictEqual(["NGN", "GHS", "KES", "XOF"].map((currency) => ({ currency, ...whole })))
    })
  )

  it.effect("lists a day's charges and transfers with our references and their outcomes", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const francs = momo("CI", "XOF", "MTN", "225070000")
      const shillings = momo("KE", "KES", "MPESA", "25470000")
      const charge = chargeOrder(francs, "1234")
      const failed = chargeOrder(francs, "0002")
      const payout = yield* payoutOrder(payoutsOf(live), shillings, "0015")
      yield* collectionsOf(live).charge(charge)
      yield* collectionsOf(live).charge(failed)
      const sent = yield* payoutsOf(live).send(payout)
      const ended = (tag: string) => (fact: { readonly _tag: string }) => fact._tag === tag
      yield* eventually(Effect.flatMap(askOrder(francs, charge.reference), collectionsOf(live).fetchStatus), ended("Succeeded"))
      yield* eventually(Effect.flatMap(askOrder(francs, failed.reference), collectionsOf(live).fetchStatus), ended("Refused"))
      yield* eventually(Effect.flatMap(askOrder(shillings, payout.reference), payoutsOf(live).fetchStatus), ended("Returned"))
      const today = DateTime.formatIso(DateTime.makeUnsafe(yield* Clock.currentTimeMillis)).slice(0, 10)
      const { lines } = yield* present(live.statement)(today)
      const at = expect.any(Number)
      const providerReference = expect.stringMatching(/^\d{16}$/)
      const collected = { direction: "collection", providerReference, amount: 20_000n, currency: "XOF", at }
      expect(lines).toContainEqual({ ...collected, reference: charge.reference, fee: 300n, status: "successful" })
      expect(lines).toContainEqual({ ...collected, reference: failed.reference, fee: null, status: "failed" })
      expect(lines).toContainEqual({
        direction: "payout",
        providerReference: "providerReference" in sent ? sent.providerReference : "",
        reference: payout.reference,
        amount: 12_345n,
        currency: "KES",
        fee: 3000n,
        status: "returned",
        at
      })
      expect((yield* present(live.statement)("2020-01-01")).lines).toStrictEqual([])
    })
  )
})

const charge = (id: number, change: object = {}) => ({
  id,
  reference: `r${id}`,
  status: "success",
  amount: 10_000,
  currency: "GHS",
  fees: 150,
  created_at: "2026-01-31T23:59:59.000Z",
  ...change
})
const page = (data: ReadonlyArray<unknown>, meta: object = {}) => answer(200, { status: true, message: "", data, meta })

const opened = (baseUrl: string) =>
  paystack(
    {
      baseUrl,
      secretKey: Redacted.make("sk_test_stub"),
      fees: simulatedPayoutFees,
      emailDomain: "example.com",
      timeoutMs: 5_000
    },
    "test"
  )

describe("Paystack's lists", () => {
  it.effect("are read to their end, page after page, without lines of another day or a foreign currency", () =>
    Effect.gen(function* () {
      const full = Array.from({ length: 100 }, (_, index) => charge(index + 1))
      const rest = [charge(101), charge(102, { created_at: "2026-02-01T00:00:00.000Z" }), charge(103, { currency: "ZAR" })]
      const server = yield* stub({
        "GET /transaction?": [page(full), page(rest), page(full), page(rest)],
        "GET /transfer?": [page([])]
      })
      const { lines, unsteady } = yield* present((yield* opened(server.baseUrl)).statement)("2026-01-31")
      expect(lines.map(({ providerReference }) => providerReference)).toStrictEqual(
        full.map(({ id }) => String(id)).concat("101")
      )
      expect(unsteady).toStrictEqual([])
      // What has several pages is read twice: the second reading agrees.
      expect(server.seen.map(({ line }) => line.split("?")[0])).toStrictEqual([
        ...Array.from({ length: 4 }, () => "GET /transaction"),
        "GET /transfer"
      ])
    })
  )

  it.effect("name a row that cannot be read, with the word and without the person, and stop for none of them", () =>
    Effect.gen(function* () {
      const changes = [
        { status: "sleeping" },
        { amount: 1.5 },
        { created_at: "yesterday" },
        { id: { account_number: "0772123456" }, reference: "0772123456" },
        { created_at: "2026-01-30T10:00:00.000Z", status: "sleeping" },
        { currency: "ZAR", amount: null }
      ]
      const odd = changes.map((change, at) => charge(at + 2, change))
      const transfer = {
        transfer_code: "TRF_1",
        status: "success",
        amount: 500,
        currency: "GHS",
        created_at: "2026-01-31T08:00:00Z"
      }
      const server = yield* stub({
        "GET /transaction?": [page([charge(1), ...odd, charge(9)])],
        "GET /transfer?": [page([transfer, { ...transfer, transfer_code: null }])]
      })
      const { lines, unreadable } = yield* present((yield* opened(server.baseUrl)).statement)("2026-01-31")
      expect(lines.map(({ providerReference, reference }) => [providerReference, reference])).toStrictEqual([
        ["1", "r1"],
        ["9", "r9"],
        ["TRF_1", null]
      ])
      expect(
        unreadable.map(({ place, providerReference, reference, word }) => [place, providerReference, reference, word])
      ).toEqual([
        ["statement, page 1, row 2", "2", "r2", '"status":"sleeping"'],
        ["statement, page 1, row 3", "3", "r3", '"amount":"1.5", "fees":"150", "currency":"GHS"'],
        ["statement, page 1, row 4", "4", "r4", '"created_at":"yesterday"'],
        ["statement, page 1, row 5", null, "••••3456", '"id":{"account_number":"••••3456"}'],
        ["statement, page 1, row 2", null, null, '"transfer_code":null']
      ])
    })
  )

  it.effect("that shift between their pages are read again until two readings agree, or what does not agree is said", () =>
    Effect.gen(function* () {
      const full = Array.from({ length: 100 }, (_, index) => charge(index + 1))
      const shifted = [...full.slice(1), charge(101)]
      // The first reading misses 101, because a row of the first page was gone when the second one was read.
      const once = [page(full), page([]), page(shifted), page([charge(1)]), page(shifted), page([charge(1)])]
      const server = yield* stub({ "GET /transaction?": once, "GET /transfer?": [page([])] })
      const steady = yield* present((yield* opened(server.baseUrl)).statement)("2026-01-31")
      expect([steady.lines.length, steady.unsteady, server.seen.length]).toStrictEqual([101, [], 7])

      const never = Array.from({ length: 4 }, (_, at) => [page(full), page(at % 2 === 0 ? [] : [charge(101)])]).flat()
      const flickering = yield* stub({ "GET /transaction?": never, "GET /transfer?": [page([])] })
      const { lines, unsteady } = yield* present((yield* opened(flickering.baseUrl)).statement)("2026-01-31")
      expect([lines.length, unsteady.map(({ reference }) => reference)]).toStrictEqual([101, ["r101"]])
    })
  )

  it.effect("of banks are read on by their cursor, and one without a code takes no other one with it (38.5)", () =>
    Effect.gen(function* () {
      const bank = (code: string) => ({
        name: code,
        code,
        type: "nuban",
        active: true,
        is_deleted: null,
        supports_transfer: true
      })
      const odd = [{ ...bank("3"), code: null }, "bank", { ...bank("4"), active: "yes" }]
      const server = yield* stub({
        "GET /bank?": [page([...odd, bank("1")], { next: "abc" }), page([bank("2")], { next: null })]
      })
      const banks = yield* readsOf(yield* opened(server.baseUrl)).banks("NG")
      expect(banks.map(({ code }) => code)).toStrictEqual(["1", "2"])
      expect(server.seen[1]?.line).toContain("next=abc")
    })
  )
})
