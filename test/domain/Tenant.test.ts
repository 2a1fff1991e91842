import { expect, it } from "vitest"
import { Capability, defaultCapabilities, sortedCapabilities } from "../../src/domain/Tenant.ts"

it("what a tenant is granted is shown in one order, and each once", () => {
  expect(sortedCapabilities(Capability.literals.toReversed())).toStrictEqual(Capability.literals)
  expect(sortedCapabilities(["fx", "collections", "fx"])).toStrictEqual(["collections", "fx"])
  expect(sortedCapabilities([])).toStrictEqual([])
})

it("a new tenant may do all but refunds and reading the balances of the provider's account", () => {
  expect(defaultCapabilities).toStrictEqual(Capability.literals.filter((one) => one !== "refunds" && one !== "balances"))
})
