import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { type Claim, Idempotency } from "../../src/services/ports/Idempotency.ts"
import { givenClaim } from "../support/GivenMoney.ts"
import { appId, applyStep, given, openStep, succeeded } from "../support/MoneySteps.ts"

/** What another request with the same key is told. */
const again = ({ scope }: Claim) => Effect.flatMap(Idempotency, ({ claim }) => claim(scope, new Uint8Array(32)))

const story = <A, E>(promise: string, body: Effect.Effect<A, E, Idempotency | FloatLedger>) =>
  it.live(promise, () => Effect.flatMap(given(50_000n), ({ node }) => Effect.provideContext(body, node)).pipe(Effect.scoped))

describe("a claim whose request has ended", () => {
  story(
    "before any transaction leaves the key to the next request at once, and commits nothing any more",
    Effect.gen(function* () {
      const { end } = yield* Idempotency
      const ledger = yield* FloatLedger
      const claim = yield* givenClaim(appId, "k")
      expect(yield* again(claim)).toEqual({ _tag: "Busy" })
      yield* end(claim)
      // A commit that was still on its way: the key is nobody's, and then somebody else's.
      expect(yield* ledger.open(openStep(claim, 1_000n))).toEqual({ _tag: "ClaimLost" })
      const next = yield* givenClaim(appId, "k")
      expect(yield* ledger.open(openStep(claim, 1_000n))).toEqual({ _tag: "ClaimLost" })
      // Whoever slept ends nothing of the next one's.
      yield* end(claim)
      expect(yield* again(next)).toEqual({ _tag: "Busy" })
      expect(yield* ledger.open(openStep(next, 1_000n))).toEqual({ _tag: "Opened" })
    })
  )

  story(
    "with a transaction answers from it at once, and opens no other",
    Effect.gen(function* () {
      const { end } = yield* Idempotency
      const ledger = yield* FloatLedger
      const claim = yield* givenClaim(appId, "k")
      yield* ledger.open(openStep(claim, 1_000n))
      expect(yield* again(claim)).toEqual({ _tag: "Pinned", reference: claim.reference, leased: true })
      yield* end({ ...claim, fence: claim.fence - 1n })
      expect(yield* again(claim)).toMatchObject({ leased: true })
      yield* end(claim)
      expect(yield* again(claim)).toEqual({ _tag: "Pinned", reference: claim.reference, leased: false })
      expect(yield* ledger.open(openStep(claim, 1_000n))).toEqual({ _tag: "ClaimLost" })
    })
  )

  it.live("and whose answer is kept goes on answering it", () =>
    Effect.flatMap(given(50_000n), ({ node }) =>
      Effect.gen(function* () {
        const { end } = yield* Idempotency
        const ledger = yield* FloatLedger
        const claim = yield* givenClaim(appId, "k")
        yield* ledger.open(openStep(claim, 1_000n))
        yield* ledger.apply(yield* applyStep(claim, succeeded))
        yield* end(claim)
        expect(yield* again(claim)).toMatchObject({ _tag: "Replay", answer: { status: 201 } })
      }).pipe(Effect.provideContext(node))
    ).pipe(Effect.scoped)
  )
})
