import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../../src/domain/Ids.ts"
import { effectiveLimits, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { DEFAULT_ENDPOINT } from "../../../src/domain/WebhookEndpoint.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { FloatEntriesPg } from "../../../src/persistence/ledger/FloatEntriesPg.ts"
import { FloatLedgerPg } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { IdempotencyPg } from "../../../src/persistence/requests/IdempotencyPg.ts"
import { NoncesPg } from "../../../src/persistence/requests/NoncesPg.ts"
import { VelocityLimitsPg } from "../../../src/persistence/requests/VelocityLimitsPg.ts"
import { PeriodCountsPg } from "../../../src/persistence/status/PeriodCountsPg.ts"
import { RouteCountsPg } from "../../../src/persistence/status/RouteCountsPg.ts"
import { TenantActivityPg } from "../../../src/persistence/status/TenantActivityPg.ts"
import { BeneficiariesPg } from "../../../src/persistence/transactions/BeneficiariesPg.ts"
import { ProviderInboxPg } from "../../../src/persistence/transactions/ProviderInboxPg.ts"
import { TransactionsPg } from "../../../src/persistence/transactions/TransactionsPg.ts"
import { PartyHashRetentionPg } from "../../../src/persistence/vault/PartyHashRetentionPg.ts"
import { RandomSourceLive } from "../../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { WebhookDeliveriesPg } from "../../../src/persistence/webhooks/WebhookDeliveriesPg.ts"
import { WebhookEndpointsPg } from "../../../src/persistence/webhooks/WebhookEndpointsPg.ts"
import { WebhookOutboxPg } from "../../../src/persistence/webhooks/WebhookOutboxPg.ts"
import { Beneficiaries } from "../../../src/services/ports/Beneficiaries.ts"
import { FloatEntries } from "../../../src/services/ports/FloatEntries.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { Nonces } from "../../../src/services/ports/Nonces.ts"
import { PartyHashRetention } from "../../../src/services/ports/PartyHashRetention.ts"
import { PeriodCounts } from "../../../src/services/ports/PeriodCounts.ts"
import { Policy } from "../../../src/services/ports/Policy.ts"
import { ProviderInbox } from "../../../src/services/ports/ProviderInbox.ts"
import { RouteCounts } from "../../../src/services/ports/RouteCounts.ts"
import { TenantActivity } from "../../../src/services/ports/TenantActivity.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { WebhookDeliveries } from "../../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { appId, applyStep, givenTenantWith, openStep, succeeded } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { givenExplained, type Reading, readingsOf, recording, type Sent } from "../../support/QueryPlans.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry, givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const ROWS = 2_000_000
/**
 * What grows with the traffic, and with it the partitions of what lies in them. Nonces are not among it: they are kept for a few
 * minutes, and their removal reads all of them.
 */
const LARGE =
  /^(transactions|provider_references|idempotency_keys|journal|events|deliveries|delivery_attempts|counters|beneficiaries|provider_inbox|float_positions|tenants|period_counts|route_counts)(_first)?$/

const givenPorts = Effect.fnUntraced(function* (sent: Array<Sent>) {
  const url = yield* givenDatabase
  const ports = Layer.mergeAll(
    BeneficiariesPg,
    FloatEntriesPg,
    FloatLedgerPg,
    IdempotencyPg,
    VelocityLimitsPg,
    NoncesPg,
    PartyHashRetentionPg,
    PeriodCountsPg,
    ProviderInboxPg,
    TenantActivityPg,
    RouteCountsPg,
    TransactionsPg,
    WebhookDeliveriesPg,
    WebhookEndpointsPg,
    WebhookOutboxPg
  )
  return yield* Layer.build(
    ports.pipe(
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(
        Layer.effect(
          SqlClient.SqlClient,
          Effect.map(SqlClient.SqlClient, (sql) => recording(sql, sent))
        )
      ),
      Layer.provideMerge(Layer.mergeAll(Database.layer({ url }), RandomSourceLive, Layer.succeed(Policy, policy))),
      Layer.fresh
    )
  )
})

const windows = effectiveLimits("live", "payout", []).map((limit) => windowUse(appId, limit, "00", NOON))
const reference = Reference.make("00000000000000000000000009")
const caller = { appId, keyId: "key", mode: "live", role: "tenant" } as const

const everything = {
  kind: null,
  status: null,
  needsReview: null,
  currency: null,
  created: null,
  completed: null,
  updatedFrom: null,
  idempotencyKey: null,
  metadata: null
}

/** Everything that happens again and again, by its name. */
const hot = {
  claim: givenClaim(appId, "hot"),
  nonce: Effect.flatMap(Nonces, (nonces) => nonces.spend({ caller, nonce: "nonce", expiresAt: NOON })),
  "open and apply": Effect.gen(function* () {
    const ledger = yield* FloatLedger
    const claim = yield* givenClaim(appId, "paid")
    const beneficiary = {
      id: reference,
      appId,
      mode: "live",
      type: "momo",
      country: "UG",
      currency: "UGX",
      network: "MTN",
      bankCode: null,
      branchCode: null,
      bankName: null,
      accountName: null,
      maskedDestination: "",
      createdAt: NOON,
      lastUsedAt: NOON
    } as const
    const event = {
      id: reference,
      appId,
      mode: "live",
      type: "payout.pending",
      reference: claim.reference,
      at: NOON,
      body: "{}"
    } as const
    expect(yield* ledger.open({ ...openStep(claim, 10n), counters: windows, beneficiary, event })).toStrictEqual({
      _tag: "Opened"
    })
    const step = { ...(yield* applyStep(claim, succeeded)), accepted: true }
    expect(yield* ledger.apply(step)).toStrictEqual({ _tag: "Applied" })
  }),
  "read by reference": Effect.flatMap(Transactions, ({ byReference, find, history }) =>
    Effect.all([find(appId, "live", reference), byReference(reference), history(reference)])
  ),
  "read by the provider's reference": Effect.flatMap(Transactions, ({ byProviderReference }) =>
    byProviderReference("eversend", "live", "P1")
  ),
  "list a page": Effect.gen(function* () {
    yield* (yield* Beneficiaries).list(appId, "live", 20, null)
    const { exchanges, list } = yield* Transactions
    for (const filter of [
      everything,
      { ...everything, idempotencyKey: "paid" },
      { ...everything, status: "failed", created: { from: null, to: NOON } } as const,
      { ...everything, completed: { from: NOON - 1_000, to: null } },
      { ...everything, updatedFrom: NOON - 1_000 }
    ])
      for (const listed of [list, exchanges])
        yield* listed({ appId, mode: "live" }, filter, { limit: 20, from: { at: NOON + 1, id: reference } })
    yield* (yield* WebhookDeliveries).list({ appId, mode: "live", endpoint: null, status: null, limit: 20, after: null })
  }),
  "list for an operator": Effect.gen(function* () {
    const { search } = yield* Transactions
    const none = { appId: null, mode: null, kind: null, status: null, provider: null, partyEnd: null, createdTo: null } as const
    const nothing = { corridor: null, failure: null, currency: null, amountFrom: null, amountTo: null } as const
    const filter = { ...none, ...nothing, needsReview: false, isUnknown: false, createdFrom: NOON }
    const page = { limit: 25, from: { at: NOON + 1, id: reference } }
    for (const one of [
      filter,
      { ...filter, isUnknown: true },
      { ...filter, needsReview: true },
      { ...filter, failure: "unknown", corridor: { country: "UG" }, currency: "UGX", amountFrom: 1n, amountTo: 2n } as const
    ])
      yield* search(one, page)
    const callbacks = { status: null, provider: "mtn", mode: "live", receivedFrom: null, receivedTo: NOON } as const
    yield* (yield* ProviderInbox).search(callbacks, { limit: 25, after: { at: NOON, id: reference } })
  }),
  "search all tenants": Effect.gen(function* () {
    const { soughtEverywhere } = yield* Transactions
    const hashes = [new Uint8Array(32)]
    for (const sought of [
      { _tag: "party", hashes },
      { _tag: "account", hashes },
      { _tag: "receipt", identity: "R1" },
      { _tag: "metadata", members: [{ key: "order", value: "A-1" }] },
      { _tag: "value", value: "A-1" },
      { _tag: "key", key: "paid" }
    ] as const) {
      yield* soughtEverywhere([sought], { mode: null, before: null, limit: 20 })
      yield* (yield* Transactions).sought({ appId, mode: "live" }, sought, { limit: 20, from: { at: NOON + 1, id: reference } })
    }
  }),
  "list the entries of a float": Effect.gen(function* () {
    const { list } = yield* FloatEntries
    const float = { appId, mode: "live", currency: "UGX" } as const
    yield* list(float, null, 20)
    yield* list(float, { at: NOON + 1, reference, revision: 1n, balance: { available: 0n, reserved: 0n } }, 20)
  }),
  "due transactions": Effect.flatMap(Transactions, ({ claimDue }) => claimDue(NOON, 100, 1_000)),
  "due deliveries": Effect.flatMap(WebhookOutbox, ({ claimDue, recordAttempt }) =>
    Effect.flatMap(
      claimDue(NOON, 100, 8, 1_000),
      Effect.forEach((delivery) =>
        recordAttempt({ delivery, at: NOON, durationMs: 1, status: 500, excerpt: "" }, { _tag: "Again", at: NOON })
      )
    )
  ),
  inbox: Effect.flatMap(ProviderInbox, ({ claimDue }) => claimDue(NOON, 100, 1_000)),
  sweeps: Effect.gen(function* () {
    yield* (yield* Nonces).prune(NOON, 1_000)
    yield* (yield* VelocityLimits).prune(NOON - 1e9, 1_000)
    yield* (yield* PartyHashRetention).prune(NOON - 1e10, 1_000)
    yield* (yield* WebhookDeliveries).purge(NOON - 1e10, null, 1_000)
    yield* (yield* ProviderInbox).prune(NOON - 1e10, 1_000)
    yield* (yield* PeriodCounts).prune(NOON - 1e10, 1_000)
  }),
  "what a tenant began": Effect.flatMap(TenantActivity, ({ begun }) => begun(appId, "live", NOON - 86_400_000)),
  "counts of routes": Effect.gen(function* () {
    const { add, prune, since, write } = yield* RouteCounts
    const route = { direction: "payout", corridor: "UG/UGX/momo", network: "MTN", provider: "eversend" } as const
    yield* add("live", { ...route, result: "successful", tookMs: 700 })
    yield* write
    yield* since(NOON - 3_600_000)
    yield* prune(NOON - 1e10, 1_000)
  }),
  "counts of periods": Effect.gen(function* () {
    const { add, callbacks, ended, walletRefusals, write } = yield* PeriodCounts
    yield* add({
      what: "payout",
      mode: "live",
      provider: "eversend",
      corridor: "UG/UGX/momo",
      outcome: "failed",
      failure: "unknown"
    })
    yield* write
    yield* ended("live", NOON - 7 * 86_400_000, 3_600_000)
    yield* callbacks(NOON - 3_600_000)
    yield* walletRefusals(NOON - 3_600_000)
  })
}

/**
 * As if the tables were large: each page is said to hold so many rows that reading them all can never pay. Answers what must not be read whole:
 * those tables, and their indexes. One that holds only what is open is as small as that.
 */
const grown = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`UPDATE pg_class SET relpages = 1, reltuples = ${ROWS}
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0 RETURNING relname::text AS name`
  const indexes = yield* sql<{ name: string; table: string }>`
    SELECT indexrelid::regclass::text AS name, indrelid::regclass::text AS table FROM pg_index WHERE indpred IS NULL`
  const large = tables.map(({ name }) => name).filter((name) => LARGE.test(name))
  return [...large, ...indexes.filter(({ table }) => large.includes(table)).map(({ name }) => name)]
})

