import { Context, Effect, Layer } from "effect"
import type { OutboxEvent } from "../../src/domain/Event.ts"
import type { AppId, Mode, Reference } from "../../src/domain/Ids.ts"
import type { Instant } from "../../src/domain/Instant.ts"
import type { Posting } from "../../src/domain/Ledger.ts"
import type { IdempotencyScope } from "../../src/domain/RequestFingerprint.ts"
import type { WindowUse } from "../../src/domain/VelocityLimits.ts"
import type { HistoryLine, OpenStep } from "../../src/services/ports/FloatLedger.ts"
import type { StoredResponse } from "../../src/services/ports/Idempotency.ts"
import type { StoredTransaction } from "../../src/services/ports/Transactions.ts"

/** A transaction, with the step that opened it. */
export interface FakeRow {
  readonly opened: OpenStep
  readonly stored: StoredTransaction
  readonly history: ReadonlyArray<HistoryLine>
  readonly nextPollAt: Instant | null
  readonly leasedUntil: Instant
  readonly sealedDestination: Uint8Array | null
}

/** An idempotency key: whoever claimed it last, the transaction that it made, and the response that is kept for it. */
export interface FakeKey {
  readonly fingerprint: string
  readonly fence: bigint
  readonly leaseUntil: Instant
  readonly reference: Reference | null
  readonly response: StoredResponse | null
}

/**
 * What the fakes of the ledger, the idempotency keys, the transactions and the limits share, as the ports on PostgreSQL share a
 * database. A test may look into it.
 */
export class FakeMemory extends Context.Service<
  FakeMemory,
  {
    /** By reference, in the order in which they were opened. */
    readonly rows: Map<Reference, FakeRow>
    readonly keys: Map<string, FakeKey>
    /** Of a tenant and mode, in the order in which they were posted. */
    readonly postings: Map<string, ReadonlyArray<Posting>>
    /** How much of each window is used. */
    readonly windows: Map<string, bigint>
    /** Every event that a money step committed, in order. */
    readonly events: Array<OutboxEvent>
  }
>()("test/FakeMemory") {
  static readonly layer = Layer.sync(FakeMemory, () => ({
    rows: new Map(),
    keys: new Map(),
    postings: new Map(),
    windows: new Map(),
    events: []
  }))
}

/** Every record as it is stored, in the order in which they were opened. */
export const fakeRecords = Effect.map(FakeMemory, ({ rows }) => [...rows.values()].map(({ stored }) => stored))

export const keyName = ({ appId, endpoint, key, mode }: IdempotencyScope): string => `${appId} ${mode} ${endpoint} ${key}`
export const floatName = (appId: AppId, mode: Mode): string => `${appId} ${mode}`
export const windowName = ({ appId, mode, name, startsAt, subject }: WindowUse): string =>
  `${appId} ${mode} ${name} ${subject} ${startsAt}`
