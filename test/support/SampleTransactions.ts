import { AppId, Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Collection, Payout } from "../../src/domain/Payment.ts"

/** The moment at which every given thing was made: 2026-11-21T08:00:00Z. */
export const NOON = 1795248000000

const common = {
  reference: Reference.make("00000000000000000000000001"),
  appId: AppId.make("acme"),
  mode: "live",
  provider: "eversend",
  providerReference: null,
  needsReview: false,
  amountCurrency: "UGX",
  currency: "UGX",
  network: "MTN",
  narration: null,
  metadata: "{}",
  version: 1,
  failure: null,
  createdAt: NOON,
  updatedAt: NOON,
  completedAt: null,
  asked: 0,
  notFound: 0
} as const

/** A payout of 10,000 UGX with a held fee of 1,000, just opened; a test overrides only what it is about. */
export const payout = (overrides: Partial<Payout> = {}): Payout => ({
  ...common,
  kind: "payout",
  status: "pending",
  amount: minor(10_000n),
  corridor: { country: "UG", currency: "UGX", direction: "payout", method: "momo" },
  fees: minor(1_000n),
  expiresAt: null,
  principal: minor(10_000n),
  heldFee: minor(1_000n),
  destinationAmount: minor(10_000n),
  destinationCurrency: "UGX",
  amountType: null,
  deductFeeFromAmount: false,
  maskedDestination: "••••3456",
  holder: null,
  returned: null,
  ...overrides
})

/** A collection of 50,000 UGX, just opened. */
export const collection = (overrides: Partial<Collection> = {}): Collection => ({
  ...common,
  kind: "collection",
  status: "pending",
  amount: minor(50_000n),
  corridor: { country: "UG", currency: "UGX", direction: "collection", method: "momo" },
  fees: null,
  expiresAt: NOON + 15 * 60_000,
  observedAmount: null,
  observedCurrency: null,
  maskedSource: "••••3456",
  nextAction: null,
  lateSuccess: false,
  reversed: null,
  ...overrides
})