const offences = Effect.fnUntraced(function* (
  happenings: ReadonlyMap<string, ReadonlyArray<Sent>>,
  isOne: (reading: Reading) => boolean
) {
  const found = new Set<string>()
  for (const [name, statements] of happenings) {
    expect(statements.length).toBeGreaterThan(0)
    for (const statement of statements.filter(({ text }) => /^\s*(WITH|SELECT|INSERT|UPDATE|DELETE)/.test(text))) {
      const wrong = (yield* readingsOf(statement)).filter(isOne)
      for (const { index, table } of wrong) found.add(`${name}: all of ${index ?? table}`)
    }
  }
  return [...found]
})

it.live(
  "no daily statement reads a large table from end to end",
  () =>
    Effect.gen(function* () {
      const sent: Array<Sent> = []
      const node = yield* givenPorts(sent)
      yield* Effect.gen(function* () {
        yield* givenTenantWith(appId, 100_000n)
        const wish = {
          appId,
          mode: "live",
          name: DEFAULT_ENDPOINT,
          url: "https://acme.example/",
          events: ["payout.pending"],
          enabled: true
        } as const
        yield* (yield* WebhookEndpoints).put({
          ...wish,
          secret: Redacted.make("whsec_acme"),
          rotatesUntil: null,
          at: NOON,
          change: auditEntry()
        })
        const byName = new Map<string, ReadonlyArray<Sent>>()
        for (const [name, happening] of Object.entries(hot)) {
          sent.length = 0
          yield* happening
          byName.set(name, [...sent])
        }
        yield* givenExplained
        const large = yield* grown
        const wholes = yield* offences(byName, ({ index, table, whole }) => whole && large.includes(index ?? table ?? ""))
        expect(wholes).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped),
  600_000
)
