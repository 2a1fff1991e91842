import { expect, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../../src/domain/Ids.ts"
import { EveryTenant } from "../../../src/persistence/cluster/EveryTenant.ts"
import { Distribution } from "../../../src/persistence/connection/Distribution.ts"
import { IdempotencyPg } from "../../../src/persistence/requests/IdempotencyPg.ts"
import { NoncesPg } from "../../../src/persistence/requests/NoncesPg.ts"
import { type ClaimRequest, Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { Nonces, type NonceUse } from "../../../src/services/ports/Nonces.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeRandomSource, fakeVault } from "../../fakes/FakeVault.ts"

// How the claims and the nonces of many tenants go to the database together, without one. What the functions of the database make of them is
// in Arrival.test.ts.

const busy = {
  nonce_fresh: true,
  fence: null,
  same: true,
  state: "claimed",
  leased: true,
  reference: null,
  answer_status: null,
  answer_body: null,
  used: null,
  status: null,
  capabilities: null,
  taken: null,
  booked: null
}

const useOf = (tenant: string, nonce: string): NonceUse => ({
  caller: { appId: AppId.make(tenant), keyId: "k", mode: "live", role: "tenant" },
  nonce,
  expiresAt: 9_000
})
const requestOf = (tenant: string, key: string): ClaimRequest => ({
  nonce: useOf(tenant, key),
  scope: { appId: AppId.make(tenant), mode: "live", endpoint: "POST /v1/payouts", key },
  fingerprint: new Uint8Array(32),
  windows: []
})

/** Keys and nonces on a client that answers every statement but the first so many, which break, and those that name a tenant that hangs; the statements, and what each was for. */
const given = Effect.fnUntraced(function* (isDistributed: boolean, broken = 0) {
  const sent: Array<readonly [called: string, first: unknown, names: ReadonlyArray<string>]> = []
  const sql = {
    transactionService: Context.Service<never, never>("test/transaction"),
    unsafe: (text: string, parameters: ReadonlyArray<unknown>) => {
      const written = JSON.stringify(parameters)
      const names = ["a1", "a2", "b1", "hangs1", "hangs2", "hangs3", "mine1", "theirs1"].filter((name) => written.includes(name))
      sent.push([
        /FROM (\w+)|SELECT (spend\w+)/
          .exec(text)
          ?.slice(1)
          .find((one) => one !== undefined) ?? "",
        parameters[0],
        names
      ])
      if (written.includes("hangs")) return Effect.never
      if (broken-- > 0) return Effect.fail("the connection broke")
      return Effect.succeed(
        text.includes("arrive") ? names.map(() => busy) : [{ spent: names.map((name) => name !== "theirs1") }]
      )
    }
  } as unknown as SqlClient.SqlClient
  const everyTenant = {
    lanesOf: (appIdOf: (step: never) => string) => ({
      isBatchOfOneLane: isDistributed,
      serverOf: (step: never) => (appIdOf(step).startsWith("hangs") ? "silent" : "other")
    })
  } as unknown as EveryTenant["Service"]
  const ports = Layer.mergeAll(
    Layer.succeed(SqlClient.SqlClient, sql),
    Layer.succeed(Distribution, { isDistributed }),
    Layer.succeed(EveryTenant, everyTenant),
    fakePolicy(),
    fakeRandomSource(),
    fakeVault
  )
  const context = yield* Layer.build(Layer.provide(Layer.mergeAll(IdempotencyPg, NoncesPg), ports))
  return { keys: Context.get(context, Idempotency), nonces: Context.get(context, Nonces), sent }
})

it.effect(
  "what arrives together goes to PostgreSQL in one statement, and a tenant whose rows are held delays no other's later ones",
  () =>
    Effect.gen(function* () {
      const { keys, nonces, sent } = yield* given(false)
      const hanging = [
        yield* Effect.forkChild(keys.claim(requestOf("hangs", "hangs1")), { startImmediately: true }),
        yield* Effect.forkChild(nonces.spend(useOf("hangs", "hangs1")), { startImmediately: true })
      ]
      yield* Effect.promise(() => new Promise(setImmediate))
      const claims = [requestOf("a", "a1"), requestOf("a", "a2"), requestOf("b", "b1")]
      const claimed = yield* Effect.forEach(claims, keys.claim, { concurrency: "unbounded" })
      expect(claimed).toStrictEqual(claims.map(() => Option.some({ _tag: "Busy" })))
      const uses = claims.map(({ nonce }) => nonce)
      expect(yield* Effect.forEach(uses, nonces.spend, { concurrency: "unbounded" })).toStrictEqual([true, true, true])
      expect(sent.map(([called, , names]) => [called, names])).toStrictEqual([
        ["arrive_request", ["hangs1"]],
        ["spend_nonces", ["hangs1"]],
        ["arrive_at_once", ["a1", "a2", "b1"]],
        ["spend_nonces", ["a1", "a2", "b1"]]
      ])
      yield* Fiber.interruptAll(hanging)
    })
)

it.effect("on Citus each statement is of one tenant, which it names first, and a silent server takes no other's place", () =>
  Effect.gen(function* () {
    const { keys, nonces, sent } = yield* given(true)
    const silent = ["hangs1", "hangs2", "hangs3"]
    const hanging = [
      ...(yield* Effect.forEach(silent, (one) => Effect.forkChild(keys.claim(requestOf(one, one)), { startImmediately: true }))),
      ...(yield* Effect.forEach(silent, (one) => Effect.forkChild(nonces.spend(useOf(one, one)), { startImmediately: true })))
    ]
    yield* Effect.promise(() => new Promise(setImmediate))
    const claims = [requestOf("a", "a1"), requestOf("b", "b1"), requestOf("a", "a2")]
    yield* Effect.forEach(claims, keys.claim, { concurrency: "unbounded" })
    yield* Effect.forEach(claims, ({ nonce }) => nonces.spend(nonce), { concurrency: "unbounded" })
    expect(sent).toStrictEqual([
      ["arrive_together_of_tenant", "hangs1", ["hangs1"]],
      ["arrive_together_of_tenant", "hangs2", ["hangs2"]],
      ["spend_nonces_of_tenant", "hangs1", ["hangs1"]],
      ["spend_nonces_of_tenant", "hangs2", ["hangs2"]],
      ["arrive_together_of_tenant", "a", ["a1", "a2"]],
      ["arrive_together_of_tenant", "b", ["b1"]],
      ["spend_nonces_of_tenant", "a", ["a1", "a2"]],
      ["spend_nonces_of_tenant", "b", ["b1"]]
    ])
    yield* Fiber.interruptAll(hanging)
  })
)

it.effect("a nonce whose statement broke is its request's where it was still there, and else nobody knows whose it is", () =>
  Effect.gen(function* () {
    const { nonces } = yield* given(false, 1)
    const exits = yield* Effect.forEach(["mine1", "theirs1"], (nonce) => Effect.exit(nonces.spend(useOf(nonce, nonce))), {
      concurrency: "unbounded"
    })
    const said = exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : Cause.pretty(exit.cause)))
    expect(said).toStrictEqual([true, expect.stringContaining("a nonce may have been spent before")])
  })
)
