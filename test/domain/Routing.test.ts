import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Availability, availabilityOf, type Method, worse } from "../../src/domain/Corridor.ts"
import { failoverOrder, pinnedFirst, routedProviders, routeOrder } from "../../src/domain/Routing.ts"

const names = ["alpha", "beta", "gamma", "delta"] as const
const name = fc.constantFrom(...names)
const providers = fc.array(name, { minLength: 1, maxLength: 6 })
const method = fc.constantFrom<Method>("momo", "bank", "card")
const able = fc.subarray([...names]).map((those) => new Set<string>(those))
const row = fc.record({ providers, method, active: fc.boolean() })

describe("the providers that are tried for a corridor", () => {
  it("are its list in its order, each once, without those that cannot serve it", () =>
    fc.assert(
      fc.property(row, able, (given, those) => {
        const tried = failoverOrder(given, null, (one) => those.has(one))
        expect(tried).toStrictEqual([...new Set(given.providers)].filter((one) => those.has(one)))
      })
    ))

  it("are only the tenant's pinned provider where the list has it, able or not", () =>
    fc.assert(
      fc.property(row, able, name, (given, those, pin) => {
        fc.pre(given.providers.includes(pin))
        expect(failoverOrder(given, pin, (one) => those.has(one))).toStrictEqual(those.has(pin) ? [pin] : [])
      })
    ))

  it("are the same as without a pin where the list does not have the pinned provider", () =>
    fc.assert(
      fc.property(row, able, name, (given, those, pin) => {
        fc.pre(!given.providers.includes(pin))
        const isAble = (one: string) => those.has(one)
        expect(failoverOrder(given, pin, isAble)).toStrictEqual(failoverOrder(given, null, isAble))
      })
    ))

  it("are at most one for a wallet, because the same tag names somebody else at another provider", () =>
    fc.assert(
      fc.property(providers, able, (list, those) => {
        const isAble = (one: string) => those.has(one)
        const tried = failoverOrder({ providers: list, method: "wallet", active: true }, null, isAble)
        expect(tried).toStrictEqual(list.filter(isAble).slice(0, 1))
      })
    ))
})

describe("all providers that a tenant can be routed to", () => {
  it("are every provider of every row once, the pinned one first, then those of active rows", () =>
    fc.assert(
      fc.property(fc.array(row), fc.option(name), (rows, pin) => {
        const routed = routedProviders(rows, pin)
        const of = (active: boolean) =>
          rows.filter((one) => one.active === active).flatMap((one) => failoverOrder({ ...one, method: "momo" }, pin, () => true))
        expect(new Set(routed)).toStrictEqual(new Set([...of(true), ...of(false)]))
        expect(routed).toHaveLength(new Set(routed).size)
        if (pin !== null && routed.includes(pin)) expect(routed[0]).toBe(pin)
        const others = routed.filter((one) => one !== pin)
        const first = new Set(of(true).filter((one) => one !== pin))
        expect(new Set(others.slice(0, first.size))).toStrictEqual(first)
      })
    ))
})

it("a tenant's own provider is before all others, where it is among them", () => {
  expect(pinnedFirst(["alpha", "beta", "gamma"], "beta")).toStrictEqual(["beta", "alpha", "gamma"])
  expect(pinnedFirst(["alpha", "beta"], "delta")).toStrictEqual(["alpha", "beta"])
  expect(pinnedFirst(["alpha", "beta"], null)).toStrictEqual(["alpha", "beta"])
})

it("a row's providers are the tenant's own alone, where the row has it, and each once", () => {
  expect(routeOrder({ providers: ["alpha", "beta", "alpha"] }, "beta")).toStrictEqual(["beta"])
  expect(routeOrder({ providers: ["alpha", "beta", "alpha"] }, "delta")).toStrictEqual(["alpha", "beta"])
  expect(routeOrder({ providers: ["alpha", "beta", "alpha"] }, null)).toStrictEqual(["alpha", "beta"])
})

describe("the availability of a corridor", () => {
  it.each<[tried: number, open: number, expected: Availability]>([
    [1, 0, "operational"],
    [2, 1, "degraded"],
    [2, 2, "down"],
    [1, 1, "down"],
    [0, 0, "operational"]
  ])("with %i providers, of which %i have an open circuit, is %s", (tried, open, expected) => {
    expect(availabilityOf(tried, open)).toBe(expected)
  })

  it("is the worse of what an operator set and what is observed", () => {
    expect(worse("degraded", "operational")).toBe("degraded")
    expect(worse("degraded", "down")).toBe("down")
    expect(worse("down", "degraded")).toBe("down")
    expect(worse("operational", "operational")).toBe("operational")
  })
})
