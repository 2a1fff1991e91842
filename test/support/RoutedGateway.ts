import { Effect, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../src/domain/Ids.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { type FakeProvider, fakeProviderRegistry } from "../fakes/FakeProvider.ts"
import { FLOAT, givenFloat, Holder } from "./PaymentRequests.ts"
import { type Interference, servicesOn } from "./ServicesOnPostgres.ts"
import { givenTenantRow } from "./TenantRow.ts"
import { givenDatabase } from "./TestDatabase.ts"

/** A gateway whose corridors all go to these providers in this order, and a tenant with float. */
export const routedTo = Effect.fnUntraced(function* (
  providers: ReadonlyArray<FakeProvider>,
  interfere?: Interference,
  url?: Redacted.Redacted,
  claimed?: ReadonlyArray<string>
) {
  const database = url ?? (yield* givenDatabase)
  const node = yield* servicesOn(database, fakeProviderRegistry(providers, claimed), interfere)
  if (url === undefined) yield* Effect.provideContext(givenRoutes(providers), node)
  return { database, node }
})

/** The corridors lead there, and the holder has float. */
export const givenRoutes = Effect.fnUntraced(function* (providers: ReadonlyArray<FakeProvider>) {
  const sql = yield* SqlClient.SqlClient
  const holder = yield* Holder
  yield* givenTenantRow(sql, holder, ["payouts", "collections", "reference_data", "bank_resolution", "balances"])
  yield* sql`UPDATE corridors SET providers = ${[...new Set(providers.map(({ name }) => name))]}`
  yield* givenFloat(holder, FLOAT)
})

/** Every record of the holder in the order in which they were made. */
export const records = Effect.gen(function* () {
  const transactions = yield* Transactions
  const rows = yield* (yield* SqlClient.SqlClient)<{ reference: Reference }>`
    SELECT reference FROM idempotency_keys WHERE app_id = ${yield* Holder} AND reference IS NOT NULL ORDER BY fence`
  return yield* Effect.forEach(rows, ({ reference }) =>
    Effect.flatMap(transactions.byReference(reference), (found) => Effect.orDie(Effect.fromOption(found)))
  )
})

/** The record where there is one and no other. */
export const onlyRecord = Effect.flatMap(records, ([first, ...others]) =>
  first === undefined || others.length > 0 ? Effect.die(new Error("not one record")) : Effect.succeed(first)
)

export const differences = Effect.flatMap(LedgerVerification, ({ verify }) => verify).pipe(
  Effect.map((report) => report.differences)
)
