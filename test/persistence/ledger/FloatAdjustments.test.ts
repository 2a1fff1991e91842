import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { credit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given, position } from "../../support/LedgerSteps.ts"
import { givenFloat } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

describe("an operator's credits and debits", () => {
  it.live("posts an adjustment once per external id and answers its first result again", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const adjustment = {
          appId,
          mode: "live",
          currency: "UGX",
          direction: "credit",
          amount: minor(700n),
          externalId: "bank-1",
          note: "",
          at: NOON,
          entry: credit("UGX", minor(700n)),
          audit: auditEntry()
        } as const
        const first = yield* ledger.adjust(adjustment)
        yield* givenFloat(appId, 50n)
        expect(yield* ledger.adjust(adjustment)).toStrictEqual({ ...first, isNew: false })
        expect(yield* ledger.adjust({ ...adjustment, amount: minor(701n) })).toStrictEqual({ _tag: "Conflict" })
        expect(yield* ledger.adjust({ ...adjustment, appId: AppId.make("nobody") })).toStrictEqual({ _tag: "NoTenant" })
        const debit = { ...adjustment, direction: "debit", externalId: "bank-2", amount: minor(751n) } as const
        expect(yield* ledger.adjust(debit)).toStrictEqual({ _tag: "ShortFloat", available: 750n })
        expect(yield* position(appId)).toStrictEqual([750n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
