import { describe, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { expect } from "vitest"
import { type Callback, ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { givenDatabase, givenNode, newReference } from "../support/TestDatabase.ts"

const LEASE_MS = 10_000
const MINUTE = 60_000

const givenCallback = (override: Partial<Callback> = {}) =>
  Effect.map(
    newReference,
    (id): Callback => ({
      id,
      provider: "eversend",
      mode: "test",
      receivedAt: 1_000,
      digest: new Uint8Array(32).fill(1),
      hint: { reference: null, providerReference: "BSB1" },
      ...override
    })
  )

describe("the provider's inbox", () => {
  it.effect("stores the same bytes once, whichever nodes receive them", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const nodes = yield* Effect.all([givenNode(url), givenNode(url)])
      const callbacks = yield* Effect.all(Array.from({ length: 10 }, () => givenCallback()))
      const stored = yield* Effect.all(
        callbacks.map((callback, index) => Context.get(nodes[index % 2 === 0 ? 0 : 1], ProviderInbox).store(callback)),
        { concurrency: "unbounded" }
      )
      expect(stored.filter((fresh) => fresh)).toHaveLength(1)
      const inbox = Context.get(nodes[0], ProviderInbox)
      expect(yield* inbox.store(yield* givenCallback({ mode: "live" }))).toBe(true)
      expect(yield* inbox.store(yield* givenCallback({ provider: "other" }))).toBe(true)
    })
  )

  it.effect("gives each callback to one node until its lease ends", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const inboxes = [Context.get(one, ProviderInbox), Context.get(other, ProviderInbox)] as const
      const callbacks = yield* Effect.forEach([1, 2, 3, 4], (fill) =>
        givenCallback({ digest: new Uint8Array(32).fill(fill), receivedAt: fill })
      )
      yield* Effect.forEach(callbacks, (callback) => inboxes[0].store(callback))
      const claims = yield* Effect.all([inboxes[0].claimDue(2_000, 3, LEASE_MS), inboxes[1].claimDue(2_000, 3, LEASE_MS)], {
        concurrency: 2
      })
      expect(
        claims
          .flat()
          .map(({ id }) => id)
          .sort()
      ).toEqual(callbacks.map(({ id }) => id).sort())
      expect(yield* inboxes[0].claimDue(2_000 + LEASE_MS - 1, 9, LEASE_MS)).toEqual([])
      expect(yield* inboxes[1].claimDue(2_000 + LEASE_MS, 9, LEASE_MS)).toEqual(callbacks)
    })
  )

  it.effect("removes callbacks that are done, keeps parked ones, and processes one again on request", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), ProviderInbox)
      const reference = yield* newReference
      const [done, later, parked] = yield* Effect.all([
        givenCallback({ digest: new Uint8Array(32).fill(1), hint: { reference, providerReference: null } }),
        givenCallback({ digest: new Uint8Array(32).fill(2) }),
        givenCallback({ digest: new Uint8Array(32).fill(3) })
      ])
      for (const callback of [done, later, parked]) yield* inbox.store(callback)
      yield* inbox.markProcessed(done.id, reference)
      yield* inbox.retryAt(later.id, 5_000)
      yield* inbox.retryAt(parked.id, null)
      expect(yield* inbox.claimDue(4_999, 9, LEASE_MS)).toEqual([])
      expect(yield* inbox.claimDue(5_000, 9, LEASE_MS)).toEqual([later])
      expect(yield* inbox.store(yield* givenCallback({ digest: done.digest }))).toBe(false)
    })
  )

  it.effect("removes old callbacks that are done in bounded steps, and never waiting ones", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* givenNode(yield* givenDatabase), ProviderInbox)
      const callbacks = yield* Effect.forEach([1, 2, 3, 4, 5], (fill) =>
        givenCallback({ digest: new Uint8Array(32).fill(fill), receivedAt: fill })
      )
      yield* Effect.forEach(callbacks, (callback) => inbox.store(callback))
      const reference = yield* newReference
      for (const { id, receivedAt } of callbacks)
        if (receivedAt !== 2 && receivedAt !== 3) yield* inbox.markProcessed(id, reference)
      yield* inbox.retryAt(callbacks[1]?.id ?? reference, null)
      expect([yield* inbox.prune(5, 1), yield* inbox.prune(5, 9), yield* inbox.prune(5, 9)]).toEqual([1, 1, 0])
      expect((yield* inbox.list(null, 9)).map(({ receivedAt, status }) => [receivedAt, status])).toEqual([
        [5, "done"],
        [3, "due"],
        [2, "parked"]
      ])
    })
  )

  it.effect("processes repeated bytes again when the first ones are old, handled or parked, at a bounded rate", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), ProviderInbox)
      const first = yield* givenCallback()
      const again = (receivedAt: number) => Effect.flatMap(givenCallback({ receivedAt }), inbox.store)
      const due = (now: number) => Effect.map(inbox.claimDue(now, 9, LEASE_MS), (claimed) => claimed.map(({ id }) => id))
      expect(yield* inbox.store(first)).toBe(true)
      expect(yield* again(MINUTE * 2)).toBe(false)
      yield* inbox.markProcessed(first.id, yield* newReference)
      expect(yield* again(first.receivedAt + MINUTE - 1)).toBe(false)
      expect(yield* again(first.receivedAt + MINUTE)).toBe(true)
      const reopened = {
        status: "due",
        receivedAt: first.receivedAt + MINUTE,
        nextLookAt: first.receivedAt + MINUTE,
        matched: null
      }
      expect(yield* inbox.list(null, 9)).toEqual([{ ...first, ...reopened }])
      expect(yield* due(first.receivedAt + MINUTE)).toEqual([first.id])
      yield* inbox.retryAt(first.id, null)
      expect(yield* again(first.receivedAt + MINUTE * 2 - 1)).toBe(false)
      expect(yield* again(first.receivedAt + MINUTE * 2)).toBe(true)
      expect(yield* due(first.receivedAt + MINUTE * 2)).toEqual([first.id])
    })
  )
})
