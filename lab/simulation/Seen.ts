import type { Transaction } from "../../src/domain/Transaction.ts"
import type { Mode, Movement, MovementKind } from "./Movement.ts"
import type { WrongCode } from "./SentCodes.ts"

// What the judge is shown: what the providers did, what the tenants asked and were told, and what is stored at the end.

/** When a request was sent and when its answer came. */
export interface Span {
  readonly askedAt: number
  readonly answeredAt: number
}

export interface Heard extends Span {
  readonly status: number
  readonly body: string
  readonly isReplay: boolean
  /** From the request that claimed the key, not from one that found it claimed. */
  readonly isOwn: boolean
  /** Where another request with the key stood, inside its lease, when this one was answered; null where none was under way. */
  readonly beside: string | null
}

/** A code that a tenant said for a collection that waits for one, and what he was told. */
export interface Said extends Span {
  /** Null where it was said without a key. */
  readonly key: string | null
  readonly pin: string
  readonly status: number
  readonly body: string
  readonly isReplay: boolean
}

/** One operation of a tenant and everything that it was ever told about it. */
export interface Told {
  readonly appId: string
  readonly mode: Mode
  readonly kind: MovementKind
  readonly amount: bigint
  /** Whose number is charged or paid; empty for an exchange. */
  readonly party: string
  readonly key: string
  /** When it was sent first. */
  readonly askedAt: number
  /** The code that it came with; null where it brought none. */
  readonly pin: string | null
  /** Every whole answer to this key, in order. */
  readonly answers: Array<Heard>
  /** Every whole answer to a code. */
  readonly said: Array<Said>
  reference: string | undefined
  settled: "accepted" | "refused" | undefined
}

/** A code that a tenant asked for by hand. */
export interface CodeRequest {
  readonly appId: string
  readonly mode: Mode
  readonly party: string
  readonly askedAt: number
  /** Null where no answer came. */
  answer: { readonly at: number; readonly error: string | null } | null
}

/** An event as the tenant's endpoint took it. */
export interface Event {
  readonly id: string
  readonly type: string
  readonly body: string
  readonly reference: string
  readonly version: number
  readonly status: string
}

export interface Stored {
  readonly status: string
  readonly needsReview: boolean
  readonly returned: boolean
  readonly provider: string
  readonly createdAt: number
  /** When its end was committed, which may be long after it was decided; null while it is open, and of the last end where it had more. */
  readonly endedAt: number | null
}

/** A payout, a charge or an exchange whose call has begun: it is placed from then on, however long its process stands still before the provider has it. */
export interface Placing {
  readonly reference: string
  readonly at: number
}

/** A change of a record that was committed. */
export interface Commit {
  readonly reference: string
  readonly status: string
  /** When the end was decided; null while it is open. */
  readonly completedAt: number | null
  readonly at: number
}

/** A tenant that may move no money: from when the freeze was done until it was about to be ended. */
export interface Freeze {
  readonly appId: string
  readonly from: number
  until: number
}

/** At some moment while a request was under way. */
export const wasFrozen = (freezes: ReadonlyArray<Freeze>, appId: string, { answeredAt, askedAt }: Span): boolean =>
  freezes.some((one) => one.appId === appId && one.from <= answeredAt && one.until >= askedAt)

/** Told of each at its moment: just before a call that may be held back, and inside a commit. */
export interface Notes {
  readonly placed: (reference: string) => void
  readonly opened: (reference: string) => void
  readonly committed: (record: Transaction) => void
}

export interface Position {
  readonly available: bigint
  readonly reserved: bigint
  readonly collected: bigint
  readonly paidOut: bigint
  readonly fees: bigint
}

export interface Seen {
  /** Two records may be so much nearer to each other, or further apart, than they were. */
  readonly offAtMostMs: number
  /** What each position began with, by tenant, mode and currency. */
  readonly credits: ReadonlyMap<string, bigint>
  /** Payouts that a tenant may have in an hour, and charges that one payer of his may have, by tenant and mode. */
  readonly caps: ReadonlyMap<string, number>
  /** What may be paid out through one provider in a day and a mode. */
  readonly ceiling: { readonly provider: string; readonly amount: bigint } | null
  /** Whether a charge needs the code that its payer was sent. */
  readonly needsCode: boolean
  readonly told: ReadonlyArray<Told>
  readonly codeRequests: ReadonlyArray<CodeRequest>
  readonly wrongCodes: ReadonlyArray<WrongCode>
  /** The references of codes that a provider took, or may have taken. */
  readonly unrefusedCodes: ReadonlyArray<string>
  readonly movements: ReadonlyArray<Movement>
  readonly placings: ReadonlyArray<Placing>
  /** The references of what came to a provider; after a restore, since that. */
  readonly arrived: ReadonlySet<string>
  /** Questions to an account of what another one was sent. */
  readonly strays: ReadonlyArray<string>
  /** When each transaction was opened. */
  readonly openings: ReadonlyArray<Placing>
  readonly freezes: ReadonlyArray<Freeze>
  readonly commits: ReadonlyArray<Commit>
  readonly events: ReadonlyArray<Event>
  /** By reference, as it is stored at the end. */
  readonly records: ReadonlyMap<string, Stored>
  readonly positions: ReadonlyMap<string, Position>
  /** Differences that the ledger finds in itself. */
  readonly ledger: ReadonlyArray<string>
}

interface Spoken {
  readonly data?: { readonly reference?: string }
  readonly error?: {
    readonly code: string
    readonly terminal: boolean
    readonly ambiguous: boolean
    readonly details: Readonly<Record<string, unknown>>
  }
}

/** The refusal in an answer; undefined where it is none. */
export const refusalIn = (body: string): Spoken["error"] => {
  const { error }: Spoken = JSON.parse(body)
  return error
}

/** The transaction that an answer speaks of as its own. */
export const named = (body: string): string | undefined => {
  const { data, error }: Spoken = JSON.parse(body)
  if (error === undefined) return data?.reference
  const reference = error.details["reference"]
  return error.code === "duplicate_charge_in_flight" || typeof reference !== "string" ? undefined : reference
}
