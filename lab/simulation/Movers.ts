import type { ProviderGuarantees } from "../../src/services/ports/Provider.ts"
import { MINUTE } from "./Movement.ts"

/** One that pays and charges: what it promises, and how far it goes within that. */
export interface Mover {
  readonly name: string
  readonly guarantees: ProviderGuarantees
  /** How long after it took something it may not find it, and how often. */
  readonly lateMs: number
  readonly lateShare: number
  /** Of one that is registered; absent: one that was made up for the stories. */
  readonly declared?: Declared
}

/** The ways of a registered provider that the stories know, beside its guarantees. */
interface Declared {
  /** As `lateMs`, of a charge. */
  readonly chargeLateMs: number
  /** Nothing of ours leads to a charge whose answer was lost: its report does, and once it is paid its payment. */
  readonly isUnaskable: boolean
  /** A payer pays on a page of it, which it closes when it is asked about a charge whose time is over. */
  readonly hasPages: boolean
  /** An answer may come after its question was given up: the next question has it. */
  readonly answersLater: boolean
  /** It calls back about payouts, too. */
  readonly tellsPayouts: boolean
}

const QUOTE_MS = 30 * MINUTE
/** Every provider's grace that is promised is at least this long. */
const SHORT_GRACE_MS = MINUTE

/** The combinations of promises that there are among the real ones. */
export const MOVERS: ReadonlyArray<Mover> = [
  {
    name: "alpha",
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      callbackAuth: "hmac",
      quoteTtlMs: QUOTE_MS,
      notFoundGraceMs: 10 * MINUTE
    },
    lateMs: 10 * MINUTE,
    lateShare: 0.1
  },
  {
    // Its question by our reference is not documented, and its "not found" means nothing for hours.
    name: "beta",
    guarantees: {
      clientReference: "none",
      lookup: "by_client_ref_inferred",
      callbackAuth: "hmac",
      quoteTtlMs: QUOTE_MS,
      notFoundGraceMs: 10 * MINUTE
    },
    lateMs: 360 * MINUTE,
    lateShare: 0.3
  },
  {
    // Nobody signs its callbacks: a forged one is as good as any.
    name: "delta",
    guarantees: {
      clientReference: "unique_reject",
      lookup: "by_client_ref",
      callbackAuth: "none",
      quoteTtlMs: QUOTE_MS,
      notFoundGraceMs: SHORT_GRACE_MS
    },
    lateMs: SHORT_GRACE_MS,
    lateShare: 0.1
  },
  {
    // What comes twice is done twice.
    name: "epsilon",
    guarantees: {
      clientReference: "none",
      lookup: "by_client_ref",
      callbackAuth: "weak",
      quoteTtlMs: QUOTE_MS,
      notFoundGraceMs: 2 * MINUTE
    },
    lateMs: 2 * MINUTE,
    lateShare: 0.1
  }
]

/** It exchanges, each quote once, and may not find for hours what it took. */
export const EXCHANGER: Mover = {
  name: "gamma",
  guarantees: {
    clientReference: "none",
    lookup: "by_client_ref_inferred",
    callbackAuth: "hmac",
    quoteTtlMs: MINUTE,
    notFoundGraceMs: 10 * MINUTE
  },
  lateMs: 360 * MINUTE,
  lateShare: 0.1
}
