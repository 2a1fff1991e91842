import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import { isOtherParty } from "../../src/providers/ProviderStatus.ts"

const own = Redacted.make("256772124567")

describe("the number that a provider shows", () => {
  for (const [how, shown] of [
    ["as it was sent", "256772124567"],
    ["with a plus and blanks", "+256 772 124 567"],
    ["as it is dialled at home", "0772124567"],
    ["its end alone", "4567"],
    ["masked in its middle", "2567****4567"],
    ["masked in its middle by letters", "2567XXXX4567"],
    ["masked but for its end", "••••4567"],
    ["masked twice", "25677*12**4567"],
    ["masked, with an end too short to tell", "2567*****567"],
    ["masked at its end", "25677212####"],
    ["masked whole", "XXXXXXXXXXXX"],
    ["nothing", null]
  ] as const)
    it(`${how}: is this record's`, () => {
      expect(isOtherParty(own, shown)).toBe(false)
    })

  for (const [how, shown] of [
    ["whole", "256772129999"],
    ["its end", "9999"],
    ["masked in its middle", "2567****9999"],
    ["masked in its middle by letters", "2567xxxx9999"],
    ["masked but for its end", "••••9999"]
  ] as const)
    it(`of another, ${how}: is another's`, () => {
      expect(isOtherParty(own, shown)).toBe(true)
    })

  it("is nobody else's where no number of this record is known, or one too short to tell", () => {
    for (const expected of [undefined, Redacted.make("123")]) expect(isOtherParty(expected, "256772129999")).toBe(false)
  })
})
