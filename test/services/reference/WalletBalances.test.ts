import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Mode } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Balance } from "../../../src/services/ports/ProviderReads.ts"
import { coverageOf, WalletBalances } from "../../../src/services/reference/WalletBalances.ts"
import { type FakeProvider, fakeProvider, fakeProviderRegistry } from "../../fakes/FakeProvider.ts"

const wallet = (currency: Balance["currency"], amount: bigint): Balance => ({ currency, available: minor(amount), pending: null })
const account = (provider: string, mode: Mode, wallets: ReadonlyArray<Balance> | "unknown" | "unnamed") => ({
  provider,
  mode,
  isPrevious: false,
  asOf: 1,
  wallets
})
const float = (mode: Mode, currency: Balance["currency"], available: bigint, reserved = 0n) => ({
  mode,
  currency,
  available,
  reserved
})

/** A provider whose wallets are read so. */
const telling = (name: string, balances: Effect.Effect<ReadonlyArray<Balance>>): FakeProvider => {
  const fake = fakeProvider(name)
  return { ...fake, provider: (mode) => ({ ...fake.provider(mode), reference: { balances } }) }
}

it("sums the wallets of all providers against the floats of all tenants, and says whose wallets are in no sum", () => {
  const accounts = [
    account("one", "live", [wallet("UGX", 700n), wallet("KES", 5n)]),
    account("two", "live", [wallet("UGX", 400n)]),
    account("three", "live", "unknown"),
    account("one", "test", [wallet("UGX", 9n)])
  ]
  expect(coverageOf(accounts, [float("live", "UGX", 900n, 300n), float("live", "GHS", 1n)])).toStrictEqual([
    { mode: "live", currency: "GHS", wallets: null, before: null, floats: 1n, without: ["three"] },
    { mode: "live", currency: "KES", wallets: 5n, before: null, floats: 0n, without: ["three"] },
    { mode: "live", currency: "UGX", wallets: 1_100n, before: null, floats: 1_200n, without: ["three"] },
    { mode: "test", currency: "UGX", wallets: 9n, before: null, floats: 0n, without: [] }
  ])
})

it("counts no wallet twice where the account before is another client of it", () => {
  const wallets = [wallet("UGX", 500n)]
  const accounts = [
    account("mtn", "live", wallets),
    { ...account("mtn", "live", wallets), isPrevious: true },
    { ...account("wave", "live", "unknown"), isPrevious: true }
  ]
  expect(coverageOf(accounts, [float("live", "UGX", 900n)])).toStrictEqual([
    { mode: "live", currency: "UGX", wallets: 500n, before: 500n, floats: 900n, without: ["wave, the account before"] }
  ])
})

it.effect("calls an account unknown that does not answer within five seconds, and asks each again after half a minute", () => {
  let asked = 0
  const silent = telling("silent", Effect.never)
  const count = Effect.sync(() => {
    asked += 1
    return [wallet("UGX", BigInt(asked))]
  })
  const open = telling("open", count)
  const layer = WalletBalances.layer.pipe(Layer.provide(fakeProviderRegistry([silent, open])))
  return Effect.gen(function* () {
    const { read } = yield* WalletBalances
    const reading = yield* Effect.forkChild(read)
    yield* TestClock.adjust("5 seconds")
    const first = yield* Fiber.join(reading)
    expect(first.map(({ provider, wallets }) => [provider, wallets])).toStrictEqual([
      ["silent", "unknown"],
      ["open", [wallet("UGX", 1n)]]
    ])
    expect(first.map(({ asOf }) => asOf)).toStrictEqual([5_000, 0])
    yield* read
    expect(asked).toBe(1)
    yield* TestClock.adjust("31 seconds")
    const again = yield* Effect.forkChild(read)
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(again)
    expect(asked).toBe(2)
  }).pipe(Effect.provide(layer))
})

it.effect(
  "says at once what was read last, asks again a minute later while somebody looks, and forgets it when nobody did",
  () => {
    let asked = 0
    const open = telling(
      "open",
      Effect.delay(
        Effect.sync(() => [wallet("UGX", BigInt(++asked))]),
        "2 seconds"
      )
    )
    const layer = WalletBalances.layer.pipe(Layer.provide(fakeProviderRegistry([open])))
    return Effect.gen(function* () {
      const { latest } = yield* WalletBalances
      const held = Effect.map(
        latest,
        (accounts) => accounts?.flatMap(({ wallets }) => (typeof wallets === "string" ? [] : wallets)) ?? null
      )
      expect(yield* held).toBe(null)
      yield* TestClock.adjust("2 seconds")
      expect(yield* held).toStrictEqual([wallet("UGX", 1n)])
      yield* TestClock.adjust("57 seconds")
      expect(yield* held).toStrictEqual([wallet("UGX", 1n)])
      expect(asked).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* held).toStrictEqual([wallet("UGX", 1n)])
      yield* TestClock.adjust("2 seconds")
      expect(yield* held).toStrictEqual([wallet("UGX", 2n)])
      yield* TestClock.adjust("10 minutes")
      expect(asked).toBe(2)
      expect(yield* held).toBe(null)
    }).pipe(Effect.provide(layer))
  }
)
