import { describe, expect, it } from "vitest"
import { tellingOf } from "../../src/domain/Event.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { json } from "../../src/domain/Json.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { rulingOn } from "../../src/domain/Resolution.ts"
import { recordView } from "../../src/domain/View.ts"
import { type Any, cases, ruled, say } from "../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON } from "../support/SampleTransactions.ts"

const page = { _tag: "redirect", redirectUrl: "https://pay.example/1", message: "", expiresAt: NOON } as const
const code = { _tag: "otp", pinId: "VE1", message: "", expiresAt: NOON } as const
const waiting = [null, page, code].map((nextAction) => collection({ status: "requires_action", nextAction }))
const reversed = ruled(cases["successful collection"], "failed")

/** Every kind in every status, looked at by a person or not, known to the provider or not. */
const records: ReadonlyArray<Any> = [...Object.values<Any>(cases), ...waiting, reversed].flatMap((record) =>
  [true, false].flatMap((needsReview) => [null, "P1"].map((providerReference) => ({ ...record, needsReview, providerReference })))
)

/** Each fact as it is expected, and with other figures. */
const told: ReadonlyArray<Fact> = [10_000n, 9_000n].flatMap((principal) => {
  const known = facts(principal)
  const echo = { observedAmount: minor(principal), observedCurrency: "UGX" } as const
  return [
    ...Object.values<Fact>(known),
    { ...known.Accepted, ...echo },
    { ...known.NeedsRedirect, ...echo },
    { ...known.Succeeded, amount: null, currency: null, fee: null },
    { ...known.Returned, at: null }
  ]
})

const steps = records.flatMap((record) => [
  ...told.flatMap((fact) =>
    (["request", "callback", "reconciler"] as const).map((actor) => ({
      record,
      what: `${fact._tag} by ${actor}`,
      decision: decide(record, fact, actor, TOLD_AT)
    }))
  ),
  ...[say("failed"), say("successful"), say("successful", 9_000n), say("successful", 9_000n, 10n), say("successful", null, 20n)]
    .map((resolution) => ({
      record,
      what: `ruled ${json(resolution)}`,
      decision: rulingOn({ ...record, needsReview: true }, resolution, TOLD_AT)
    }))
    .flatMap(({ decision, ...step }) => (typeof decision === "string" ? [] : [{ ...step, decision }]))
])

describe("a step", () => {
  it("changes nothing that a tenant sees without a new version and its event, whatever the record, the fact or the ruling", () => {
    expect(steps.length).toBeGreaterThan(4_000)
    const untold = steps.filter(({ decision: { entry, event, next }, record }) => {
      const isChanged = json(recordView(next)) !== json(recordView(record))
      const isTold = tellingOf(record, next, event) !== null
      return isTold !== next.version > record.version || (isChanged && !isTold) || (entry !== null && event === null)
    })
    expect(untold.map(({ record, what }) => `${record.kind} ${record.status} ${what}`)).toStrictEqual([])
  })

  it("that moves no money is told as an update, and one that moves it again by what happened", () => {
    const names = (kind: Any["kind"]) => [
      ...new Set(
        steps.flatMap(({ decision: { event, next }, record }) => (record.kind === kind ? [tellingOf(record, next, event)] : []))
      )
    ]
    expect(names("collection")).toEqual(
      expect.arrayContaining(["collection.reversed", "collection.corrected", "collection.updated"])
    )
    expect(names("payout")).toEqual(expect.arrayContaining(["payout.returned", "payout.corrected", "payout.updated"]))
    expect(names("exchange")).toEqual(expect.arrayContaining(["fx.successful", "fx.failed", "fx.updated"]))
    const again = steps.filter(
      ({ decision: { entry, event }, record }) =>
        entry !== null && record.status === "successful" && (event === "collection.successful" || event === "payout.successful")
    )
    expect(again).toStrictEqual([])
  })
})
