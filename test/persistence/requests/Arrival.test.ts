import { randomUUID } from "node:crypto"
import { it } from "@effect/vitest"
import { Context, Effect, Exit, Option } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { effectiveLimits, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { type ClaimRequest, Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { appId, given, openStep } from "../../support/LedgerSteps.ts"
import { caller } from "../../support/PaymentRequests.ts"
import { givenLedger } from "../../support/TestLedger.ts"

type Node = Context.Context<Idempotency | SqlClient.SqlClient>

const arriving = (key: string, change: Partial<ClaimRequest> & { readonly once?: string } = {}): ClaimRequest => {
  const { once = randomUUID(), ...rest } = change
  return {
    nonce: { caller: { ...caller, appId }, nonce: once, expiresAt: Date.now() + 180_000 },
    scope: { appId, mode: "live", endpoint: "POST /v1/payouts", key },
    fingerprint: new Uint8Array(32),
    windows: [],
    ...rest
  }
}

const arrive = (node: Node, request: ClaimRequest) =>
  Effect.map(Context.get(node, Idempotency).claim(request), (claimed) =>
    Option.match(claimed, { onNone: () => "nonce spent", onSome: ({ _tag }): string => _tag })
  )

const keysOf = (node: Node) =>
  Effect.map(Context.get(node, SqlClient.SqlClient)<{ key: string }>`SELECT key FROM idempotency_keys ORDER BY key`, (rows) =>
    rows.map(({ key }) => key)
  )

const windows = effectiveLimits("live", "payout", []).map((limit) => windowUse(appId, limit, "00", Date.now()))

/** Its first arrival breaks: before the commit, or after it where its answer is lost. */
const breaksOnce =
  (at: "before" | "after") =>
  (sql: SqlClient.SqlClient): SqlClient.SqlClient => {
    let broken = false
    const isFirst = (text: string) => {
      const first = !broken && text.includes("arrive_")
      broken ||= first
      return first
    }
    const lost = Effect.die(new Error("the connection broke"))
    return new Proxy(sql, {
      get: (target, name, receiver) =>
        name === "unsafe"
          ? (text: string, parameters: ReadonlyArray<unknown>) => {
              if (!isFirst(text)) return target.unsafe(text, parameters)
              return at === "before" ? lost : Effect.andThen(target.unsafe(text, parameters), lost)
            }
          : Reflect.get(target, name, receiver)
    })
  }

describe("the arrival of a request with a key", () => {
  it.live("is one of any number with its nonce, at whatever node; the others leave their keys as they are", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(0n)
      const nodes = [node, yield* givenLedger(url)] as const
      for (let round = 0; round < 5; round++) {
        const once = randomUUID()
        const arrivals = Array.from({ length: 20 }, (_, at) =>
          arrive(nodes[at % 2 === 0 ? 0 : 1], arriving(`${round}-${at}`, { once }))
        )
        const all = yield* Effect.all(arrivals, { concurrency: "unbounded" })
        expect(all.filter((one) => one === "Fresh")).toHaveLength(1)
        expect(all.filter((one) => one === "nonce spent")).toHaveLength(19)
        expect(yield* keysOf(node)).toHaveLength(round + 1)
      }
    }).pipe(Effect.scoped)
  )

  it.live("gives a key to one of any number of requests at two nodes", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(0n)
      const nodes = [node, yield* givenLedger(url)] as const
      const arrivals = Array.from({ length: 40 }, (_, at) => arrive(nodes[at % 2 === 0 ? 0 : 1], arriving("one")))
      const all = yield* Effect.all(arrivals, { concurrency: "unbounded" })
      expect(all.filter((one) => one === "Fresh")).toHaveLength(1)
      expect(all.filter((one) => one === "Busy")).toHaveLength(39)
    }).pipe(Effect.scoped)
  )

  it.live("spends the nonce although the key is taken, and says what the key is taken for", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      const once = randomUUID()
      expect(yield* arrive(node, arriving("taken"))).toBe("Fresh")
      const other = arriving("taken", { once, fingerprint: new Uint8Array(32).fill(1) })
      expect(yield* arrive(node, other)).toBe("Reused")
      expect(yield* arrive(node, arriving("free", { once }))).toBe("nonce spent")
      expect(yield* keysOf(node)).toEqual(["taken"])
    }).pipe(Effect.scoped)
  )

  it.live("reads how much of the request's windows is used, and makes those that are missing", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      const keys = Context.get(node, Idempotency)
      const first = Option.getOrThrow(yield* keys.claim(arriving("one", { windows })))
      if (first._tag !== "Fresh") return expect(first._tag).toBe("Fresh")
      expect(first.windows.map(({ used }) => used)).toEqual(windows.map(() => 0n))
      yield* Context.get(node, FloatLedger).open({ ...openStep(first.claim, 1_000n), counters: windows.slice(1) })
      const second = Option.getOrThrow(yield* keys.claim(arriving("two", { windows })))
      expect(second).toMatchObject({
        _tag: "Fresh",
        windows: windows.map((window, at) => ({ ...window, used: at === 0 ? 0n : 1n }))
      })
    }).pipe(Effect.scoped)
  )

  it.live("takes over a key whose lease ran out for the same request only: another body is refused", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      const sql = Context.get(node, SqlClient.SqlClient)
      const row = sql`SELECT k.*, k.xmin::text FROM idempotency_keys k`
      yield* arrive(node, arriving("one"))
      yield* sql`UPDATE idempotency_keys SET lease_until = now() - interval '1 second'`
      const before = yield* row
      // 422 idempotency_key_reused.
      expect(yield* arrive(node, arriving("one", { fingerprint: new Uint8Array(32).fill(1) }))).toBe("Reused")
      expect(yield* row).toStrictEqual(before)
      expect(yield* arrive(node, arriving("one"))).toBe("Fresh")
      expect(yield* arrive(node, arriving("one"))).toBe("Busy")
    }).pipe(Effect.scoped)
  )

  it.live("goes on where its statement broke before the commit", () =>
    Effect.gen(function* () {
      const { url } = yield* given(0n)
      const breaking = yield* givenLedger(url, breaksOnce("before"))
      const all = yield* Effect.all(
        ["a", "b", "c"].map((key) => arrive(breaking, arriving(key))),
        { concurrency: "unbounded" }
      )
      expect(all).toEqual(["Fresh", "Fresh", "Fresh"])
    }).pipe(Effect.scoped)
  )

  it.live("dies rather than pass twice where the answer to its commit was lost, and its key is held for one lease", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(0n)
      const breaking = yield* givenLedger(url, breaksOnce("after"))
      const request = arriving("lost")
      expect(Exit.isFailure(yield* Effect.exit(arrive(breaking, request)))).toBe(true)
      expect(yield* arrive(node, request)).toBe("nonce spent")
      expect(yield* arrive(node, arriving("lost"))).toBe("Busy")
    }).pipe(Effect.scoped)
  )
})
