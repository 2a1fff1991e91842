import { expect, type Vitest } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import type { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Adapter, ChargeOutcome, PayoutOutcome, RawCallback } from "../../../src/services/ports/Provider.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf, verified } from "./Fixture.ts"
import { lostAnswer, openLine } from "./Line.ts"
import { type Abilities, askOrder, chargeOrder, payoutOrder, type Way } from "./Orders.ts"
import { idOf, visited } from "./Play.ts"

/** One movement by one provider: made as often as wanted, asked for, and asked for as what it is not. */
interface Movement {
  readonly reference: Reference
  readonly make: Effect.Effect<PayoutOutcome | ChargeOutcome>
  /** Another request by the same reference: of another number, and of a little more. */
  readonly makeFor: (ending: string, by?: Adapter) => Effect.Effect<PayoutOutcome | ChargeOutcome>
  readonly makeMore: Effect.Effect<PayoutOutcome | ChargeOutcome>
  /** As a poll does that knows the end of the number. */
  readonly askFor: (shown: string, id?: string | null) => ReturnType<Movement["askBy"]>
  readonly askBy: (provider: Adapter, id?: string | null) => ReturnType<ReturnType<typeof payoutsOf>["fetchStatus"]>
  readonly askOtherwise: Effect.Effect<{ readonly _tag: string }> | null
}

type MoneyCall = "payout" | "charge"

const movement = Effect.fnUntraced(function* (kind: MoneyCall, way: Way, ending: string) {
  const { live } = yield* ContractBench
  if (kind === "payout") {
    const order = yield* payoutOrder(payoutsOf(live), way, ending)
    const { reference } = order
    // On a new quote each time: nothing but our reference holds the second one back.
    const send = (more: Way, to: string, by = live) =>
      Effect.flatMap(Effect.orDie(payoutOrder(payoutsOf(live), more, to)), ({ destination, quote }) =>
        payoutsOf(by).send({ ...order, destination, quote })
      )
    const own: Movement = {
      reference,
      make: send(way, ending),
      makeFor: (to, by) => send(way, to, by),
      makeMore: send(withMore(way), ending),
      askFor: (shown, id) =>
        Effect.flatMap(askOrder(way, reference, id), (ask) =>
          payoutsOf(live).fetchStatus({ ...ask, party: Redacted.make(shown) })
        ),
      askBy: (provider, id) => Effect.flatMap(askOrder(way, reference, id), payoutsOf(provider).fetchStatus),
      askOtherwise: live.collections === undefined ? null : Effect.flatMap(askOrder(way, reference), live.collections.fetchStatus)
    }
    return own
  }
  const order = chargeOrder(way, ending)
  const { reference } = order
  const own: Movement = {
    reference,
    make: Effect.flatMap(collectionsOf(live).charge(order), visited),
    makeFor: (of, by = live) => Effect.flatMap(collectionsOf(by).charge({ ...chargeOrder(way, of), reference }), visited),
    makeMore: Effect.flatMap(collectionsOf(live).charge({ ...chargeOrder(withMore(way), ending), reference }), visited),
    askFor: (shown, id) =>
      Effect.flatMap(askOrder(way, reference, id), (ask) =>
        collectionsOf(live).fetchStatus({ ...ask, party: Redacted.make(shown) })
      ),
    askBy: (provider, id) => Effect.flatMap(askOrder(way, reference, id), collectionsOf(provider).fetchStatus),
    askOtherwise: live.payouts === undefined ? null : Effect.flatMap(askOrder(way, reference), live.payouts.fetchStatus)
  }
  return own
})

/** A hundred smallest units more: whole where the currency has none below. */
const withMore = (way: Way): Way => ({ ...way, amount: minor(way.amount + 100n) })

/** A token, a recipient, the money, what is asked where the provider has it already, and more than anybody needs. */
const MOST_REQUESTS = 6

