import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Currency } from "../../src/domain/Currency.ts"
import { accountOf, stampOf } from "../../src/domain/ProviderAccount.ts"

/** An account that is known by these fingerprints in shillings, and by others in dollars where it moves them. */
const known = (name: string, shillings: ReadonlyArray<string>, dollars: ReadonlyArray<string> = []) => ({
  name,
  fingerprints: (currency: Currency) => (currency === "KES" ? shillings : currency === "USD" ? dollars : [])
})

const current = known("current", ["c2", "c1"], ["d2"])
const previous = known("previous", ["p1"])
const both = [current, previous]
const sentWith = (account?: string, currency: Currency = "KES") => ({ currency, ...(account === undefined ? {} : { account }) })

describe("the account that a transaction is sent with", () => {
  it("is kept by the name that is its newest in the currency, and not at all where it moves nothing in it", () => {
    expect([stampOf(current, "KES"), stampOf(current, "USD"), stampOf(previous, "KES")]).toStrictEqual([
      { account: "c2" },
      { account: "d2" },
      { account: "p1" }
    ])
    expect([stampOf(previous, "USD"), stampOf(current, "UGX")]).toStrictEqual([{}, {}])
  })
})

describe("the account that is asked about a transaction", () => {
  it.each<readonly [string, ReturnType<typeof sentWith>, string | undefined]>([
    ["the one that it was sent with", sentWith("p1"), "previous"],
    ["the same under its newest name", sentWith("c2"), "current"],
    ["the same under an earlier name", sentWith("c1"), "current"],
    ["none where that one is not set", sentWith("gone"), undefined],
    ["none where its name is one of another currency", sentWith("d2"), undefined],
    ["the one of that currency", sentWith("d2", "USD"), "current"],
    ["none where no account moves the currency", sentWith("c2", "UGX"), undefined]
  ])("is %s", (_, record, name) => {
    expect(accountOf(both, [], record)?.name).toBe(name)
    // Which accounts were claimed concerns only what keeps none.
    expect(accountOf(both, ["p1", "c2", "d2"], record)?.name).toBe(name)
  })

  it("is never another one, though it were the only one that is set", () => {
    expect(accountOf([current], ["p1"], sentWith("p1"))).toBeUndefined()
    expect(accountOf([], [], sentWith("p1"))).toBeUndefined()
  })

  it("is the one that was set first where the transaction is from before accounts were kept", () => {
    expect(accountOf(both, ["p1"], sentWith())).toBe(previous)
    expect(accountOf(both, ["c1"], sentWith())).toBe(current)
    // Two were set then: one of them, and nobody knows which.
    expect(accountOf(both, ["gone", "p1"], sentWith())).toBe(previous)
    expect(accountOf(both, ["gone"], sentWith())).toBeUndefined()
    expect(accountOf(both, ["p1"], sentWith(undefined, "USD"))).toBeUndefined()
  })

  it("is the only one that there can have been where none was set first", () => {
    expect(accountOf(both, [], sentWith())).toBe(current)
    expect(accountOf([previous], [], sentWith())).toBe(previous)
    expect(accountOf([], [], sentWith())).toBeUndefined()
  })

  it("is found by what a transaction keeps of it, whichever accounts are set beside it and whatever it is called later", () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 12 })
    fc.assert(
      fc.property(names, fc.nat(), fc.nat(), fc.array(fc.string()), (all, cut, which, claimed) => {
        const at = 1 + (cut % (all.length - 1))
        const [one, other] = [known("one", all.slice(0, at)), known("other", all.slice(at))]
        const sender = which % 2 === 0 ? one : other
        const record = { currency: "KES", ...stampOf(sender, "KES") } as const
        const renamed = known("renamed", ["newer", ...sender.fingerprints("KES")])
        expect(accountOf([one, other], claimed, record)).toBe(sender)
        expect(accountOf([other, one], claimed, record)).toBe(sender)
        expect(accountOf([renamed], claimed, record)).toBe(renamed)
        expect(accountOf([sender === one ? other : one], claimed, record)).toBeUndefined()
      })
    )
  })
})
