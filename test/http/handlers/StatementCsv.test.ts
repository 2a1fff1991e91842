import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Reference } from "../../../src/domain/Ids.ts"
import { statementCsv, wantsCsv } from "../../../src/http/handlers/StatementCsv.ts"
import type { StatementEntry, StatementPage, StatementPosition } from "../../../src/services/ports/FloatEntries.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const reference = Reference.make("A".repeat(26))
const balance = { available: 1n, reserved: 0n }
const entry = (at: number): StatementEntry => ({
  at,
  reference,
  revision: 1n,
  type: "collect",
  externalId: null,
  fee: -1n,
  metadata: '{"order":"A-1"}',
  change: balance,
  after: balance
})
const place: StatementPosition = { at: NOON, reference, revision: 1n, balance, recent: 1 }
const PAGES = 5

it.effect("reads a page only when the one before was taken, and writes each once", () =>
  Effect.gen(function* () {
    const read: Array<StatementPosition | null> = []
    const response = yield* statementCsv("UGX", ({ after }) =>
      Effect.sync((): StatementPage => {
        read.push(after)
        const page = { opening: balance, closing: balance, items: [entry(NOON + read.length)] }
        return { ...page, next: read.length < PAGES ? { ...place, recent: read.length } : null }
      })
    )
    // The first page decides between a file and a refusal.
    expect(read).toEqual([null])
    const text = yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
    expect(read.map((after) => after?.recent ?? 0)).toEqual([0, 1, 2, 3, 4])
    const rows = text.split("\r\n")
    expect(rows.length).toBe(1 + PAGES + 1)
    expect(rows[1]).toBe(`${reference}-1,2026-11-21T08:00:00.001Z,collect,${reference},,1,0,-1,1,0,"{""order"":""A-1""}"`)
  })
)

it("asks for a file by its media type, wherever it stands", () => {
  expect([["text/csv"], ["application/json, Text/CSV;q=0.9"], ["text/csvx"], ["*/*"], []].map(wantsCsv)).toEqual([
    true,
    true,
    false,
    false,
    false
  ])
})