/** What `promises` declares, and that it is so: recovery follows the declaration. */
export const promised = (
  it: Vitest.MethodsNonLive<ContractBench>,
  { callbackAuth, callsBack, charges, exchange, namesAmounts, namesOtherSide, payouts }: Abilities
) => {
  it.effect("declares what its wire allows", () =>
    Effect.gen(function* () {
      const { live, test } = yield* ContractBench
      // No part of an adapter goes without its tests.
      const tested = [payouts.length > 0, charges.length > 0, exchange !== undefined]
      expect([live.payouts, live.collections, live.exchange].map((part) => part !== undefined)).toStrictEqual(tested)
      expect(live.guarantees).toStrictEqual(test.guarantees)
      expect([live.mode, test.mode]).toStrictEqual(["live", "test"])
      expect(live.guarantees.callbackAuth).toBe(callbackAuth)
      expect(live.guarantees.quoteTtlMs).toBeGreaterThan(0)
      expect(live.guarantees.notFoundGraceMs).toBeGreaterThanOrEqual(60_000)
    })
  )

  const kinds = [
    { kind: "payout", way: payouts[0], namesOther: namesOtherSide.payouts },
    { kind: "charge", way: charges[0], namesOther: namesOtherSide.charges }
  ] as const
  for (const { kind, namesOther, way } of kinds) {
    if (way === undefined) continue

    it.effect(`a ${kind} for another number or amount is never executed, nor taken for the one that has its reference`, () =>
      Effect.gen(function* () {
        const { executions, live } = yield* ContractBench
        const { chargeReference, clientReference } = live.guarantees
        const promise = kind === "charge" ? (chargeReference ?? clientReference) : clientReference
        // Where an answer names neither the other side nor an amount, nothing could be compared: it is a person's.
        const taken = !namesOther && namesAmounts === false ? ["Mismatched"] : ["Accepted", "Succeeded"]
        const own = yield* movement(kind, way, "1234")
        yield* own.make
        const first = yield* eventually(own.askBy(live), ({ _tag }) => _tag === "Succeeded")
        if (promise === "none") return
        const other = yield* own.makeFor("5678")
        if (namesOther) {
          expect(other._tag).toBe("Mismatched")
          expect((yield* own.askFor("••••5678"))._tag).toBe("Mismatched")
          const handle = first._tag === "Succeeded" ? first.providerReference : null
          expect((yield* own.askFor("••••5678", handle))._tag).toBe("Mismatched")
        } else expect(taken).toContain(other._tag)
        expect(yield* own.askFor("••••1234")).toStrictEqual(first)
        // Another amount is told with the success: Settlement compares it with the record's.
        expect(taken).toContain((yield* own.makeMore)._tag)
        const amount = namesAmounts === false ? null : way.amount
        expect(yield* own.askBy(live)).toMatchObject({ _tag: "Succeeded", amount })
        expect(yield* executions(own.reference)).toHaveLength(1)
      })
    )

    it.effect(`a ${kind} for another number is never taken for the one that has its reference, whichever answer is lost`, () =>
      Effect.gen(function* () {
        const { baseUrl, executions, live, open } = yield* ContractBench
        const { chargeReference, clientReference } = live.guarantees
        if (!namesOther || (kind === "charge" ? (chargeReference ?? clientReference) : clientReference) === "none") return
        const own = yield* movement(kind, way, "1234")
        yield* own.make
        yield* eventually(own.askBy(live), ({ _tag }) => _tag === "Succeeded")
        for (let number = 1; number <= MOST_REQUESTS; number++) {
          // The line stays bad: what is asked about the duplicate stays without an answer.
          const line = yield* openLine(baseUrl, lostAnswer, number, true)
          const other = yield* own.makeFor("5678", (yield* open(line.baseUrl)).live)
          expect(other._tag).not.toBe("Succeeded")
          const handle = "providerReference" in other ? other.providerReference : null
          expect((yield* own.askFor("••••5678", handle))._tag).toBe("Mismatched")
        }
        expect(yield* executions(own.reference)).toHaveLength(1)
      })
    )

    it.effect(
      `a ${kind} sent twice with one reference is executed as often as declared, and never refused because of the first`,
      () =>
        Effect.gen(function* () {
          const { executions, live } = yield* ContractBench
          const own = yield* movement(kind, way, "1234")
          const first = yield* own.make
          yield* eventually(own.askBy(live), ({ _tag }) => _tag === "Succeeded")
          const second = yield* own.make
          expect(["Accepted", "Succeeded"]).toContain(first._tag)
          const { chargeReference, clientReference } = live.guarantees
          if ((kind === "charge" ? (chargeReference ?? clientReference) : clientReference) === "none") return
          expect(second._tag).not.toBe("Refused")
          expect(second._tag).not.toBe("NotSent")
          expect(yield* own.askBy(live)).toMatchObject({ _tag: "Succeeded" })
          expect(yield* executions(own.reference)).toHaveLength(1)
        })
    )

    it.effect(`a ${kind} is found by our reference alone, whatever provider reference is stored, and only as its own kind`, () =>
      Effect.gen(function* () {
        const { live, test } = yield* ContractBench
        const own = yield* movement(kind, way, "0010")
        expect(yield* own.askBy(live)).toMatchObject({ _tag: "NotFound" })
        yield* own.make
        const isAskable = kind === "payout" || live.guarantees.chargeLookup === undefined
        if (!isAskable) return
        if (live.guarantees.lookup === "by_client_ref" || live.guarantees.lookup === "by_client_ref_inferred") {
          expect(yield* own.askBy(live)).toMatchObject({ _tag: "StillPending" })
          expect(yield* own.askBy(live, "00000000-0000-4000-8000-000000000000")).toMatchObject({ _tag: "StillPending" })
        }
        expect(yield* own.askBy(test)).toMatchObject({ _tag: "NotFound" })
        if (own.askOtherwise !== null) expect(yield* own.askOtherwise).toMatchObject({ _tag: "NotFound" })
      })
    )

    it.effect(
      `a callback of a ${kind} is a hint each time it comes, and refused when a byte is altered or a header is missing`,
      () =>
        Effect.gen(function* () {
          const { callbacks, live, test } = yield* ContractBench
          if (kind === "payout" && callsBack?.payouts === false) return
          const own = yield* movement(kind, way, "1234")
          const made = yield* own.make
          const [callback] = yield* callbacks([own.reference, idOf(made)], 1)
          if (callback === undefined) return yield* Effect.die(new Error("no callback"))
          const hint = yield* verified(live, callback)
          // Its own table of words says what it reports, so that a contradiction is seen.
          expect(Option.getOrNull(hint)).toMatchObject({ says: "successful" })
          expect(yield* verified(live, callback)).toStrictEqual(hint)
          for (const forged of forgeries(callback, callbackAuth))
            expect(yield* verified(live, forged)).toStrictEqual(Option.none())
          // Each mode is an account of its own, with secrets of its own.
          if (callbackAuth === "hmac" || callbackAuth === "weak")
            expect(yield* verified(test, callback)).toStrictEqual(Option.none())
        })
    )
  }

  it.effect("bytes that are not a callback cause no error", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      for (const text of ["", "hello", "null", "[]", "{}", '{"data":null}', "\u0000\ufffd", "[".repeat(100_000)]) {
        const callback = { method: "POST", path: "/", headers: {}, body: Buffer.from(text) }
        const hint = yield* verified(live, callback)
        expect(hint).toStrictEqual(
          callbackAuth === "none" && Option.isSome(hint)
            ? Option.some({ reference: null, providerReference: null })
            : Option.none()
        )
      }
    })
  )
}

/** What must not verify: altered bytes where they are signed, and absent headers where there are any. */
const forgeries = (callback: RawCallback, auth: Abilities["callbackAuth"]): ReadonlyArray<RawCallback> => {
  const { body } = callback
  const altered = [0, Math.floor(body.length / 2), body.length - 1].map((at) => {
    const bytes = Buffer.from(body)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return { ...callback, body: bytes }
  })
  const longer = { ...callback, body: Buffer.concat([body, Buffer.from(" ")]) }
  const shorter = { ...callback, body: body.subarray(0, -1) }
  const bare = { ...callback, headers: {} }
  const signed = [...altered, longer, shorter]
  const elsewhere = [
    { ...callback, path: `${callback.path}/elsewhere` },
    { ...callback, method: "PUT" }
  ]
  return { none: [], weak: [bare], hmac: [bare, ...signed], rfc9421: [bare, ...signed, ...elsewhere] }[auth]
}
