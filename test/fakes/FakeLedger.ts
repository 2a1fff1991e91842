import { Effect, Layer, Option } from "effect"
import type { AppId, Mode } from "../../src/domain/Ids.ts"
import type { Entry, FloatPosition } from "../../src/domain/Ledger.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import {
  type Adjustment,
  type AdjustmentOutcome,
  type ApplyOutcome,
  type ApplyStep,
  FloatLedger,
  type OpenOutcome,
  type OpenStep
} from "../../src/services/ports/FloatLedger.ts"
import { PayerLocks } from "../../src/services/ports/PayerLocks.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { FIRST_REVISION } from "../../src/services/ports/Transactions.ts"
import { foldedPosition } from "../support/FoldedPosition.ts"
import { fake } from "./Fake.ts"
import { FakeMemory, floatName, keyName, windowName } from "./FakeMemory.ts"

type Memory = FakeMemory["Service"]

/**
 * FloatLedger in memory, with the verdicts of the real one: a step commits whole or not at all, a claim opens once, a stale revision
 * changes nothing. It knows no receivables and no corrections: `resolve` is not expected.
 */
export const fakeFloatLedger = Layer.unwrap(
  Effect.gen(function* () {
    const memory = yield* FakeMemory
    const tenants = yield* Tenants
    const adjusted = new Map<string, FloatPosition>()

    const open = Effect.fnUntraced(function* (step: OpenStep) {
      const tenant = yield* tenants.find(step.transaction.appId)
      const isActive = Option.isSome(tenant) && tenant.value.status === "active"
      const opened = verdictOf(memory, step, isActive)
      if (opened._tag === "Opened") commitOpen(memory, step)
      return opened
    })

    const adjust = Effect.fnUntraced(function* (adjustment: Adjustment): Effect.fn.Return<AdjustmentOutcome> {
      const { appId, currency, direction, entry, externalId, mode } = adjustment
      if (Option.isNone(yield* tenants.find(appId))) return { _tag: "NoTenant" }
      const available = positionIn(memory, appId, mode, currency).available
      if (direction === "debit" && adjustment.amount > available) return { _tag: "ShortFloat", available }
      const known = adjusted.get(externalId)
      if (known !== undefined) return { _tag: "Adjusted", position: known, isNew: false }
      post(memory, appId, mode, entry)
      const position = positionIn(memory, appId, mode, currency)
      adjusted.set(externalId, position)
      return { _tag: "Adjusted", position, isNew: true }
    })

    return fake(FloatLedger, {
      open,
      apply: (step) => Effect.sync(() => commitApply(memory, step)),
      adjust,
      positions: (appId, mode) =>
        Effect.sync(() => {
          const currencies = new Set(postingsOf(memory, appId, mode).map(({ currency }) => currency))
          return [...currencies].sort().map((currency) => positionIn(memory, appId, mode, currency))
        })
    })
  })
)

/** PayerLocks over the charges of the fake ledger. */
export const fakePayerLocks = Layer.unwrap(
  Effect.map(FakeMemory, (memory) =>
    fake(PayerLocks, {
      charges: (appId, mode, partyHash) =>
        Effect.sync(() => {
          const placed = chargesOf(memory, { appId, mode }, partyHash).map(({ createdAt, reference }) => ({
            reference,
            at: createdAt
          }))
          return { holder: placed[0]?.reference ?? null, placed }
        })
    })
  )
)

/** In the order of the real ledger's refusals. */
const verdictOf = (memory: Memory, step: OpenStep, isActive: boolean): OpenOutcome => {
  const { claim, counters, entry, partyHash, payer, transaction } = step
  const key = memory.keys.get(keyName(claim.scope))
  if (key?.fence !== claim.fence || key.reference !== null || key.response !== null) return { _tag: "ClaimLost" }
  if (!isActive) return { _tag: "Frozen" }
  if (payer !== undefined && (chargesOf(memory, transaction, partyHash)[0]?.reference ?? null) !== payer.holder)
    return { _tag: "PayerBusy" }
  const full = counters.findIndex((need) => (memory.windows.get(windowName(need)) ?? 0n) + need.amount > need.bound)
  if (full >= 0) return { _tag: "OverCap", counter: full }
  const { available } = positionIn(memory, transaction.appId, transaction.mode, transaction.currency)
  const held = (entry?.postings ?? []).reduce((sum, { account, amount }) => (account === "available" ? sum - amount : sum), 0n)
  return held > available ? { _tag: "ShortFloat", available } : { _tag: "Opened" }
}

const commitOpen = (memory: Memory, step: OpenStep): void => {
  const { claim, counters, entry, event, line, nextPollAt, sealedDestination, transaction } = step
  const key = memory.keys.get(keyName(claim.scope))
  if (key !== undefined) memory.keys.set(keyName(claim.scope), { ...key, reference: transaction.reference })
  const stored = { transaction, revision: FIRST_REVISION }
  memory.rows.set(transaction.reference, { opened: step, stored, history: [line], nextPollAt, leasedUntil: 0, sealedDestination })
  for (const need of counters) count(memory, need, need.amount)
  if (entry !== null) post(memory, transaction.appId, transaction.mode, entry)
  if (event !== null) memory.events.push(event)
}

const commitApply = (memory: Memory, step: ApplyStep): ApplyOutcome => {
  const { entry, event, line, next, nextPollAt, response } = step
  const row = memory.rows.get(next.reference)
  if (row === undefined || row.stored.revision !== step.expectedRevision) return { _tag: "Stale" }
  memory.rows.set(next.reference, {
    ...row,
    stored: { transaction: next, revision: row.stored.revision + 1n },
    history: [...row.history, line],
    nextPollAt,
    leasedUntil: 0,
    sealedDestination: step.wipeDestination ? null : row.sealedDestination
  })
  if (step.restoreLimits) for (const need of row.opened.counters) count(memory, need, -need.amount)
  if (entry !== null) post(memory, next.appId, next.mode, entry)
  if (event !== null) memory.events.push(event)
  const key = response === null ? undefined : memory.keys.get(keyName(response.claim.scope))
  if (response !== null && key?.fence === response.claim.fence)
    memory.keys.set(keyName(response.claim.scope), { ...key, response: response.response })
  return { _tag: "Applied" }
}

const postingsOf = (memory: Memory, appId: AppId, mode: Mode) => memory.postings.get(floatName(appId, mode)) ?? []

const positionIn = (memory: Memory, appId: AppId, mode: Mode, currency: FloatPosition["currency"]) =>
  foldedPosition(currency, postingsOf(memory, appId, mode))

const post = (memory: Memory, appId: AppId, mode: Mode, { postings }: Entry): void =>
  void memory.postings.set(floatName(appId, mode), [...postingsOf(memory, appId, mode), ...postings])

const count = (memory: Memory, need: OpenStep["counters"][number], amount: bigint): void =>
  void memory.windows.set(windowName(need), (memory.windows.get(windowName(need)) ?? 0n) + amount)

/** Newest first. */
const chargesOf = (memory: Memory, { appId, mode }: Pick<Transaction, "appId" | "mode">, partyHash: Uint8Array | null) =>
  [...memory.rows.values()]
    .filter(({ opened, stored }) => {
      const { appId: owner, kind, mode: inMode } = stored.transaction
      const isTheirs = owner === appId && inMode === mode && kind === "collection"
      return isTheirs && opened.partyHash !== null && partyHash !== null && Buffer.compare(opened.partyHash, partyHash) === 0
    })
    .map(({ stored }) => stored.transaction)
    .toReversed()
