import { expect, it } from "@effect/vitest"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { proposalFacts } from "../../src/console/ProposalTable.ts"

const textOf = (details: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  [...renderToString(h("div", null, proposalFacts({ details }))).matchAll(/<li>(.*?)<\/li>/g)].map(([, line = ""]) =>
    line.replaceAll(/<[^>]*>/g, "")
  )

it("shows each amount of a proposal in major units, with the currency that goes with it", () => {
  const details = { asked_minor: "1250", asked_currency: "KES", outcome: "successful", evidence: "line 7", seen: "3" }
  expect(textOf({ ...details, amount_minor: "12500", amount_currency: "UGX", fee_minor: "5", fee_currency: "KES" })).toEqual([
    "The tenant asked for: KES 12.50",
    "Outcome: successful",
    "Evidence: line 7",
    "Amount: UGX 12,500",
    "Fee: KES 0.05"
  ])
})

it("takes no currency for granted where a proposal names none, and shows hostile words as words", () => {
  expect(textOf({ amount_minor: "12500" })).toEqual(["Amount: 12500 of the smallest unit"])
  expect(textOf({ amount_minor: "<b>", evidence: "<script>" })).toEqual(["Amount: &lt;b>", "Evidence: &lt;script>"])
})
