import type { Beneficiary } from "../../src/domain/Beneficiary.ts"
import type { Reference } from "../../src/domain/Ids.ts"
import { iso } from "../../src/domain/Instant.ts"
import type { Account } from "../../src/domain/Ledger.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import type { WindowUse } from "../../src/domain/VelocityLimits.ts"
import type { OpenStep } from "../../src/services/ports/FloatLedger.ts"
import type { Claim } from "../../src/services/ports/Idempotency.ts"

/** Of each account, with the sign that the position shows. */
export type Position = Map<Account, bigint>

interface Key {
  readonly fence: bigint
  readonly state: "claimed" | "pinned" | "done"
  readonly reference: Reference | null
  readonly answer: readonly [number, string] | null
}

export interface Stored {
  readonly record: Transaction
  readonly revision: bigint
  readonly createdAt: number
  readonly partyHash: string | null
  readonly counted: ReadonlyArray<WindowUse>
  readonly raw: readonly [string | null, string | null]
  readonly slots: ReadonlyArray<string>
}

interface Work {
  readonly isOpen: boolean
  readonly nextPollAt: number | null
  readonly needsReview: boolean
  readonly sealed: string | null
  readonly beneficiary: OpenStep["beneficiary"]
}

/** Everything that money steps read and write. */
export interface Books {
  readonly frozen: Set<string>
  /** References that operators booked by hand. */
  readonly booked: Set<Reference>
  readonly keys: Map<string, Key>
  /** The charge that each payer had last, and all that are remembered. */
  readonly payers: Map<string, { readonly reference: Reference | null; readonly recent: ReadonlyArray<string> }>
  readonly windows: Map<string, bigint>
  readonly positions: Map<string, Position>
  readonly transactions: Map<Reference, Stored>
  readonly work: Map<Reference, Work>
  readonly journal: Array<ReadonlyArray<unknown>>
  readonly names: Set<string>
  readonly beneficiaries: Map<string, Befriended>
  readonly events: Array<ReadonlyArray<unknown>>
  /** Of each tenant, which events it wants to be told. */
  readonly wanted: Map<string, ReadonlyArray<string>>
  readonly deliveries: Array<ReadonlyArray<unknown>>
}

/** What the last payout said of how the recipient is paid. */
interface Befriended extends Pick<Beneficiary, "network" | "branchCode" | "accountName"> {
  readonly id: string
  readonly at: number
  readonly usedAt: number
}

export const emptyBooks = (): Books => ({
  frozen: new Set(),
  booked: new Set(),
  keys: new Map(),
  payers: new Map(),
  windows: new Map(),
  positions: new Map(),
  transactions: new Map(),
  work: new Map(),
  journal: [],
  names: new Set(),
  beneficiaries: new Map(),
  events: [],
  wanted: new Map(),
  deliveries: []
})

export const keyName = ({ appId, endpoint, key, mode }: Claim["scope"]) => [appId, mode, endpoint, key].join(" ")
export const payerName = (appId: string, hash: string) => `${appId} ${hash}`
export const positionName = (appId: string, currency: string) => `${appId} ${currency}`
export const windowName = ({ appId, mode, name, startsAt, subject }: WindowUse) =>
  [appId, mode, name, subject, startsAt].join(" ")

/** A window as it is read of its transaction. */
export const storedWindow = ({ amount, appId, mode, name, startsAt, subject }: WindowUse) => ({
  app_id: appId,
  mode,
  name,
  subject,
  starts_at: iso(startsAt),
  amount: String(amount)
})
