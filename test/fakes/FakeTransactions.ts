import { Clock, Effect, Layer, Option } from "effect"
import type { WindowUse } from "../../src/domain/VelocityLimits.ts"
import { type Claim, type Claimed, Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import { RandomSource } from "../../src/services/ports/RandomSource.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { fake } from "./Fake.ts"
import { type FakeKey, FakeMemory, type FakeRow, keyName, windowName } from "./FakeMemory.ts"

/** Transactions over what the fake ledger committed. It keeps no provider calls: `raw` and `lastCall` are not expected. */
export const fakeTransactions = Layer.unwrap(
  Effect.map(FakeMemory, ({ rows }) => {
    const first = (wanted: (row: FakeRow) => boolean) =>
      Effect.sync(() => Option.map(Option.fromUndefinedOr([...rows.values()].find(wanted)), ({ stored }) => stored))
    const all = (wanted: (row: FakeRow) => boolean, limit: number) =>
      Effect.sync(() => [...rows.values()].filter(wanted).slice(0, limit))
    const storedOf = ({ stored }: FakeRow) => stored
    return fake(Transactions, {
      find: (appId, mode, reference) =>
        first(({ stored: { transaction: own } }) => own.appId === appId && own.mode === mode && own.reference === reference),
      byReference: (reference) => first(({ stored }) => stored.transaction.reference === reference),
      byProviderReference: (provider, mode, providerReference) =>
        Effect.map(
          all(({ stored: { transaction: own } }) => {
            return own.provider === provider && own.mode === mode && own.providerReference === providerReference
          }, 20),
          (found) => found.map(storedOf)
        ),
      // The refunds of a collection are what `test/scenarios/payouts/Refunds.test.ts` is about.
      refunded: () => Effect.succeed(new Map()),
      refundable: () => Effect.succeedNone,
      history: (reference) => Effect.sync(() => rows.get(reference)?.history ?? []),
      claimDue: (now, limit, leaseMs) =>
        Effect.map(
          all(({ leasedUntil, nextPollAt }) => nextPollAt !== null && nextPollAt <= now && leasedUntil <= now, limit),
          (due) => {
            for (const row of due) rows.set(row.stored.transaction.reference, { ...row, leasedUntil: now + leaseMs })
            return due.map(storedOf)
          }
        ),
      putBack: ({ reference }, at) =>
        Effect.sync(() => {
          const row = rows.get(reference)
          if (row !== undefined) rows.set(reference, { ...row, leasedUntil: at })
        }),
      inReview: (limit) =>
        Effect.map(
          all(({ stored }) => stored.transaction.needsReview, limit),
          (found) => found.map(storedOf)
        )
    })
  })
)

/** Idempotency in memory: a key is claimed for one lease of the policy, and opens once. It is never swept. */
export const fakeIdempotency = Layer.unwrap(
  Effect.gen(function* () {
    const { keys, windows: counted } = yield* FakeMemory
    const { spend } = yield* Nonces
    const randomSource = yield* RandomSource
    const { idempotencyLeaseMs } = yield* Policy
    let fences = 0n

    /** Changes the claim's key, or forgets it, unless the claim was lost or has made a transaction. */
    const change = (claim: Claim, to: (key: FakeKey) => FakeKey | null) =>
      Effect.sync(() => {
        const key = keys.get(keyName(claim.scope))
        if (key?.fence !== claim.fence || key.reference !== null) return false
        const next = to(key)
        if (next === null) keys.delete(keyName(claim.scope))
        else keys.set(keyName(claim.scope), next)
        return true
      })

    return fake(Idempotency, {
      claim: Effect.fnUntraced(function* ({ fingerprint: print, nonce, scope, windows }) {
        if (!(yield* spend(nonce))) return Option.none()
        const fingerprint = Buffer.from(print).toString("hex")
        const now = yield* Clock.currentTimeMillis
        const known = keys.get(keyName(scope))
        if (known !== undefined && !isFree(known, fingerprint, now)) return Option.some(heldAs(known, fingerprint, now))
        const leaseUntil = now + idempotencyLeaseMs
        const claim = { scope, fence: ++fences, reference: yield* randomSource.reference, leaseUntil }
        keys.set(keyName(scope), {
          fingerprint,
          fence: claim.fence,
          leaseUntil,
          reference: null,
          response: null
        })
        const used = windows.map((window: WindowUse) => ({ ...window, used: counted.get(windowName(window)) ?? 0n }))
        return Option.some<Claimed>({ _tag: "Fresh", claim, tenant: null, windows: used })
      }),
      complete: (claim, response) => change(claim, (key) => ({ ...key, response })),
      release: (claim) => change(claim, () => null)
    })
  })
)

/** Its claimant's lease ended before it made anything. */
const isFree = (key: FakeKey, fingerprint: string, now: number): boolean =>
  key.reference === null && key.response === null && key.leaseUntil <= now && key.fingerprint === fingerprint

const heldAs = ({ fingerprint, leaseUntil, reference, response }: FakeKey, print: string, now: number): Claimed => {
  if (fingerprint !== print) return { _tag: "Reused" }
  if (response !== null) return { _tag: "Replay", response }
  return reference === null ? { _tag: "Busy" } : { _tag: "Pinned", reference, leased: leaseUntil > now }
}
