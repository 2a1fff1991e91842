import { expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { LedgerRecord } from "../../src/domain/Exchange.ts"
import { recordText, storedRecord } from "../../src/persistence/StoredRecord.ts"
import { collection, payout } from "../support/SampleTransactions.ts"

const read = Schema.decodeUnknownSync(storedRecord(LedgerRecord))

it("a record is read as it was written, also what most records say of a member and its text leaves out", () => {
  for (const record of [
    collection(),
    payout(),
    payout({ needsReview: true, asked: 2, fees: null, failure: { code: "unknown", message: "no" } })
  ]) {
    const text = recordText(record)
    expect(text).not.toMatch(/"(failure|completedAt)":null|"(asked|notFound)":0/)
    expect(read(JSON.parse(text))).toStrictEqual(record)
  }
})
