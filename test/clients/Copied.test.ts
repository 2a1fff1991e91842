import { afterAll, describe, expect, it } from "vitest"
import { schemaText } from "../../clients/typescript/generate.ts"
import { projectWith } from "../support/CopiedClients.ts"
import { interfaceDescription } from "../support/InterfaceDescription.ts"

describe("the clients, copied as they are", () => {
  const browser = projectWith(["typescript"], [])
  const effect = projectWith(["typescript", "effect"], ["effect", "@types/node", "undici-types"])
  afterAll(() => {
    browser.remove()
    effect.remove()
  })

  it("have the types of the interface's description", async () => {
    // `npm test -- test/clients/Copied.test.ts -u` writes them again.
    await expect(schemaText(interfaceDescription())).toMatchFileSnapshot("../../clients/typescript/src/Schema.ts")
  })

  it("compile in a strict project with the types of a browser, Deno or Bun", async () => {
    expect(await browser.compile({ noEmit: true, lib: ["es2022", "dom"], types: [] })).toBe("")
  })

  it("compile in a strict project with Node's types, and with Effect", async () => {
    expect(await effect.compile({ noEmit: true, lib: ["es2024"], types: ["node"], skipLibCheck: true })).toBe("")
  })
})
