import { readFileSync } from "node:fs"
import { describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import type { CorridorKey } from "../../../src/domain/Corridor.ts"
import { minor } from "../../../src/domain/Money.ts"
import { CorridorsPg } from "../../../src/persistence/tenants/CorridorsPg.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { Corridors } from "../../../src/services/ports/Corridors.ts"
import { Vault } from "../../../src/services/ports/Vault.ts"
import { auditEntry, givenDatabase, givenNode, givenTenant } from "../../support/TestDatabase.ts"

const ugandaBank: CorridorKey = { country: "UG", currency: "UGX", direction: "payout", method: "bank" }
const ghanaMomo: CorridorKey = { country: "GH", currency: "GHS", direction: "collection", method: "momo" }

describe("the corridors", () => {
  it.effect("are initially the contract's rows", () =>
    Effect.gen(function* () {
      const corridors = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), Corridors)
      const rows = yield* corridors.list
      expect(rows).toHaveLength(29)
      const named = (active: boolean) =>
        rows.filter((row) => row.active === active).map(({ country, direction, method }) => `${country} ${direction} ${method}`)
      expect(named(true)).toEqual([
        "GH collection momo",
        "GH payout bank",
        "GH payout momo",
        "GH payout wallet",
        "KE collection momo",
        "KE payout bank",
        "KE payout momo",
        "KE payout wallet",
        "NG payout bank",
        "NG payout wallet",
        "RW collection momo",
        "RW payout momo",
        "RW payout wallet",
        "TZ payout wallet",
        "UG collection momo",
        "UG payout bank",
        "UG payout momo",
        "UG payout wallet",
        "ZM payout momo"
      ])
      expect(named(false)).toEqual([
        "BF collection momo",
        "BF payout momo",
        "CI collection momo",
        "CI payout momo",
        "CM collection momo",
        "CM payout momo",
        "TZ collection momo",
        "TZ payout momo",
        "UG collection card",
        "ZM collection momo"
      ])
      expect(rows.filter((row) => (row.inactiveReason === null) !== row.active)).toEqual([])
      const { updatedAt: _, ...bank } = Option.getOrThrow(yield* corridors.find(ugandaBank))
      expect(bank).toEqual({
        ...ugandaBank,
        active: true,
        providers: ["eversend"],
        networks: [],
        minimum: 10_000n,
        maximum: null,
        customerAction: "none",
        requiresRedirectUrl: false,
        requiresMsisdn: false,
        preference: "order",
        requiresName: false,
        destinationCurrencies: ["UGX", "KES", "GHS", "NGN"],
        availability: "operational",
        inactiveReason: null
      })
      const momo = Option.getOrThrow(yield* corridors.find(ghanaMomo))
      expect(momo).toMatchObject({
        customerAction: "redirect",
        requiresRedirectUrl: true,
        networks: ["MTN", "TELECEL", "AT"],
        minimum: null
      })
      expect(yield* corridors.find({ ...ugandaBank, currency: "USD" })).toEqual(Option.none())
    })
  )

  it.effect(
    "have the networks themselves behind the aggregator in a new installation, where no operator has set the row; an upgrade leaves them",
    () =>
      Effect.gen(function* () {
        const node = yield* Effect.flatMap(givenDatabase, (url) => givenNode(url))
        const corridors = Context.get(node, Corridors)
        const sql = Context.get(node, SqlClient.SqlClient)
        const behind = Effect.map(corridors.list, (rows) =>
          rows.flatMap(({ country, direction, method, providers: [first, ...others] }) =>
            others.length === 0 ? [] : [`${country} ${direction} ${method}: ${first}, ${others.join(", ")}`]
          )
        )
        const seeded = [
          "CI payout momo: eversend, wave",
          "KE collection momo: eversend, airtel, daraja",
          "KE payout momo: eversend, airtel, daraja",
          "RW collection momo: eversend, airtel",
          "RW payout momo: eversend, airtel",
          "TZ collection momo: eversend, airtel",
          "TZ payout momo: eversend, airtel",
          "UG collection momo: eversend, airtel",
          "UG payout momo: eversend, airtel",
          "ZM collection momo: eversend, airtel",
          "ZM payout momo: eversend, airtel"
        ]
        expect(yield* behind).toEqual(seeded)
        // Before its first tenant an operator has set one of the rows.
        yield* sql`UPDATE corridors SET providers = ARRAY['eversend'] WHERE method = 'momo'`
        const own = { country: "UG", currency: "UGX", direction: "payout", method: "momo" } as const
        const row = Option.getOrThrow(yield* corridors.find(own))
        yield* corridors.put(
          { ...row, providers: ["eversend"] },
          auditEntry({ action: "corridor set", subject: "UG/UGX/payout/momo" })
        )
        const step = readFileSync("src/persistence/schema/migrations/0065_seeded_networks.sql", "utf8")
        expect(yield* sql.unsafe(step, [""])).toEqual([{ reached: null }])
        yield* TestClock.adjust("1 second")
        expect(yield* behind).toEqual(seeded.filter((one) => !one.startsWith("UG payout")))
        // An installation of the release before, which has a tenant.
        yield* sql`UPDATE corridors SET providers = ARRAY['eversend'] WHERE method = 'momo'`
        yield* givenTenant(node)
        expect(yield* sql.unsafe(step, [""])).toEqual([{ reached: null }])
        yield* TestClock.adjust("1 second")
        expect(yield* behind).toEqual([])
      })
  )

  it.effect("change on every node within a second, and leave an audit row", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const before = Option.getOrThrow(yield* Context.get(one, Corridors).find(ugandaBank))
      yield* Context.get(other, Corridors).list
      const after = {
        ...before,
        active: false,
        inactiveReason: "closed",
        minimum: null,
        maximum: minor(5n),
        networks: ["MTN"],
        updatedAt: 1_234
      }
      yield* Context.get(one, Corridors).put(after, auditEntry({ action: "corridor set" }))
      expect(yield* Context.get(one, Corridors).find(ugandaBank)).toEqual(Option.some(after))
      yield* TestClock.adjust("999 millis")
      expect(yield* Context.get(other, Corridors).find(ugandaBank)).toEqual(Option.some(after))
      expect(yield* Context.get(one, AuditLog).list(10)).toMatchObject([{ action: "corridor set" }])
    })
  )

  it.effect("accept a new row", () =>
    Effect.gen(function* () {
      const corridors = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), Corridors)
      const bank = Option.getOrThrow(yield* corridors.find(ugandaBank))
      yield* corridors.put({ ...bank, country: "ZM", currency: "ZMW" }, auditEntry())
      expect(yield* corridors.list).toHaveLength(30)
    })
  )

  it.effect("are used for one second from the time of the question to the database, however late it answered", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const operator = yield* givenNode(url)
      const held: Array<() => void> = []
      let isHolding = false
      const sql = Context.get(operator, SqlClient.SqlClient)
      const holding = new Proxy(sql, {
        apply: (target, self, parameters) =>
          Effect.flatMap(Reflect.apply(target, self, parameters), (rows) =>
            isHolding ? Effect.callback((resume) => void held.push(() => resume(Effect.succeed(rows)))) : Effect.succeed(rows)
          )
      })
      const slow = yield* Layer.build(
        Layer.fresh(CorridorsPg).pipe(
          Layer.provide(Layer.succeed(SqlClient.SqlClient, holding)),
          Layer.provide(Layer.succeed(Vault, Context.get(operator, Vault))),
          Layer.orDie
        )
      )
      const isActive = Effect.map(Context.get(slow, Corridors).find(ugandaBank), (row) => Option.getOrThrow(row).active)
      isHolding = true
      const asking = yield* Effect.forkChild(isActive)
      yield* Effect.repeat(
        Effect.promise(() => new Promise((done) => setImmediate(done))),
        { until: () => held.length > 0 }
      )
      const row = Option.getOrThrow(yield* Context.get(operator, Corridors).find(ugandaBank))
      yield* Context.get(operator, Corridors).put({ ...row, active: false }, auditEntry())
      yield* TestClock.adjust(900)
      isHolding = false
      held[0]?.()
      expect(yield* Fiber.join(asking)).toBe(true)
      yield* TestClock.adjust(100)
      expect(yield* isActive).toBe(false)
    })
  )
})
