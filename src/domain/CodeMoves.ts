import { type Decision } from "./Decision.ts"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import type { Collection } from "./Transaction.ts"

/** The payer still has to say the code that was sent. */
export const waitsForCode = (record: { readonly status: string; readonly nextAction?: Collection["nextAction"] }): boolean =>
  record.status === "requires_action" && record.nextAction?._tag === "otp"

/** A charge was placed, or may have been: from here on the payer finishes on the handset. */
export const charged = (collection: Collection, expiresAt: Instant | null, at: Instant): Decision => ({
  next: {
    ...collection,
    status: "pending",
    nextAction: null,
    expiresAt,
    version: collection.version + 1,
    updatedAt: at,
    asked: 0,
    notFound: 0
  },
  entry: null,
  event: "collection.pending"
})

/** The code that came with the request was wrong: nothing was placed, and the transaction begins to wait for the right one. */
export const waiting = (
  collection: Collection,
  { expiresAt, message, pinId }: Extract<Fact, { _tag: "WrongCode" }>,
  at: Instant
): Decision => ({
  next: {
    ...collection,
    nextAction: { _tag: "otp", pinId, message, expiresAt },
    expiresAt,
    version: collection.version + 1,
    updatedAt: at
  },
  entry: null,
  event: "collection.requires_action"
})
