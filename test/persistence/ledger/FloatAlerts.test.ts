import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { minor } from "../../../src/domain/Money.ts"
import { EveryTenant } from "../../../src/persistence/cluster/EveryTenant.ts"
import { Distribution } from "../../../src/persistence/connection/Distribution.ts"
import { FloatAlertsPg } from "../../../src/persistence/ledger/FloatAlertsPg.ts"
import { FloatAlerts } from "../../../src/services/ports/FloatAlerts.ts"
import { appId, given, openOne } from "../../support/LedgerSteps.ts"
import { givenFloat } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { givenLedger } from "../../support/TestLedger.ts"

const ugx = { appId, mode: "live", currency: "UGX" } as const
const change = {
  at: NOON,
  actor: "acme/k",
  action: "float alert",
  subject: appId,
  details: {},
  tenant: { appId, mode: "live" as const }
}

const portOn = (context: Effect.Success<ReturnType<typeof given>>["node"]) =>
  Effect.map(
    Layer.build(
      FloatAlertsPg.pipe(
        Layer.provide(Layer.provideMerge(EveryTenant.layer, Layer.succeed(Distribution, { isDistributed: false }))),
        Layer.provide(Layer.succeedContext(context))
      )
    ),
    (built) => Context.get(built, FloatAlerts)
  )

it.live("tell of the other floats where the event of one cannot be written", () =>
  Effect.gen(function* () {
    const { node } = yield* given(100n)
    const sql = Context.get(node, SqlClient.SqlClient)
    const alerts = yield* portOn(node)
    for (const currency of ["GHS", "KES", "UGX"] as const) yield* alerts.set({ ...ugx, currency }, minor(1_000n), change)
    yield* sql`ALTER TABLE float_positions ADD CONSTRAINT broken CHECK (currency <> 'KES' OR NOT alert_told)`
    const events = Effect.map(
      sql<{ body: string }>`SELECT body FROM events WHERE app_id = ${appId} AND body LIKE '%"float.low"%'`,
      (rows) => rows.map(({ body }) => JSON.parse(body).data.currency).toSorted()
    )
    expect(Exit.isFailure(yield* Effect.exit(alerts.tell(NOON)))).toBe(true)
    expect(yield* events).toEqual(["GHS", "UGX"])
    yield* sql`ALTER TABLE float_positions DROP CONSTRAINT broken`
    expect(yield* alerts.tell(NOON + 1)).toBe(1)
    expect(yield* events).toEqual(["GHS", "KES", "UGX"])
  }).pipe(Effect.scoped)
)

it.live("tell of each fall once, of however many nodes look at once, while payouts draw on the float", () =>
  Effect.gen(function* () {
    const { node, url } = yield* given(100_000n)
    const other = yield* givenLedger(url)
    const [one, two] = [yield* portOn(node), yield* portOn(other)]
    const sql = Context.get(node, SqlClient.SqlClient)
    const lows = Effect.map(
      sql<{ body: string }>`SELECT body FROM events WHERE app_id = ${appId} AND body LIKE '%"float.low"%' ORDER BY created_at`,
      (rows) => rows.map(({ body }) => JSON.parse(body).data)
    )
    const look = (at: number) =>
      Effect.map(
        Effect.forEach([one, two, one, two], ({ tell }) => tell(at), { concurrency: "unbounded" }),
        (told) => told.reduce((sum, each) => sum + each, 0)
      )
    yield* one.set(ugx, minor(60_000n), change)
    expect(yield* look(NOON)).toBe(0)
    // Five payouts of 11,000 take it below, while both nodes look.
    const paying = yield* Effect.forkChild(
      Effect.forEach([1, 2, 3, 4, 5], (key) => Effect.provideContext(openOne(appId, `p${key}`, 10_000n), node), {
        concurrency: 5
      })
    )
    while (paying.pollUnsafe() === undefined) yield* look(NOON + 1)
    yield* look(NOON + 2)
    const [first, ...more] = yield* lows
    expect([first?.below_minor, first?.available_minor < 60_000, more]).toEqual([60_000, true, []])
    // Another amount tells nothing anew while it is low; a rise and another fall do.
    yield* one.set(ugx, minor(70_000n), change)
    expect(yield* look(NOON + 3)).toBe(0)
    yield* Effect.provideContext(givenFloat(appId, 40_000n), node)
    expect(yield* look(NOON + 4)).toBe(0)
    yield* Effect.provideContext(openOne(appId, "p6", 30_000n), node)
    expect(yield* look(NOON + 5)).toBe(1)
    expect((yield* lows).map(({ available_minor, below_minor }) => [available_minor, below_minor])[1]).toEqual([54_000, 70_000])
    yield* one.set(ugx, null, change)
    yield* Effect.provideContext(openOne(appId, "p7", 10_000n), node)
    expect([yield* look(NOON + 6), yield* one.list(appId, "live")]).toEqual([0, []])
    // Set while it is low: told at once.
    yield* one.set(ugx, minor(70_000n), change)
    expect(yield* look(NOON + 7)).toBe(1)
    expect(yield* one.list(appId, "live")).toEqual([{ currency: "UGX", below: 70_000n, available: 43_000n }])
  }).pipe(Effect.scoped)
)
