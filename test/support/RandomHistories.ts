import { Effect } from "effect"
import type { Currency } from "../../src/domain/Currency.ts"
import type { Decision } from "../../src/domain/Decision.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import type { Reference } from "../../src/domain/Ids.ts"
import { type Account, credit, debit, type Entry, reserve } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { rulingOn } from "../../src/domain/Resolution.ts"
import type { StatementType } from "../../src/domain/Statement.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import type { Claim, Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { appId, openStep, succeeded } from "./LedgerSteps.ts"
import { givenClaim } from "./PaymentRequests.ts"
import type { Random } from "./Random.ts"
import { decided, exchange, say } from "./ReviewCases.ts"
import { collection, payout } from "./SampleTransactions.ts"
import { auditEntry } from "./TestDatabase.ts"

// Payouts, collections, exchanges, rulings and adjustments as the gateway books them: the domain decides, the ledger commits.

/** An entry as it was made, for one of its currencies. */
export interface Made {
  readonly type: StatementType
  readonly reference: Reference | null
  readonly externalId: string | null
  readonly currency: Currency
  readonly at: number
  readonly available: bigint
  readonly reserved: bigint
  readonly fee: bigint
}

const refused: Fact = {
  _tag: "Refused",
  providerReference: null,
  kind: "party",
  failure: { code: "provider_rejected", message: "no" },
  note: ""
}

