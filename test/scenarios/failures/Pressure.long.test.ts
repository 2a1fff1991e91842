import { expect, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/persistence/Database.ts"
import { simulatedMtn } from "../../../src/simulator/mtn/Simulator.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, eventually, type Key, referenceOf, said, signingHeaders } from "../../support/SignedClient.ts"
import { changeCorridor, type Gateway, Stack, tenantOn, verified } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const PLACES = 64
/** So many requests of each of four tenants come at once: more than three times what there is place for. */
const CROWD = 55
/** So many of those that are refused come again. How many are refused depends on how fast a machine sends and answers. */
const AGAIN = 12
const STORY_MS = 240_000
const mtn = simulatedMtn.simulated(simulatedMtn.accounts({ baseUrl: "", timeoutMs: 5_000 }))
const settings = {
  CONNECTIONS_AN_ADDRESS: "4096",
  REQUESTS_AT_ONCE_MONEY: String(PLACES),
  PROVIDER_TIMEOUT_MS: "8000",
  RECONCILER_SCHEDULE: "300ms,600ms,1s"
}

/** To a number that nobody else is paid at. */
const payoutTo = (at: number, ending = "1234") => {
  const msisdn = `25677${String(at).padStart(3, "0")}${ending}`
  return momoPayout(ending, { amount_minor: 1_000, destination: { type: "momo", msisdn, network: "MTN", country: "UG" } })
}
/** Without the check against the description, which would take longer than the answers. */
const bare = (gateway: Gateway, key: Key, body: object, idempotencyKey: string) =>
  Effect.promise(async (): Promise<Answer> => {
    const text = JSON.stringify(body)
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey }
    const answer = await fetch(`${gateway.url}${PAYOUTS}`, {
      method: "POST",
      headers: { ...headers, ...signingHeaders(gateway.host, key, { method: "POST", target: PAYOUTS, body: text }) },
      body: text
    })
    const received = await answer.text()
    return { status: answer.status, text: received, body: JSON.parse(received), headers: answer.headers }
  })
const shed = { status: 429, code: "rate_limited", class: "retriable", details: { scope: "server", retry_after_seconds: 1 } }
type Tenant = Effect.Success<ReturnType<typeof tenantOn>>
/** As many as one tenant has by itself, and as two have that want as many. */
const ALONE = (PLACES * 3) / 8
const OF_TWO = PLACES / 4
/** The provider executes them, and none is answered before its time is up, unless a callback says how it went. */
const unanswered = ({ post }: Tenant, count: number) =>
  Effect.forEach(times(count), (at) => post(PAYOUTS, payoutTo(at, "0003")), { concurrency: "unbounded" })
const allOpen = ({ float }: Tenant, count: number) =>
  eventually(float, ({ available_minor }) => available_minor === 1_000_000 - count * 2_000)
const times = (count: number) => Array.from({ length: count }, (_, at) => at)
const isDone = ({ status }: Record<string, unknown>) => status === "successful"

