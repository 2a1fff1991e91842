import { expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { Transaction } from "../../../src/domain/Transaction.ts"
import { storableJson } from "../../../src/persistence/connection/Columns.ts"
import { recordText, recordTextWith, storedRecord } from "../../../src/persistence/transactions/StoredRecord.ts"
import { collection, payout } from "../../support/SampleTransactions.ts"

const read = Schema.decodeUnknownSync(storedRecord(Transaction))
const encoded = Schema.encodeSync(Schema.toCodecJson(Transaction))

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

it("what no step changes of a record ends its text, which is as long as a multiple of four bytes: the log of a step leaves that out", () => {
  const texts = [
    payout({ metadata: '{"order":"ä-1"}' }),
    payout({
      metadata: '{"order":"ä-1"}',
      status: "successful",
      version: 2,
      providerReference: "P7",
      completedAt: 1_795_248_060_000
    })
  ].map((record) => Buffer.from(recordTextWith(record, { to: record.version, sum: "" })))
  expect(texts.map(({ length }) => length % 4)).toStrictEqual([0, 0])
  const ends = texts.map((text) => text.subarray(text.indexOf('"reference":')).toString())
  expect(ends[0]).toContain('"metadata":')
  expect(ends[1]).toBe(ends[0])
})

it("what a newer release wrote into a record is there still after this one changed it, and not where it belonged to something that is gone", () => {
  const newer = {
    ...JSON.parse(recordText(payout({ failure: { code: "unknown", message: "no" } }))),
    failure: { code: "unknown", message: "no", hint: "ask again" },
    settlement: { batch: "7", parts: [{ at: 1 }] }
  }
  const record = read(newer)
  expect(JSON.parse(recordText(record))).toStrictEqual(newer)
  const asked = { ...record, asked: 3 }
  expect(JSON.parse(recordText(asked))).toStrictEqual({ ...newer, asked: 3 })
  // Read again, as by the next step.
  expect(JSON.parse(recordText({ ...read(JSON.parse(recordText(asked))), asked: 4 }))).toStrictEqual({ ...newer, asked: 4 })
  const declined = { ...record, failure: { code: "declined_by_payer" as const, message: "no" } }
  expect(JSON.parse(recordText(declined))).toStrictEqual({ ...newer, failure: declined.failure })
  const { failure: _, ...rest } = newer
  expect(JSON.parse(recordText({ ...record, failure: null }))).toStrictEqual(rest)
  // What this release reads of it is its own members and nothing more.
  expect(Object.keys(record).sort()).toStrictEqual(Object.keys(payout()).sort())
})

it.prop("a record of any kind, with any of its members, is written as its schema encodes it", [Transaction], ([record]) => {
  const again = read(JSON.parse(recordText(record)))
  expect(storableJson(encoded(again))).toBe(storableJson(encoded(record)))
})
