import { Effect, Layer, Option } from "effect"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { Envelope } from "../../../src/http/api/Envelope.ts"
import type { AuditEntry } from "../../../src/services/ports/AuditLog.ts"
import { type ApplyStep, FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { type StoredTransaction, Transactions } from "../../../src/services/ports/Transactions.ts"
import { WebhookDispatcher } from "../../../src/services/webhooks/WebhookDispatcher.ts"
import { type Expected, fake } from "../../fakes/Fake.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeRandomSource } from "../../fakes/FakeVault.ts"

/** The revision of a given record. */
export const FIRST = 1n

/**
 * One record as the ports keep it, and all that is written about it. Each of `overtakenBy` is written by another process right before one of
 * the commits, which then finds the record moved on and writes nothing. `reads` are reads of Transactions beside that by the reference.
 */
export const storedRecord = (
  record: Transaction,
  overtakenBy: ReadonlyArray<Transaction> = [],
  reads: Expected<Transactions["Service"]> = {}
) => {
  let stored: StoredTransaction = { transaction: record, revision: FIRST }
  const faster = [...overtakenBy]
  const steps: Array<ApplyStep> = []
  const audits: Array<AuditEntry> = []
  const seen = { reads: 0, nudges: 0 }

  const write = (transaction: Transaction) => {
    stored = { transaction, revision: stored.revision + 1n }
  }
  const commit = (step: ApplyStep) =>
    Effect.sync(() => {
      const other = faster.shift()
      if (other !== undefined) write(other)
      if (step.expectedRevision !== stored.revision || step.next.reference !== record.reference) return { _tag: "Stale" } as const
      steps.push(step)
      write(step.next)
      return { _tag: "Applied" } as const
    })

  const ports = Layer.mergeAll(
    fake(Transactions, {
      refunded: () => Effect.succeed(new Map()),
      refundable: () => Effect.succeedNone,
      ...reads,
      byReference: (reference) =>
        Effect.sync(() => {
          seen.reads += 1
          return reference === record.reference ? Option.some(stored) : Option.none()
        })
    }),
    fake(FloatLedger, {
      apply: commit,
      resolve: (step, audit) =>
        Effect.tap(commit(step), ({ _tag }) => Effect.sync(() => void (_tag === "Applied" && audits.push(audit))))
    }),
    fake(WebhookDispatcher, { nudge: Effect.sync(() => void (seen.nudges += 1)) }),
    fakeRandomSource(),
    Envelope.layer,
    fakePolicy()
  )
  return { ports, steps, audits, seen, read: () => stored }
}
