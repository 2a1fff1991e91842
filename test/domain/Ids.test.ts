import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { AppId, isReference } from "../../src/domain/Ids.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { RandomSource } from "../../src/services/ports/RandomSource.ts"

const isAppId = Schema.is(AppId)

describe("an app_id", () => {
  it("is 1 to 40 characters from a-z, 0-9, _ and -", () => {
    for (const name of ["a", "0", "_", "-", "acme-shop_2", "a".repeat(40)]) expect(isAppId(name), name).toBe(true)
    for (const name of ["", "a".repeat(41), "Acme", "acme shop", "acme.shop", "acmé", "acme\n", "acme/shop"])
      expect(isAppId(name), name).toBe(false)
  })
})

describe("a reference", () => {
  it("has 26 characters and nothing before or behind them", () => {
    const whole = "0123456789ABCDEFGHJKMNPQRS"
    expect([whole, `0${whole}`, `${whole}0`, whole.slice(1), whole.toLowerCase()].map(isReference)).toStrictEqual([
      true,
      false,
      false,
      false,
      false
    ])
  })

  const MADE = 2_000
  const ALPHABET = 32

  it.effect("has no structure: any of 32 characters at each of 26 places, and no order in time", () =>
    Effect.gen(function* () {
      const { reference } = yield* RandomSource
      const made = yield* Effect.forEach(Array.from({ length: MADE }), () => reference)
      expect(made.every(isReference)).toBe(true)
      expect(new Set(made).size).toBe(MADE)
      const charactersAt = Array.from({ length: 26 }, (_, place) => new Set(made.map((one) => one.charAt(place))).size)
      expect(charactersAt).toStrictEqual(Array.from({ length: 26 }, () => ALPHABET))
      const rising = made.filter((one, at) => one > (made[at - 1] ?? "")).length
      expect(Math.abs(rising - MADE / 2)).toBeLessThan(MADE / 5)
    }).pipe(Effect.provide(RandomSourceLive))
  )
})
