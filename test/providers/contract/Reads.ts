import { expect, type Vitest } from "@effect/vitest"
import { Clock, DateTime, Effect, Redacted } from "effect"
import { isCurrency } from "../../../src/domain/Currency.ts"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { type MinorUnits, minor } from "../../../src/domain/Money.ts"
import type { StatementUnreadable } from "../../../src/services/ports/Provider.ts"
import { collectionFee, payoutFee } from "../../../src/simulator/Fees.ts"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, openBench, payoutsOf } from "./Fixture.ts"
import { type Abilities, askOrder, chargeOrder, newReference, payoutOrder, quoteOrder, type Way } from "./Orders.ts"
import { idOf, visited } from "./Play.ts"

/** Amounts, fees and everything that is only read. */
/** What people write, and what no provider may refuse a payment for (issue 38, line 6). */
const NOTE = "Ama’s fees & rent: <50%> 🎉 Ẹniọlá, à Abidjan"

export const reads = (it: Vitest.MethodsNonLive<ContractBench>, known: KnownSimulator, abilities: Abilities) => {
  const { lists = ["payout", "collection"], namesAmounts } = abilities
  const named = (amount: MinorUnits) => ({ amount: namesAmounts === false ? null : amount })

  for (const way of abilities.payouts) {
    it.effect(`pays out ${nameOf(way)}, exactly, for the fee that it quoted`, () =>
      Effect.gen(function* () {
        const { executions, live } = yield* ContractBench
        const { amount, currency } = way
        const fee = payoutFee(currency, way.method, amount)
        const order = { ...(yield* payoutOrder(payoutsOf(live), way, "1234")), narration: NOTE }
        expect(order.quote).toMatchObject({
          principal: amount,
          fee,
          destinationAmount: amount,
          destinationCurrency: currency,
          rate: null
        })
        expect(order.quote.expiresInMs).toBeGreaterThan(0)
        expect(order.quote.expiresInMs).toBeLessThanOrEqual(live.guarantees.quoteTtlMs)
        const id = idOf(yield* payoutsOf(live).send(order))
        const ask = Effect.flatMap(askOrder(way, order.reference, id), payoutsOf(live).fetchStatus)
        const told = abilities.namesFees.payouts ? { fee } : {}
        const answer = yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
        expect(answer).toMatchObject({ ...named(amount), currency, ...told })
        expect((yield* executions(order.reference)).map(({ amount_minor }) => amount_minor)).toStrictEqual([Number(amount)])
      })
    )
  }

  for (const way of abilities.charges) {
    it.effect(`collects ${nameOf(way)}, exactly, and names the fee`, () =>
      Effect.gen(function* () {
        const { executions, live } = yield* ContractBench
        const { amount, currency } = way
        const order = { ...chargeOrder(way, "1234"), narration: NOTE }
        const outcome = yield* collectionsOf(live).charge(order)
        expect(outcome._tag === "NeedsRedirect").toBe(way.redirect)
        const ask = Effect.flatMap(askOrder(way, order.reference, idOf(outcome)), collectionsOf(live).fetchStatus)
        if (outcome._tag === "NeedsRedirect") {
          // Some providers know of a charge only once its payer was on the page.
          expect(["StillPending", "NotFound"]).toContain((yield* ask)._tag)
          yield* Effect.promise(async () => (await fetch(outcome.redirectUrl)).text())
        }
        const answer = yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
        expect(answer).toMatchObject({ ...named(amount), currency, fee: minor(collectionFee(amount)) })
        expect((yield* executions(order.reference)).map(({ amount_minor }) => amount_minor)).toStrictEqual([Number(amount)])
      })
    )
  }

  it.effect("a charge needs the code that the provider texts, where it texts any", () =>
    Effect.gen(function* () {
      const { executions, live } = yield* ContractBench
      const [way] = abilities.charges
      const sendCode = live.collections?.sendCode
      if (way === undefined || sendCode === undefined) return
      const first = chargeOrder(way, "1234")
      const texted = yield* sendCode(first.source)
      if (texted === "unknown") return yield* Effect.die(new Error("nobody knows whether the code was texted"))
      const { pinId } = texted
      const wrong = { ...first, otp: { pinId, pin: Redacted.make("000000") } }
      expect(yield* collectionsOf(live).charge(wrong)).toMatchObject({ _tag: "CodeRejected" })
      expect(yield* executions(wrong.reference)).toStrictEqual([])
      const right = { ...chargeOrder(way, "1234"), otp: { pinId, pin: Redacted.make("123456") } }
      expect(yield* collectionsOf(live).charge(right)).toMatchObject({ _tag: "Accepted" })
      yield* eventually(
        Effect.flatMap(askOrder(way, right.reference), collectionsOf(live).fetchStatus),
        ({ _tag }) => _tag === "Succeeded"
      )
    })
  )

  it.effect("banks, holders, countries and wallets have the shape of the port", () =>
    Effect.gen(function* () {
      const { reference } = (yield* ContractBench).live
      const account = abilities.payouts.find(({ method }) => method === "bank")
      if (reference?.banks !== undefined && account !== undefined) {
        const codes = (yield* reference.banks(account.country)).map(({ code, name }) => (name === "" ? "" : code))
        expect(codes.length).toBeGreaterThan(0)
        expect(codes).not.toContain("")
        expect(new Set(codes).size).toBe(codes.length)
        expect(yield* reference.banks("ZZ")).toStrictEqual([])
      }
      if (reference?.resolve !== undefined && account !== undefined) {
        const resolve = (ending: string) => reference.resolve?.(bankAccount(account, ending)) ?? Effect.die("no resolution")
        expect(yield* resolve("1234")).toSatisfy(Redacted.isRedacted)
        expect(yield* resolve("0016")).toBe("unresolvable")
        expect(yield* Effect.flip(resolve("0017"))).toStrictEqual(new ProviderError({}))
      }
      for (const one of reference?.countries === undefined ? [] : yield* reference.countries) {
        expect(one).toMatchObject({ country: expect.stringMatching(/^[A-Z]{2}$/), phonePrefix: expect.stringMatching(/^\+\d+$/) })
        expect(one.name).not.toBe("")
        expect(one.methods.length).toBeGreaterThan(0)
      }
      for (const one of reference?.balances === undefined ? [] : yield* reference.balances) {
        expect(isCurrency(one.currency)).toBe(true)
        expect(one.available).toBeGreaterThan(0n)
      }
    })
  )

  it.effect("its statement, where it has one, lists today's payouts and collections to the unit", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      if (live.statement === undefined) return
      const day = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
      const [paid] = abilities.payouts
      const [taken] = abilities.charges
      const moved = []
      if (paid !== undefined) {
        const order = yield* payoutOrder(payoutsOf(live), paid, "1234")
        yield* payoutsOf(live).send(order)
        const ask = Effect.flatMap(askOrder(paid, order.reference), payoutsOf(live).fetchStatus)
        const answer = yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
        // A list of what left the account need not say what has become of it.
        const status = expect.stringMatching(/^(successful|debited)$/)
        moved.push({ line: { direction: "payout" as const, ...sumOf(paid), status }, order, answer })
      }
      if (taken !== undefined) {
        const order = chargeOrder(taken, "1234")
        yield* Effect.flatMap(collectionsOf(live).charge(order), visited)
        const ask = Effect.flatMap(askOrder(taken, order.reference), collectionsOf(live).fetchStatus)
        const answer = yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
        // Nor need it say whether something of it was taken back.
        const status = expect.stringMatching(/^(successful|credited)$/)
        moved.push({ line: { direction: "collection" as const, ...sumOf(taken), status }, order, answer })
      }
      const { lines, unreadable, unsteady } = yield* live.statement(day)
      expect([unreadable, unsteady]).toStrictEqual([[], []])
      // By our reference, or by the provider's own, which its answers name.
      for (const { answer, line, order } of moved.filter(({ line: { direction } }) => lists.includes(direction))) {
        const handle = "providerReference" in answer ? answer.providerReference : null
        const own = lines.filter(
          ({ providerReference, reference }) =>
            reference === order.reference || (reference === null && providerReference === handle)
        )
        expect(own).toMatchObject([line])
      }
      expect(yield* live.statement("2020-01-01")).toStrictEqual({ lines: [], unreadable: [], unsteady: [] })
    })
  )

  it.effect("what was taken back of a charge is in its lists of disputes and refunds, where it has any", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const [way] = abilities.charges
      const clawbacks = live.collections?.clawbacks
      if (clawbacks === undefined || way === undefined) return
      const order = chargeOrder(way, "0015")
      const placed = yield* collectionsOf(live).charge(order)
      if (placed._tag === "NeedsRedirect") yield* Effect.promise(async () => (await fetch(placed.redirectUrl)).text())
      const day = 86_400_000
      const now = yield* Clock.currentTimeMillis
      const told = yield* eventually(
        Effect.gen(function* () {
          const { fetchStatus } = collectionsOf(live)
          const answer = yield* Effect.flatMap(askOrder(way, order.reference), fetchStatus)
          const handle = "providerReference" in answer ? answer.providerReference : null
          const { listed } = yield* clawbacks({ since: now - day, until: now + day, providerReference: null })
          return listed.filter(
            ({ providerReference, reference }) =>
              reference === order.reference || (handle !== null && providerReference === handle)
          )
        }),
        (found) => found.length > 0
      )
      const { amount, currency } = way
      expect(told.map(({ factIn }) => factIn(currency))).toMatchObject([{ _tag: "Clawback", state: "taken", amount, currency }])
      const [first] = told
      const { listed: own } = yield* clawbacks({
        since: now - day,
        until: now + day,
        providerReference: first?.providerReference ?? null
      })
      expect(own.map(({ providerReference }) => providerReference)).toContain(first?.providerReference)
    })
  )

  it.effect("when it refuses connections, nothing is sent and no read succeeds", () =>
    Effect.gen(function* () {
      const { control, executions, live, name } = yield* openBench(known)
      const [paid] = abilities.payouts
      const [taken] = abilities.charges
      const order = paid === undefined ? undefined : yield* payoutOrder(payoutsOf(live), paid, "1234")
      yield* control("down", { provider: name, down: true })
      if (paid !== undefined && order !== undefined) {
        expect(yield* payoutsOf(live).send(order)).toMatchObject({ _tag: "NotSent" })
        expect(yield* Effect.flatMap(askOrder(paid, newReference()), payoutsOf(live).fetchStatus)).toMatchObject(unasked)
        // By the account's contract it may be known without asking.
        const quoted = yield* Effect.result(payoutsOf(live).quote(quoteOrder(paid, "1234")))
        if (quoted._tag === "Failure") expect(quoted.failure).toStrictEqual(new ProviderError({}))
        else expect(quoted.success).toMatchObject({ principal: paid.amount })
      }
      if (taken !== undefined) {
        expect(yield* collectionsOf(live).charge(chargeOrder(taken, "1234"))).toMatchObject({ _tag: "NotSent" })
        expect(yield* Effect.flatMap(askOrder(taken, newReference()), collectionsOf(live).fetchStatus)).toMatchObject(unasked)
      }
      const { balances, resolve } = live.reference ?? {}
      const account = abilities.payouts.find(({ method }) => method === "bank")
      const asked: ReadonlyArray<Effect.Effect<unknown, ProviderError | StatementUnreadable>> = [
        ...(balances === undefined ? [] : [balances]),
        ...(resolve === undefined || account === undefined ? [] : [resolve(bankAccount(account, "1234"))]),
        ...(live.statement === undefined ? [] : [live.statement("2026-01-31")])
      ]
      for (const read of asked) expect(yield* Effect.flip(read)).toStrictEqual(new ProviderError({}))
      yield* control("down", { provider: name, down: false })
      if (order !== undefined) expect(yield* executions(order.reference)).toStrictEqual([])
      if (paid !== undefined && order !== undefined)
        expect((yield* payoutsOf(live).send(order))._tag).toMatch(/Accepted|Succeeded/)
    })
  )
}

const sumOf = ({ amount, currency }: Way) => ({ amount, currency, status: "successful" })

const unasked = { _tag: "Unknown", reason: "unavailable" }

const nameOf = ({ amount, country, currency, method, redirect }: Way): string =>
  `${amount} ${currency} by ${redirect ? "a page" : method} in ${country}`

const bankAccount = ({ country, party }: Way, ending: string) => {
  const destination = party(ending)
  if (destination._tag !== "bank") throw new Error("no bank account")
  return { country, bankCode: destination.bankCode, accountNumber: destination.accountNumber }
}
