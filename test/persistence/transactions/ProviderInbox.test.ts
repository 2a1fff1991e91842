import { describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { type Callback, type LeasedCallback, ProviderInbox } from "../../../src/services/ports/ProviderInbox.ts"
import { callbackId } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { auditEntry, givenDatabase, givenNode, newReference } from "../../support/TestDatabase.ts"

const LEASE_MS = 10_000
const MINUTE = 60_000
const FAR = 1e12

const givenCallback = (override: Partial<Omit<Callback, "id">> = {}): Callback => {
  const callback = {
    provider: "eversend",
    mode: "test",
    receivedAt: 1_000,
    digest: new Uint8Array(32).fill(1),
    hint: { reference: null, providerReference: "BSB1", says: "returned" },
    ...override
  } as const
  return { id: callbackId(callback), ...callback }
}

/** As it is stored by whoever leaves it to a claim: due at once, and its lease is that moment. */
const left = (callback: Callback): LeasedCallback => leasedUntil(callback, callback.receivedAt)
const leasedUntil = (callback: Callback, until: number): LeasedCallback => ({
  ...callback,
  looks: 0,
  claims: 0,
  leasedUntil: until
})
/** What `retryAt` is told of one that is over. */
const parked = { looks: 9, claims: 0, at: null }

/** Writes what was processed: it goes with the next one that is stored, which is due in a long time. */
const written = (inbox: ProviderInbox["Service"]) =>
  inbox.store(givenCallback({ digest: new Uint8Array(32).fill(255), provider: "next", receivedAt: FAR }), FAR)

describe("the provider's inbox", () => {
  it.effect("stores the same bytes once, whichever nodes receive them", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const nodes = yield* Effect.all([givenNode(url), givenNode(url)])
      const callbacks = Array.from({ length: 10 }, () => givenCallback())
      const stored = yield* Effect.all(
        callbacks.map((callback, index) =>
          Context.get(nodes[index % 2 === 0 ? 0 : 1], ProviderInbox).store(callback, callback.receivedAt)
        ),
        { concurrency: "unbounded" }
      )
      expect(stored.filter((fresh) => fresh)).toHaveLength(1)
      const inbox = Context.get(nodes[0], ProviderInbox)
      expect(yield* inbox.store(givenCallback({ mode: "live" }), 1_000)).toBe(true)
      expect(yield* inbox.store(givenCallback({ provider: "other" }), 1_000)).toBe(true)
    })
  )

  it.effect("stores what two nodes receive again while each writes that it processed what the other receives", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const nodes = yield* Effect.all([givenNode(url), givenNode(url)])
      const [one, other] = [Context.get(nodes[0], ProviderInbox), Context.get(nodes[1], ProviderInbox)]
      const sql = Context.get(yield* givenNode(url), SqlClient.SqlClient)
      const [first, second] = [givenCallback(), givenCallback({ digest: new Uint8Array(32).fill(2) })]
      const reference = yield* newReference
      for (const [inbox, callback] of [[one, first] as const, [other, second] as const]) {
        yield* inbox.store(callback, callback.receivedAt)
        yield* inbox.markProcessed(left(callback), reference)
      }
      const [isHeld, isFree] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* sql`SELECT 1 FROM provider_inbox WHERE id = ${second.id} FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(isHeld, undefined)),
        Effect.andThen(Deferred.await(isFree)),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* Deferred.await(isHeld)
      const storing = yield* Effect.forkScoped(one.store(second, 2_000))
      yield* waitsForLock(sql)
      const beside = yield* Effect.forkScoped(other.store(first, 2_000))
      yield* Effect.raceFirst(Effect.asVoid(Fiber.await(beside)), Effect.asVoid(waitsForLock(sql, 2)))
      yield* Deferred.succeed(isFree, undefined)
      yield* Fiber.join(holder)
      expect([yield* Fiber.join(storing), yield* Fiber.join(beside)]).toEqual([false, false])
      // The one that was held is looked into again when its lease ends.
      expect((yield* one.claimDue(1_000, 9, LEASE_MS)).map(({ id }) => id)).toEqual([second.id])
    })
  )

  it.effect("gives each callback to one node until its lease ends", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const inboxes = [Context.get(one, ProviderInbox), Context.get(other, ProviderInbox)] as const
      const callbacks = [1, 2, 3, 4].map((fill) => givenCallback({ digest: new Uint8Array(32).fill(fill), receivedAt: fill }))
      yield* Effect.forEach(callbacks, (callback) => inboxes[0].store(callback, callback.receivedAt))
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
      expect(yield* inboxes[1].claimDue(2_000 + LEASE_MS, 9, LEASE_MS)).toEqual(
        callbacks.map((callback) => ({ ...callback, looks: 0, claims: 2, leasedUntil: 2_000 + 2 * LEASE_MS }))
      )
    })
  )

  it.effect("removes callbacks that are done, keeps parked ones, and processes one again on request", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), ProviderInbox)
      const reference = yield* newReference
      const [done, later, over] = [
        givenCallback({ digest: new Uint8Array(32).fill(1), hint: { reference, providerReference: null } }),
        givenCallback({ digest: new Uint8Array(32).fill(2) }),
        givenCallback({ digest: new Uint8Array(32).fill(3) })
      ]
      for (const callback of [done, later, over]) yield* inbox.store(callback, callback.receivedAt)
      yield* inbox.markProcessed(left(done), reference)
      yield* inbox.retryAt(left(later), { looks: 1, claims: 0, at: 5_000 })
      yield* inbox.retryAt(left(over), parked)
      yield* written(inbox)
      expect(yield* inbox.claimDue(4_999, 9, LEASE_MS)).toEqual([])
      expect(yield* inbox.claimDue(5_000, 9, LEASE_MS)).toEqual([
        { ...later, looks: 1, claims: 1, leasedUntil: 5_000 + LEASE_MS }
      ])
      expect(yield* inbox.store(givenCallback({ digest: done.digest }), 1_000)).toBe(false)
    })
  )

  it.effect("leaves a callback alone that was stored with a lease, and writes what came of it with the next one", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const inbox = Context.get(yield* givenNode(url), ProviderInbox)
      const [first, second] = [givenCallback(), givenCallback({ digest: new Uint8Array(32).fill(2), receivedAt: 2_000 })]
      const leased = leasedUntil(first, first.receivedAt + LEASE_MS)
      yield* inbox.store(first, leased.leasedUntil)
      expect(yield* inbox.claimDue(leased.leasedUntil - 1, 9, LEASE_MS)).toEqual([])
      const reference = yield* newReference
      yield* inbox.markProcessed(leased, reference)
      // The same bytes again do not write it: a statement changes a row once.
      expect(yield* inbox.store(first, first.receivedAt)).toBe(false)
      expect(yield* inbox.list("done", 9)).toEqual([])
      yield* inbox.store(second, second.receivedAt)
      expect(yield* inbox.list("done", 9)).toEqual([{ ...first, status: "done", nextLookAt: null, looks: 0, matched: reference }])
    })
  )

  it.effect(
    "looks again into a callback whose lease ran out, or that somebody had replayed, although it was processed before",
    () =>
      Effect.gen(function* () {
        const inbox = Context.get(yield* givenNode(yield* givenDatabase), ProviderInbox)
        const [late, replayed] = [givenCallback(), givenCallback({ digest: new Uint8Array(32).fill(2) })]
        for (const callback of [late, replayed]) yield* inbox.store(callback, 2_000)
        const reference = yield* newReference
        for (const callback of [late, replayed]) yield* inbox.markProcessed(leasedUntil(callback, 2_000), reference)
        yield* inbox.replay(replayed.id, 3_000, auditEntry())
        const again = yield* inbox.claimDue(3_000, 9, LEASE_MS)
        expect(new Set(again.map(({ id }) => id))).toEqual(new Set([late.id, replayed.id]))
        yield* written(inbox)
        expect(yield* inbox.list("done", 9)).toEqual([])
      })
  )

  it.effect("counts the claims that no look ended, and keeps the count of looks from one to the next", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const inboxes = [Context.get(one, ProviderInbox), Context.get(other, ProviderInbox)] as const
      const callback = givenCallback()
      yield* inboxes[0].store(callback, callback.receivedAt)
      yield* inboxes[0].claimDue(2_000, 9, LEASE_MS)
      // The first node died.
      const [claimed] = yield* inboxes[1].claimDue(2_000 + LEASE_MS, 9, LEASE_MS)
      expect(claimed).toMatchObject({ looks: 0, claims: 2 })
      yield* inboxes[1].retryAt(claimed ?? left(callback), { looks: 1, claims: 0, at: 50_000 })
      expect(yield* inboxes[0].claimDue(50_000, 9, LEASE_MS)).toMatchObject([{ looks: 1, claims: 1 }])
      expect(yield* inboxes[0].list("due", 9)).toMatchObject([{ looks: 1 }])
    })
  )

  it.effect("leaves a callback to the node that has its lease by now, whatever an earlier one found", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const [slow, quick] = [Context.get(one, ProviderInbox), Context.get(other, ProviderInbox)]
      const callback = givenCallback()
      yield* slow.store(callback, callback.receivedAt)
      const [early] = yield* slow.claimDue(2_000, 9, LEASE_MS)
      const [late] = yield* quick.claimDue(2_000 + LEASE_MS, 9, LEASE_MS)
      yield* slow.retryAt(early ?? left(callback), parked)
      expect(yield* slow.list(null, 9)).toMatchObject([{ status: "due", nextLookAt: 2_000 + 2 * LEASE_MS, looks: 0 }])
      const reference = yield* newReference
      yield* quick.markProcessed(late ?? left(callback), reference)
      yield* written(quick)
      expect(yield* quick.list("done", 9)).toMatchObject([{ matched: reference }])
    })
  )

  it.effect("counts anew what a person has replayed or the provider has sent again, and nothing of a look from before", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* givenNode(yield* givenDatabase), ProviderInbox)
      const [replayed, again] = [givenCallback(), givenCallback({ digest: new Uint8Array(32).fill(2) })]
      for (const callback of [replayed, again]) {
        yield* inbox.store(callback, callback.receivedAt)
        yield* inbox.retryAt(left(callback), { ...parked, claims: 5 })
      }
      expect(yield* inbox.list("parked", 9)).toMatchObject([{ looks: 9 }, { looks: 9 }])
      yield* inbox.replay(replayed.id, MINUTE * 2, auditEntry())
      yield* inbox.store({ ...again, receivedAt: MINUTE * 2 }, MINUTE * 2)
      const claimed = yield* inbox.claimDue(MINUTE * 2, 9, LEASE_MS)
      expect(claimed).toMatchObject([
        { id: replayed.id, looks: 0, claims: 1 },
        { id: again.id, looks: 0, claims: 1 }
      ])
      // Somebody cannot wait for it.
      yield* inbox.replay(replayed.id, MINUTE * 3, auditEntry())
      for (const callback of claimed) yield* inbox.retryAt(callback, { looks: 1, claims: 0, at: MINUTE * 9 })
      expect(yield* inbox.claimDue(MINUTE * 3, 9, LEASE_MS)).toMatchObject([{ id: replayed.id, looks: 0, claims: 1 }])
    })
  )

  it.effect("removes old callbacks that are done in bounded steps, and never waiting ones", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* givenNode(yield* givenDatabase), ProviderInbox)
      const callbacks = [1, 2, 3, 4, 5].map((fill) => givenCallback({ digest: new Uint8Array(32).fill(fill), receivedAt: fill }))
      yield* Effect.forEach(callbacks, (callback) => inbox.store(callback, callback.receivedAt))
      const reference = yield* newReference
      for (const callback of callbacks)
        if (callback.receivedAt !== 2 && callback.receivedAt !== 3) yield* inbox.markProcessed(left(callback), reference)
      for (const callback of callbacks.slice(1, 2)) yield* inbox.retryAt(left(callback), parked)
      yield* written(inbox)
      expect([yield* inbox.prune(5, 1), yield* inbox.prune(5, 9), yield* inbox.prune(5, 9)]).toEqual([1, 1, 0])
      expect((yield* inbox.list(null, 9)).map(({ receivedAt, status }) => [receivedAt, status])).toEqual([
        [FAR, "due"],
        [5, "done"],
        [3, "due"],
        [2, "parked"]
      ])
    })
  )

  it.effect("processes repeated bytes again when the first ones are old, handled or parked, at a bounded rate", () =>
    Effect.gen(function* () {
      const inbox = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), ProviderInbox)
      const first = givenCallback()
      const again = (receivedAt: number) => inbox.store(givenCallback({ receivedAt }), receivedAt)
      const due = (now: number) => Effect.map(inbox.claimDue(now, 9, LEASE_MS), (claimed) => claimed.map(({ id }) => id))
      expect(yield* inbox.store(first, first.receivedAt)).toBe(true)
      expect(yield* again(MINUTE * 2)).toBe(false)
      yield* inbox.markProcessed(left(first), yield* newReference)
      yield* written(inbox)
      expect(yield* again(first.receivedAt + MINUTE - 1)).toBe(false)
      expect(yield* again(first.receivedAt + MINUTE)).toBe(true)
      const reopened = {
        status: "due",
        receivedAt: first.receivedAt + MINUTE,
        nextLookAt: first.receivedAt + MINUTE,
        looks: 0,
        matched: null
      }
      expect((yield* inbox.list(null, 9)).slice(1)).toEqual([{ ...first, ...reopened }])
      expect(yield* due(first.receivedAt + MINUTE)).toEqual([first.id])
      yield* inbox.retryAt(leasedUntil(first, first.receivedAt + MINUTE + LEASE_MS), parked)
      expect(yield* again(first.receivedAt + MINUTE * 2 - 1)).toBe(false)
      expect(yield* again(first.receivedAt + MINUTE * 2)).toBe(true)
      expect(yield* due(first.receivedAt + MINUTE * 2)).toEqual([first.id])
    })
  )

  it.effect("keeps what a callback said until it is done or closed, for a person whose reading is in the audit log", () =>
    Effect.gen(function* () {
      const node = yield* givenNode(yield* givenDatabase)
      const inbox = Context.get(node, ProviderInbox)
      const read = (callback: Callback) => inbox.body(callback.id, auditEntry({ action: "inbox read", subject: callback.id }))
      const [poisoned, processed] = [2, 3].map((fill) => givenCallback({ digest: new Uint8Array(32).fill(fill) })) as [
        Callback,
        Callback
      ]
      yield* inbox.store(poisoned, 1_000, '{"id":"\u0000"}')
      yield* inbox.store(processed, 1_000, '{"id":"BSB1"}')
      expect(Option.getOrThrow(yield* read(poisoned))).toBe('{"id":""}')
      yield* inbox.markProcessed(left(processed), yield* newReference)
      yield* written(inbox)
      expect(Option.getOrThrow(yield* read(processed))).toBeNull()
      yield* inbox.retryAt(left(poisoned), parked)
      expect(Option.getOrThrow(yield* read(poisoned))).toBe('{"id":""}')
      yield* inbox.close(poisoned.id, auditEntry())
      expect(Option.getOrThrow(yield* read(poisoned))).toBeNull()
      expect(Option.isNone(yield* read(givenCallback({ provider: "other" })))).toBe(true)
      const { list } = Context.get(node, AuditLog)
      expect((yield* list(10)).filter(({ action }) => action === "inbox read")).toHaveLength(4)
    })
  )
})