layer(Stack.layer(settings, { beside: [mtn] }), { excludeTestServices: true, timeout: "120 seconds" })(
  "a gateway under pressure",
  (it) => {
    it.effect(
      "works on as many requests as configured and refuses the others before their keys are claimed",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const sql = Context.get(gateway.context, SqlClient.SqlClient)
          const crowd = yield* Effect.forEach(times(4), () => tenantOn(gateway, 10_000_000n))
          const asked = crowd.flatMap((tenant) => times(CROWD).map((at) => ({ at, tenant, key: `crowd-${at}` })))
          const reader = yield* tenantOn(gateway)
          const [one, two] = [yield* tenantOn(gateway, 1_000_000n), yield* tenantOn(gateway, 1_000_000n)]
          const waiting = yield* Effect.forkChild(
            Effect.all([unanswered(one, OF_TWO), unanswered(two, OF_TWO)], { concurrency: 2 })
          )
          yield* Effect.forEach([one, two], (tenant) => allOpen(tenant, OF_TWO))
          const running = yield* Effect.forkChild(
            Effect.forEach(asked, ({ at, key, tenant }) => bare(gateway, tenant.key, payoutTo(at), key), {
              concurrency: "unbounded"
            })
          )
          const reads = yield* Effect.forEach(times(20), () => reader.get("/v1/float"), { concurrency: 4 })
          const answers = yield* Fiber.join(running)
          expect(new Set(reads.map(({ status }) => status))).toStrictEqual(new Set([200]))

          const taken = answers.filter(({ status }) => status === 201)
          const refused = asked.filter((_, at) => answers[at]?.status === 429)
          expect(refused.length).toBeGreaterThanOrEqual(AGAIN)
          expect(taken.length + refused.length).toBe(4 * CROWD)
          const isShed = ({ status }: Answer) => status === 429
          expect(new Set(answers.filter(isShed).map((answer) => JSON.stringify(said(answer))))).toStrictEqual(
            new Set([JSON.stringify(shed)])
          )
          expect(answers.find(isShed)?.headers.get("retry-after")).toBe("1")
          const kept = yield* sql`SELECT count(*)::int AS keys FROM idempotency_keys WHERE key LIKE 'crowd-%'`
          expect(kept).toStrictEqual([{ keys: taken.length }])

          yield* Fiber.join(waiting)
          const again = yield* Effect.forEach(
            refused.slice(0, AGAIN),
            ({ at, key, tenant }) => tenant.post(PAYOUTS, payoutTo(at), key),
            { concurrency: 4 }
          )
          expect(new Set(again.map(({ status }) => status))).toStrictEqual(new Set([201]))
          for (const tenant of crowd) yield* eventually(tenant.float, ({ reserved_minor }) => reserved_minor === 0)
          const executed =
            yield* sql`SELECT count(*)::int AS payouts FROM transactions WHERE status = 'successful' AND app_id = ANY(${crowd.map(({ appId }) => appId)})`
          expect(executed).toStrictEqual([{ payouts: taken.length + again.length }])
          expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
        }),
      STORY_MS
    )

    it.effect(
      "that waits for a slow provider still reads, collects through another one and reconciles",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const sql = Context.get(gateway.context, SqlClient.SqlClient)
          yield* changeCorridor(gateway, { country: "UG", method: "momo", direction: "collection" }, { providers: ["mtn"] })
          const [patient, other] = [yield* tenantOn(gateway, 1_000_000n), yield* tenantOn(gateway, 0n)]
          const waiting = yield* Effect.forkChild(unanswered(patient, ALONE))
          yield* allOpen(patient, ALONE)
          expect(said(yield* patient.post(PAYOUTS, payoutTo(900)))).toStrictEqual(shed)

          const charges = yield* Effect.forEach(
            ["0008", "1234", "5678"],
            (ending) => other.post("/v1/collections", momoCharge(ending)),
            { concurrency: 3 }
          )
          expect(charges.map(({ status }) => status)).toStrictEqual([201, 201, 201])
          expect(waiting.pollUnsafe() === undefined).toBe(true)
          // Of the first only a question tells.
          for (const charge of charges) yield* other.until(`/v1/collections/${referenceOf(charge)}`, isDone)
          const held = yield* sql`SELECT count(*)::int AS transactions FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
          expect(held).toStrictEqual([{ transactions: 0 }])

          // Where a callback came meanwhile, the outcome is known.
          for (const { status } of yield* Fiber.join(waiting)) expect([201, 503]).toContain(status)
          yield* eventually(patient.float, ({ reserved_minor }) => reserved_minor === 0)
          expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
        }),
      STORY_MS
    )

    it.effect(
      "answers every other tenant while one tenant's row is locked, and ends the waiting requests after a lock timeout",
      () =>
        Effect.gen(function* () {
          const { database, gateway } = yield* Stack
          const [stuck, other] = [yield* tenantOn(gateway, 1_000_000n), yield* tenantOn(gateway, 1_000_000n)]
          const held = yield* Deferred.make<void>()
          const done = yield* Deferred.make<void>()
          const holder = yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
            sql.withTransaction(
              sql`SELECT 1 FROM float_positions WHERE app_id = ${stuck.appId} FOR UPDATE`.pipe(
                Effect.andThen(Deferred.succeed(held, undefined)),
                Effect.andThen(Deferred.await(done))
              )
            )
          ).pipe(Effect.provide(Database.layer({ url: database })), Effect.forkChild)
          yield* Deferred.await(held)
          const first = yield* Effect.forkChild(stuck.post(PAYOUTS, payoutTo(0)))
          const sql = Context.get(gateway.context, SqlClient.SqlClient)
          const blocked = sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
          yield* eventually(blocked, ({ length }) => length > 0)
          const more = yield* Effect.forkChild(
            Effect.forEach(times(20), (at) => stuck.post(PAYOUTS, payoutTo(at)), { concurrency: "unbounded" })
          )
          const answers = yield* Effect.forEach(times(10), (at) => other.post(PAYOUTS, payoutTo(at)), { concurrency: 5 })
          expect(new Set(answers.map(({ status }) => status))).toStrictEqual(new Set([201]))
          expect((yield* other.get("/v1/float")).status).toBe(200)
          expect((yield* stuck.get("/v1/float")).status).toBe(200)
          expect(first.pollUnsafe() === undefined).toBe(true)

          const broken = { status: 500, body: { error: { code: "internal_error", ambiguous: true } } }
          expect(yield* Fiber.join(first)).toMatchObject(broken)
          yield* Deferred.succeed(done, undefined)
          yield* Fiber.join(holder)
          const opened = (yield* Fiber.join(more)).filter(({ status }) => status === 201)
          expect(yield* eventually(stuck.float, ({ reserved_minor }) => reserved_minor === 0)).toMatchObject({
            available_minor: 1_000_000 - opened.length * 2_000
          })
          expect((yield* stuck.post(PAYOUTS, payoutTo(1))).status).toBe(201)
          expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
        }),
      STORY_MS
    )
  }
)
