import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { describe, expect, it } from "vitest"
import { judgedSections } from "../../src/console/pages/RulingFilePages.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { ROWS_AT_MOST } from "../../src/domain/RulingFile.ts"
import type { RulableRow } from "../../src/services/settlement/RulingFiles.ts"
import { payout } from "../support/SampleTransactions.ts"

const row = (line: number, change: Parameters<typeof payout>[0] = {}): RulableRow => {
  const record = payout({ needsReview: true, ...change })
  const postings = [
    { account: "reserved", currency: "UGX", amount: -10_000n },
    { account: "paid_out", currency: "UGX", amount: 10_000n }
  ] as const
  const { reference } = record
  return { line, reference, outcome: "successful", amount: null, fee: null, currency: null, seen: 1n, record, postings }
}
const pageOf = (ready: ReadonlyArray<RulableRow>) =>
  renderToString(h("main", null, judgedSections({ ready, left: [] }, "Would be booked", "Would not be ruled")))
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")

describe("what a file of rulings would book", () => {
  it("is shown row by row to who proposes and who approves it, however many there are", () => {
    const page = pageOf(Array.from({ length: ROWS_AT_MOST }, (_, at) => row(at + 2)))
    expect(page).toContain(`All ${ROWS_AT_MOST}, by line`)
    const { reference } = payout()
    for (const line of [2, 102, ROWS_AT_MOST + 1]) expect(page).toContain(` ${line} ${reference} `)
  })

  it("is summed for each tenant and mode by itself", () => {
    const [ours, other] = [payout().appId, AppId.make("other")]
    const page = pageOf([row(2), row(3), row(4, { mode: "test" }), row(5, { appId: other })])
    const sums = page.slice(page.indexOf("All of it together"), page.indexOf("All 4, by line"))
    expect(sums).toContain(`${ours} live paid_out UGX 20,000`)
    expect(sums).toContain(`${ours} test paid_out UGX 10,000`)
    expect(sums).toContain(`${other} live paid_out UGX 10,000`)
  })
})
