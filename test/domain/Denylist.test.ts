import { expect, it } from "vitest"
import { maskedEntry } from "../../src/domain/Denylist.ts"

it("the denylist shows a name by its first letters, and anything else by its end in one spelling", () => {
  expect(maskedEntry("screened_name", "Jane Doe")).toBe("J••• D••")
  expect(maskedEntry("screened_number", "+256 772-12 34-56")).toBe("••••3456")
  expect(maskedEntry("destination", "+256 772-12 34-56")).toBe("••••3456")
})
