import { describe, expect, it } from "vitest"
import { tellingOf } from "../../src/domain/Event.ts"
import { json } from "../../src/domain/Json.ts"
import { type Entry, nextCorrection, slotOf } from "../../src/domain/Ledger.ts"
import { type Resolution, rulingOn } from "../../src/domain/Resolution.ts"
import { recordView } from "../../src/domain/View.ts"
import { seeded } from "../support/Random.ts"
import { type Any, cases, decided, say } from "../support/ReviewCases.ts"
import { TOLD_AT } from "../support/SampleFacts.ts"

const SEQUENCES = 200
const RULINGS = 12
const HELD = 11_000n
const { PROPERTY_SEED = "1" } = process.env
const random = seeded(PROPERTY_SEED === "any" ? Date.now() : Number(PROPERTY_SEED))

const upTo = (most: number): bigint => BigInt(random.below(most) + 1)

/** What a person finds out, and what the tenant has then, beyond what it had before: in UGX, and in KES. */
type Truth = readonly [Resolution, ugx: bigint, kes: bigint]

const nothing: Truth = [say("failed"), 0n, 0n]
const truths: { readonly [K in Any["kind"]]: (record: Any) => Truth } = {
  collection: () => {
    const amount = upTo(20_000)
    const fee = upTo(Number(amount)) - 1n
    return [say("successful", amount, fee), amount - fee, 0n]
  },
  payout: () => {
    const amount = upTo(Number(HELD))
    const fee = upTo(amount < 1_000n ? Number(amount) : 1_000) - 1n
    // What a provider takes beyond what was held is the gateway's.
    return [say("successful", amount, fee), amount + fee > HELD ? -HELD : -(amount + fee), 0n]
  },
  exchange: (record) => {
    if (record.kind !== "exchange") return nothing
    // Booked once, an exchange is right or was taken back.
    if (record.status === "successful") return [say("successful"), -record.amount, record.destinationAmount]
    const brings = upTo(2 * Number(record.destinationAmount))
    return [say("successful", brings), -10_000n, brings]
  }
}

/** What the entries made of the tenant's float, beyond the reservation that opened the record. */
const held = (entries: ReadonlyArray<Entry>, currency: string): bigint =>
  entries
    .flatMap(({ postings }) => postings)
    .filter((line) => line.currency === currency && (line.account === "available" || line.account === "reserved"))
    .reduce((sum, { amount }) => sum + amount, 0n)

const played = (begun: Any) => {
  let record: Any = begun
  const entries: Array<Entry> = []
  const slots: Array<string> = ["open"]
  const faults: Array<string> = []
  const rule = (resolution: Resolution) => {
    const before = { ...record, needsReview: true }
    const { entry, event, next } = decided(rulingOn(before, resolution, TOLD_AT))
    const told = tellingOf(before, next, event)
    const posted = entry?.phase === "correct" ? nextCorrection(entry, slots) : entry
    const slot = posted === null ? null : slotOf(posted)
    if (slot !== null && slots.includes(slot)) faults.push(`${slot} is used twice`)
    if (posted !== null && slot !== null) {
      entries.push(posted)
      slots.push(slot)
    }
    if (next.version !== before.version + 1) faults.push(`version ${before.version} became ${next.version}`)
    if (told === null || (entry !== null && told.endsWith(".updated"))) faults.push(`${slot} is told as ${told}`)
    record = next
    return entry
  }
  for (let ruling = 0; ruling < RULINGS; ruling++) {
    const [resolution, ugx, kes] = random.chance(0.4) ? nothing : truths[record.kind](record)
    rule(resolution)
    const float = [held(entries, "UGX"), held(entries, "KES")]
    if (float[0] !== ugx || float[1] !== kes) faults.push(`${json(resolution)}: ${float} instead of ${[ugx, kes]}`)
    const shown = json({ ...recordView(record), version: 0 })
    // Who says an exchange's figures again is told that they are booked.
    const again = record.kind === "exchange" ? { ...resolution, amount: null } : resolution
    if (rule(again) !== null) faults.push(`${json(resolution)} is booked twice`)
    if (json({ ...recordView(record), version: 0 }) !== shown) faults.push(`${json(resolution)} twice changes the record`)
  }
  return faults
}

describe("a record that is ruled on again and again", () => {
  it.each(["pending payout", "pending collection", "pending exchange", "failed payout", "expired collection"] as const)(
    "has what really happened in the float, one entry and one event a ruling, and nothing for a ruling that is repeated: a %s",
    (name) => {
      const faults = Array.from({ length: SEQUENCES }, () => played(cases[name])).flat()
      expect(faults).toStrictEqual([])
    }
  )
})
