import { describe, expect, it } from "vitest"
import { decide } from "../../src/domain/Moves.ts"
import { rulingOn } from "../../src/domain/Resolution.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, payout } from "../support/SampleTransactions.ts"

const { NotSent, StillPending, Succeeded } = facts(10_000n)
const records: ReadonlyArray<Transaction> = [collection(), payout(), cases["pending exchange"]]
const messageOf = ({ failure }: Transaction): string => failure?.message ?? ""

describe("what the gateway closed as never sent", () => {
  it.each(records)("says that nothing was sent only where the request itself knows: $kind (38.13)", (record) => {
    expect(messageOf(decide(record, NotSent, "request", TOLD_AT).next)).toContain("nothing was sent")
    const asked = decide(record, NotSent, "reconciler", TOLD_AT).next
    expect([asked.status, messageOf(asked)]).toEqual(["failed", "The provider was asked again and again, and does not have it."])
  })

  it.each(records)("says so no longer once the provider has it, and after that what a person established: $kind", (record) => {
    for (const actor of ["request", "reconciler"] as const)
      for (const fact of [StillPending, { ...Succeeded, amount: null, currency: "KES" } as const]) {
        const closed = decide(record, NotSent, actor, TOLD_AT).next
        const found = decide(closed, fact, "callback", TOLD_AT).next
        expect([found.status, found.needsReview, found.version, messageOf(found)]).toEqual([
          "failed",
          true,
          closed.version + 1,
          "The provider has it after all: what became of it is being established."
        ])
        // Said again it is nothing new.
        expect(decide(found, fact, "callback", TOLD_AT).next.version).toBe(found.version)
        const ruling = rulingOn(found, { outcome: "failed", amount: null, fee: null, evidence: "e" }, TOLD_AT)
        if (typeof ruling === "string") return expect.unreachable(ruling)
        expect(messageOf(ruling.next)).toBe("A person established that no money moved.")
      }
  })
})
