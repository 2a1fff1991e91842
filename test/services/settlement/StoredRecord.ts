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

/** Another process's write right before a commit, which then finds the record moved on; or a float that cannot hold the commit's amount. */
export type Obstacle = Transaction | "full float"

/**
 * One record as the ports keep it, and all that is written about it. Each obstacle meets one commit, which then writes nothing.
 * `reads` are reads of Transactions beside that by the reference.
 */
export const storedRecord = (
  record: Transaction,
  obstacles: ReadonlyArray<Obstacle> = [],
  reads: Expected<Transactions["Service"]> = {}
) => {
  let stored: StoredTransaction = { transaction: record, revision: FIRST }
  const ahead = [...obstacles]
  const steps: Array<ApplyStep> = []
  const audits: Array<AuditEntry> = []
  const seen = { reads: 0, nudges: 0 }

  const write = (transaction: Transaction) => {
    stored = { transaction, revision: stored.revision + 1n }
  }
  const commit = (step: ApplyStep) =>
    Effect.sync(() => {
      const obstacle = ahead.shift()
      if (obstacle === "full float") return { _tag: "FullFloat" } as const
      if (obstacle !== undefined) write(obstacle)
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
