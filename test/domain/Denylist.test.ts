import { Result } from "effect"
import { expect, it } from "vitest"
import { type DenylistKind, newDenial } from "../../src/domain/Denylist.ts"

it("the denylist shows a name by its first letters, and anything else by its end in one spelling", () => {
  const shown = (kind: DenylistKind, value: string) =>
    Result.getOrThrow(newDenial(kind, value, { country: null, isAccount: false })).masked
  expect(shown("screened_name", "Jane Doe")).toBe("J••• D••")
  expect(shown("screened_number", "+256 772-12 34-56")).toBe("••••3456")
  expect(shown("destination", "+256 772-12 34-56")).toBe("••••3456")
})
