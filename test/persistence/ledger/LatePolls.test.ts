import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { nextPoll } from "../../../src/domain/PollSchedule.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { applyStatement, applyStatementOfTenant } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given, openStep } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"

const doubted = { doubtedSince: NOON }
/** Records that are closed, with how often they were asked for since. */
const closed: ReadonlyArray<Partial<Transaction>> = [0, 1, 2, 3].flatMap((asked) => {
  const since = { asked, completedAt: NOON + 5_000 }
  return [
    payout({ ...since, ...doubted, status: "failed" }),
    payout({ ...since, status: "failed" }),
    payout({ ...since, ...doubted, status: "successful", returned: null }),
    collection({ ...since, status: "failed" }),
    collection({ ...since, status: "successful" }),
    collection({ ...since, status: "expired" })
  ]
})

const functions = [
  { name: "one step", statement: applyStatement, atOnce: 1 },
  { name: "a batch", statement: applyStatement, atOnce: 24 },
  { name: "one step of a tenant", statement: applyStatementOfTenant, atOnce: 1 },
  { name: "a batch of a tenant", statement: applyStatementOfTenant, atOnce: 24 }
]

// The release before knows no late polls of what failed or was charged: it says that nobody asks again. That release keeps the schedules of
// a delivered payout and of an expired charge itself.
for (const { atOnce, name, statement } of functions)
  it.live(`keeps the late polls that the release before would end, in ${name} (38)`, () =>
    Effect.gen(function* () {
      const { node } = yield* given(1_000_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* FloatLedger
        const steps = yield* Effect.forEach(
          closed,
          Effect.fnUntraced(function* (record, at) {
            const claim = yield* givenClaim(appId, `key-${at}`)
            const next = { ...record, reference: claim.reference, appId } as Transaction
            const charged = { transaction: collection({ reference: claim.reference, appId }), entry: null }
            yield* ledger.open({ ...openStep(claim, 1_000n), ...(record.kind === "collection" ? charged : {}) })
            return {
              expectedRevision: 1n,
              before: next,
              next,
              entry: null,
              line: { at: NOON, actor: "reconciler", fact: "StillPending", note: "", status: next.status },
              event: null,
              nextPollAt: null,
              response: null,
              savesBeneficiary: false,
              restoreLimits: false,
              wipeDestination: true,
              raw: null,
              traceparent: null
            } as const
          })
        )
        for (let from = 0; from < steps.length; from += atOnce) yield* sql.unsafe(...statement(steps.slice(from, from + atOnce)))
        const rows = yield* sql<{ reference: string; at: string }>`
          SELECT reference, (extract(epoch FROM next_poll_at) * 1000)::bigint::text AS at FROM open_work`
        const due = new Map(rows.map(({ at, reference }) => [reference, Number(at)]))
        const isKept = ({ kind, status }: Transaction) =>
          status === "failed" || (kind === "collection" && status === "successful")
        expect(steps.map(({ next }) => [next.kind, next.status, next.asked, due.get(next.reference) ?? null])).toStrictEqual(
          steps.map(({ next }) => [
            next.kind,
            next.status,
            next.asked,
            isKept(next) ? nextPoll(next, { open: [1] }, NOON, true) : null
          ])
        )
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
