import { Context, Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, type Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Destination } from "../../src/domain/Party.ts"
import { Collections } from "../../src/services/collections/Collections.ts"
import { Payouts } from "../../src/services/payouts/Payouts.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import type { Otp } from "../../src/services/ports/Provider.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { type FakeProvider, registryOf } from "../fakes/FakeProvider.ts"
import { type Interference, servicesOn } from "./ServicesOnPostgres.ts"
import { givenDatabase } from "./TestDatabase.ts"
import { givenFloat } from "./TestLedger.ts"

export const appId = AppId.make("acme")
const callerOf = (holder: AppId) => ({ appId: holder, keyId: "k", mode: "live", role: "tenant" }) as const
export const caller = callerOf(appId)
/** Who asks, and whose float and records are read: a test that provides another needs no other database. */
export const Holder = Context.Reference<AppId>("test/Holder", { defaultValue: () => appId })
export const FLOAT = 100_000n
export const jane = "+256772123456"

/** A gateway whose corridors all go to these providers in this order, and a tenant with float. */
export const routedTo = Effect.fnUntraced(function* (
  providers: ReadonlyArray<FakeProvider>,
  interfere?: Interference,
  url?: Redacted.Redacted
) {
  const database = url ?? (yield* givenDatabase)
  const node = yield* servicesOn(database, registryOf(providers), interfere)
  if (url === undefined) yield* Effect.provideContext(givenRoutes(providers), node)
  return { database, node }
})

/** The corridors lead there, and the holder has float. */
export const givenRoutes = Effect.fnUntraced(function* (providers: ReadonlyArray<FakeProvider>) {
  const sql = yield* SqlClient.SqlClient
  const holder = yield* Holder
  yield* sql`INSERT INTO tenants VALUES (${holder}, 'active', '{payouts,collections,reference_data,bank_resolution,balances}', now())`
  yield* sql`UPDATE corridors SET providers = ${providers.map(({ name }) => name)}`
  yield* givenFloat(holder, FLOAT)
})

const claimed = Effect.fnUntraced(function* (endpoint: string, key: string) {
  const scope = { appId: yield* Holder, mode: "live", endpoint, key } as const
  const claim = yield* (yield* Idempotency).claim(scope, new Uint8Array(32))
  return claim._tag === "Fresh" ? Option.some(claim.claim) : Option.none()
})

const momo = (number: string) => ({ _tag: "momo", msisdn: Redacted.make(number), network: "MTN", country: "UG" }) as const
const bank: Destination = {
  _tag: "bank",
  country: "UG",
  bankCode: "01",
  accountNumber: Redacted.make("9030001234"),
  accountName: Redacted.make("Jane Doe"),
  msisdn: null
}
const wallet: Destination = { _tag: "wallet", country: "UG", identifier: "tag", value: Redacted.make("jane") }

/** What a request came to: the record's status, or the refusal's code. */
const ended = <A extends { readonly status: string }, E extends { readonly _tag: string }, R>(work: Effect.Effect<A, E, R>) =>
  Effect.match(work, { onSuccess: ({ status }): string => status, onFailure: ({ _tag }): string => _tag })

/** UGX 10,000 of the tenant's float; answers what it came to, or "replayed" where the key was used before. */
export const pay = Effect.fnUntraced(function* (
  key: string,
  wish: {
    readonly method?: "momo" | "bank" | "wallet"
    readonly destinationCurrency?: "UGX" | "KES"
    readonly deduct?: boolean
    readonly number?: string
  } = {}
) {
  const { deduct = false, destinationCurrency = "UGX", method = "momo", number = jane } = wish
  const claim = yield* claimed("POST /v1/payouts", key)
  if (Option.isNone(claim)) return "replayed"
  const command = {
    amount: minor(10_000n),
    currency: "UGX",
    destinationCurrency,
    country: "UG",
    method,
    destination: { momo: momo(number), bank, wallet }[method],
    amountType: destinationCurrency === "UGX" ? null : ("SOURCE" as const),
    deductFeeFromAmount: deduct,
    narration: null,
    metadata: "{}"
  } as const
  return yield* ended((yield* Payouts).create(callerOf(yield* Holder), command, claim.value))
})

/** UGX 50,000 from a payer. */
export const charge = Effect.fnUntraced(function* (key: string, number = jane, otp: Otp | null = null) {
  const claim = yield* claimed("POST /v1/collections", key)
  if (Option.isNone(claim)) return "replayed"
  const command = {
    amount: minor(50_000n),
    currency: "UGX",
    country: "UG",
    method: "momo",
    source: momo(number),
    redirectUrl: null,
    narration: null,
    metadata: "{}",
    payer: null,
    otp
  } as const
  return yield* ended((yield* Collections).create(callerOf(yield* Holder), command, claim.value))
})

/** Every record of the holder in the order in which they were made. */
export const records = Effect.gen(function* () {
  const transactions = yield* Transactions
  const rows = yield* (yield* SqlClient.SqlClient)<{ reference: Reference }>`
    SELECT reference FROM transaction_history WHERE app_id = ${yield* Holder} AND fact = 'Opened' ORDER BY line`
  return yield* Effect.forEach(rows, ({ reference }) =>
    Effect.flatMap(transactions.byReference(reference), (found) => Effect.orDie(Effect.fromOption(found)))
  )
})

/** The record where there is one and no other. */
export const onlyRecord = Effect.flatMap(records, ([first, ...others]) =>
  first === undefined || others.length > 0 ? Effect.die(new Error("not one record")) : Effect.succeed(first)
)

/** Facts and notes, in order. */
export const historyOf = (reference: Reference) =>
  Effect.map(
    Effect.flatMap(Transactions, (transactions) => transactions.history(reference)),
    (lines) => lines.map(({ fact, note }) => (note === "" ? fact : `${fact}: ${note}`))
  )

export const floatNow = Effect.all([FloatLedger, Holder]).pipe(
  Effect.flatMap(([{ positions }, holder]) => positions(holder, "live")),
  Effect.map(([position]) => [position?.available, position?.reserved] as const)
)

export const differences = Effect.flatMap(LedgerVerification, ({ verify }) => verify).pipe(
  Effect.map((report) => report.differences)
)
