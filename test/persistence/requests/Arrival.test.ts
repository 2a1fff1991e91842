import { randomUUID } from "node:crypto"
import { it } from "@effect/vitest"
import { Context, Effect, Exit, Option } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { Reference } from "../../../src/domain/Ids.ts"
import { effectiveLimits, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { arrivalStatement } from "../../../src/persistence/requests/IdempotencyPg.ts"
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
      // Each gets its own of those that arrive together, of which the first goes alone.
      const asked = [windows, windows.slice(1), windows.slice(0, 1), windows]
      const together = asked.map((of, at) => keys.claim(arriving(`together ${at}`, { windows: of })))
      const read = (yield* Effect.all(together, { concurrency: "unbounded" })).map(Option.getOrThrow)
      expect(read.map((claimed) => (claimed._tag === "Fresh" ? claimed.windows.map(({ used }) => used) : []))).toEqual(
        asked.map((of) => of.map((window) => (window === windows[0] ? 0n : 1n)))
      )
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

  it.live("answers requests that arrive together as if one had come after the other", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      const sql = Context.get(node, SqlClient.SqlClient)
      const other = { fingerprint: new Uint8Array(32).fill(1) }
      const [once, twice] = [randomUUID(), randomUUID()]
      for (const key of ["pinned", "done", "stale", "stale for another", "stale at last"]) yield* arrive(node, arriving(key))
      yield* sql`UPDATE idempotency_keys SET state = 'pinned', reference = 'R' WHERE key = 'pinned'`
      yield* sql`UPDATE idempotency_keys SET state = 'done', answer_status = 201, answer_body = 'answer' WHERE key = 'done'`
      yield* sql`UPDATE idempotency_keys SET lease_until = now() - interval '1 second' WHERE key LIKE 'stale%'`
      yield* sql`INSERT INTO counters (app_id, mode, name, subject, starts_at, used)
        SELECT app_id, mode, name, subject, "startsAt", 7 FROM json_to_recordset(${JSON.stringify(
          windows
            .slice(1)
            .map((window) => ({ ...window, app_id: appId, startsAt: new Date(window.startsAt), amount: 0, bound: 0 }))
        )}::json) AS w(app_id text, mode text, name text, subject text, "startsAt" timestamptz)`
      const requests = [
        arriving("fresh", { windows, once }),
        arriving("again", { windows: windows.slice(2), once }),
        arriving("again"),
        arriving("again", other),
        arriving("again", { windows, once: twice }),
        arriving("never", { once: twice }),
        arriving("pinned"),
        arriving("done"),
        arriving("done", other),
        arriving("stale", { windows: windows.slice(0, 2) }),
        arriving("stale"),
        arriving("stale for another", other),
        arriving("stale at last", other),
        arriving("stale at last", { windows })
      ]
      const now = Date.now()
      const arrivals = requests.map((one, at) => ({
        ...one,
        now,
        leaseUntil: now + 90_000,
        candidate: Reference.make(`${at}`.padStart(26, "0"))
      }))
      const [statement, parameters] = arrivalStatement(arrivals, false)
      const metBy = Effect.fnUntraced(function* (name: string) {
        let claimed: ReadonlyArray<boolean> = []
        const met: Array<unknown> = []
        const call = Effect.gen(function* () {
          const rows = yield* sql.unsafe<{ fence: bigint | null }>(statement.replace("arrive_at_once", name), parameters)
          claimed = rows.map(({ fence }) => fence !== null)
          met.push(rows.map((row, at) => ({ ...row, fence: claimed[at] })))
          met.push(
            yield* sql`SELECT key, state, fingerprint, lease_until, created_at, reference FROM idempotency_keys ORDER BY key`
          )
          // Nothing of it stays, so that the other function meets the same.
          return yield* Effect.fail("undone")
        })
        expect(yield* Effect.flip(sql.withTransaction(call))).toBe("undone")
        return { claimed, met }
      })
      const together = yield* metBy("arrive_at_once")
      expect(together).toStrictEqual(yield* metBy("arrive_together"))
      expect(together.claimed.flatMap((own, at) => (own ? [at] : []))).toStrictEqual([0, 2, 9, 13])
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