export const randomHistories = (random: Random, clock: () => number) => {
  const made: Array<Made> = []

  const keep = (type: StatementType, of: Pick<Made, "reference" | "externalId" | "at">, { postings }: Entry) => {
    for (const currency of new Set(postings.map((posting) => posting.currency))) {
      const sum = (account: Account) =>
        postings
          .filter((posting) => posting.currency === currency && posting.account === account)
          .reduce((total, { amount }) => total + amount, 0n)
      const change = { available: sum("available"), reserved: sum("reserved"), fee: sum("provider_fees") }
      made.push({ type, reference: of.reference, externalId: of.externalId, at: of.at, currency, ...change })
    }
  }

  const opened = Effect.fnUntraced(function* (key: string, recordOf: (claim: Claim) => Transaction) {
    const claim = yield* givenClaim(appId, key)
    const transaction = recordOf(claim)
    const held = { payout: 1_100n, exchange: 10_000n, collection: null }[transaction.kind]
    const at = clock()
    const entry = held === null ? null : reserve("UGX", minor(held))
    const line = { at, actor: "request", fact: "Opened", note: "", status: "pending" } as const
    const { _tag } = yield* (yield* FloatLedger).open({ ...openStep(claim, 1n), transaction, entry, line })
    if (_tag !== "Opened") return null
    if (entry !== null) keep("reserve", { reference: claim.reference, externalId: null, at }, entry)
    return claim.reference
  })

  /** One step of a record, by what the domain decides of it; `type` is what was done. */
  const stepped = Effect.fnUntraced(function* (
    reference: Reference,
    type: StatementType | null,
    decision: (record: Transaction, at: number) => Decision<Transaction>,
    by: "apply" | "resolve" = "apply"
  ) {
    const stored = yield* Effect.fromOption(yield* (yield* Transactions).byReference(reference))
    const { revision, transaction: before } = stored
    const at = clock()
    const { entry, next } = decision(before, at)
    const step = {
      expectedRevision: revision,
      before,
      next,
      entry,
      line: { at, actor: "review" as const, fact: "Resolved", note: "the operator's own words", status: next.status },
      event: null,
      nextPollAt: null,
      response: null,
      savesBeneficiary: false,
      restoreLimits: false,
      wipeDestination: false,
      raw: null
    }
    const ledger = yield* FloatLedger
    const done = yield* by === "apply" ? ledger.apply(step) : ledger.resolve(step, auditEntry())
    if (done._tag !== "Applied") return yield* Effect.die(new Error(`the step was ${done._tag}`))
    if (entry !== null && type !== null) keep(type, { reference, externalId: null, at }, entry)
    return yield* (entry === null) === (type === null) ? Effect.void : Effect.die(new Error("another entry was made"))
  })

  const isTold = (fact: Fact) => (record: Transaction, at: number) => decide(record, fact, "callback", at)
  const isRuled =
    (outcome: "successful" | "failed", amount: bigint | null, fee: bigint | null) => (record: Transaction, at: number) =>
      decided(rulingOn(record, say(outcome, amount, fee), at))

  const payoutHistory = Effect.fnUntraced(function* (key: string) {
    const reference = yield* opened(key, (claim) =>
      payout({
        reference: claim.reference,
        principal: minor(1_000n),
        heldFee: minor(100n),
        fees: minor(100n),
        metadata: `{"k":"${key}"}`
      })
    )
    if (reference === null) return
    if (random.chance(0.3)) return yield* stepped(reference, "release", isTold(refused))
    if (random.chance(0.1)) return
    yield* stepped(reference, "settle", isTold({ ...succeeded, fee: minor(BigInt(random.below(130))) }))
    if (random.chance(0.5)) return
    if (random.chance(0.4)) return yield* stepped(reference, "correction", isRuled("failed", null, null), "resolve")
    const came = { amount: minor(1_000n), currency: "UGX", fee: minor(0n), charged: null, at: null, note: "" } as const
    yield* stepped(reference, "return", isTold({ _tag: "Returned", ...came }))
  })

  const collectionHistory = Effect.fnUntraced(function* (key: string) {
    const reference = yield* opened(key, (claim) => collection({ reference: claim.reference, amount: minor(2_000n) }))
    if (reference === null) return
    if (random.chance(0.2)) return yield* stepped(reference, null, isTold(refused))
    const paid = { ...succeeded, amount: minor(2_000n), currency: "UGX", fee: minor(50n) } as const
    yield* stepped(reference, "collect", isTold(paid))
    if (random.chance(0.3)) return
    if (random.chance(0.4)) yield* stepped(reference, "correction", isRuled("successful", 1_500n, 40n), "resolve")
    if (random.chance(0.3)) return
    // Taken back, with or without its fee; and sometimes it was not, after all.
    yield* stepped(reference, "reverse", isRuled("failed", null, random.chance(0.5) ? 20n : null), "resolve")
    if (random.chance(0.4)) yield* stepped(reference, "correction", isRuled("successful", 1_800n, 30n), "resolve")
  })

  const exchangeHistory = Effect.fnUntraced(function* (key: string) {
    const reference = yield* opened(key, (claim) => exchange({ reference: claim.reference, quoteId: claim.reference }))
    if (reference === null) return
    if (random.chance(0.3)) return yield* stepped(reference, "release", isTold(refused))
    yield* stepped(reference, "exchange", isTold(succeeded))
  })

  const adjustment = Effect.fnUntraced(function* (externalId: string, direction: "credit" | "debit") {
    const amount = minor(BigInt(1 + random.below(3_000)))
    const at = clock()
    const entry = direction === "credit" ? credit("UGX", amount) : debit("UGX", amount)
    const wish = {
      appId,
      mode: "live",
      currency: "UGX",
      direction,
      amount,
      externalId,
      note: "the operator's own words",
      at
    } as const
    const { _tag } = yield* (yield* FloatLedger).adjust({ ...wish, entry, audit: auditEntry() })
    if (_tag === "Adjusted") keep(direction, { reference: null, externalId, at }, entry)
  })

  const kinds = [payoutHistory, payoutHistory, collectionHistory, collectionHistory, exchangeHistory] as const
  const one = (key: string): Effect.Effect<void, never, FloatLedger | Idempotency | Transactions> =>
    Effect.orDie(random.chance(0.3) ? adjustment(key, random.chance(0.6) ? "credit" : "debit") : random.pick(kinds)(key))
  return { made, one }
}
