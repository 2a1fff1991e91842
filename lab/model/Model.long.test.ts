import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { itWith } from "../../test/support/Installed.ts"
import { checkModel, rules } from "./Model.ts"

const LONGEST_MS = 60_000
/** Spin makes a program in C. */
const itModel = itWith("sh", "-c", "spin -V && gcc --version")
const model = readFileSync(join(import.meta.dirname, "payout.pml"), "utf8")
const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "laboratory", "model.md"), "utf8")

describe("the model of one payout", () => {
  itModel("is right in every state that one request leads to", { timeout: LONGEST_MS }, async () => {
    expect(await checkModel({ requests: 1 })).toMatchObject({ isComplete: true, broken: null })
  })

  for (const { breaks, macro, rule } of rules.filter(({ isQuick }) => isQuick === true))
    itModel(`breaks without the rule that ${rule}`, { timeout: LONGEST_MS }, async () => {
      expect(await checkModel({ without: macro })).toMatchObject({ broken: breaks })
    })

  it("has a macro and a line of its page for each rule, and no others", () => {
    const macros = [...model.matchAll(/WITHOUT_([A-Z_]+)/gu)].map(([, macro]) => macro)
    expect([...new Set(macros)].toSorted()).toEqual(rules.map(({ macro }) => macro).toSorted())
    for (const { rule } of rules) expect(page.toLowerCase()).toContain(`| ${rule} |`)
  })
})
