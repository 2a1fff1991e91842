import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { knownProviders } from "../../src/providers/Registry.ts"

const providers = new URL("../../src/providers/", import.meta.url)
const sixth = new URL("sixth/", import.meta.url)

const always = [
  "README.md",
  "Adapter.ts",
  "Client.ts",
  "Order.ts",
  "Refusals.ts",
  "Settings.ts",
  "Translate.ts",
  "Callback.ts",
  "Wire.ts"
]
/** Of these a folder has those that its wire makes necessary. */
const particular = [
  "ActiveConf.ts",
  "Amounts.ts",
  "Banks.ts",
  "CallbackKeys.ts",
  "Clawbacks.ts",
  "Exchange.ts",
  "Networks.ts",
  "Quote.ts",
  "Reference.ts",
  "RefusedPin.ts",
  "Statement.ts",
  "StatementRows.ts"
]

const names = readdirSync(providers, { withFileTypes: true }).filter((entry) => entry.isDirectory())
const folders = [
  ...names.map(({ name }) => ({ name, folder: new URL(`${name}/`, providers), beside: particular })),
  { name: "sixth", folder: sixth, beside: [...particular, "Simulator.ts", "Sixth.long.test.ts"] }
]

describe("the folders of the providers", () => {
  it("are those of the registry, and the sixth by which a new one is tried", () => {
    const known = knownProviders.map(({ name }) => name)
    expect(folders.map(({ name }) => name).sort()).toEqual([...known, "sixth"].sort())
  })

  for (const { beside, folder, name } of folders)
    it(`${name} has the same files for the same things as every other one`, () => {
      const files = readdirSync(folder)
      expect(files).toEqual(expect.arrayContaining(always))
      expect(files.filter((file) => ![...always, ...beside].includes(file))).toEqual([])
    })

  it("leave a new provider within 700 lines, its simulator included", () => {
    const source = readdirSync(sixth).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    const lines = source.flatMap((file) => readFileSync(new URL(file, sixth), "utf8").trimEnd().split("\n"))
    expect(lines.length).toBeLessThanOrEqual(700)
  })
})
