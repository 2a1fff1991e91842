import { readdirSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { knownSimulators } from "../../src/simulator/Registry.ts"

const folder = new URL("../../src/simulator/", import.meta.url)

const always = ["Reference.ts", "Responses.ts", "Simulator.ts", "Transactions.ts"]
/** Payouts and collections have one form on some wires, and two on others. */
const movements = [["Payments.ts"], ["Collections.ts", "Payouts.ts"]]
/** What only some wires have. */
const particular = [
  "Catalogue.ts",
  "Disputes.ts",
  "Exchanges.ts",
  "Quotations.ts",
  "Signature.ts",
  "Statements.ts",
  "TestNumbers.ts"
]

const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())

describe("the simulated providers", () => {
  it("are those of the registry", () => {
    expect(names.map(({ name }) => name).sort()).toEqual(knownSimulators.map(({ name }) => name).sort())
  })

  for (const { name } of names)
    it(`${name} has the same files as every other one`, () => {
      const files = readdirSync(new URL(`${name}/`, folder))
      const shared = files.filter((file) => !particular.includes(file))
      expect(movements.map((forms) => [...always, ...forms].sort())).toContainEqual(shared.sort())
    })
})
