import { performance } from "node:perf_hooks"
import { expect } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { payout } from "../../simulator/eversend/SimulatorFixture.ts"
import { sampled } from "../../support/Exposition.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { tenantOn, webhooksOf } from "../../support/Stack.ts"
import { databaseFaults } from "../failures/DatabaseFaults.ts"
import { providerFaults } from "../routing/ProviderFaults.ts"
import { ends, type Fault, fires, grownOlder, neverExecuted, statusOf } from "./AlertFiring.ts"
import { auditFault } from "./AuditFault.ts"
import { readinessFaults } from "./ReadinessFaults.ts"

/** Each plants a fault, expects its alerts, repairs it and expects them to end. One gateway plays them in this order. */
export const stories: ReadonlyArray<Fault> = [
  {
    about: "nobody verified the ledger, until somebody does; then a position is wrong, until it is corrected",
    alerts: ["LedgerUnverified", "ReconcileOverdue", "LedgerDifference"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { run, sql } = operated
      const tenant = yield* tenantOn(operated.gateway)
      expect((yield* run("ledger", "verify")).code).toBe(0)
      yield* sql`UPDATE integrity_checks SET at = at - interval '2 days'`
      yield* fires(operated, before, "LedgerUnverified")
      yield* fires(operated, before, "ReconcileOverdue")
      const shift = (by: number) => sql`UPDATE float_positions SET available_minor = available_minor + ${by}::bigint,
        collected_minor = collected_minor + ${by}::bigint WHERE app_id = ${tenant.appId}`
      yield* shift(1)
      expect((yield* run("ledger", "verify")).code).toBe(1)
      yield* fires(operated, before, "LedgerDifference")
      yield* ends(operated, "LedgerUnverified")
      yield* shift(-1)
      expect((yield* run("ledger", "verify")).code).toBe(0)
      yield* ends(operated, "LedgerDifference")
    })
  },
  auditFault,
  {
    about: "the provider executed what we never asked for",
    alerts: ["ReconcileDifference"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { run, simulator } = operated
      yield* Effect.promise(() => payout(simulator, "1234", "not-ours"))
      yield* eventually(run("reconcile", "eversend", "--json"), ({ code }) => code === 1)
      yield* fires(operated, before, "ReconcileDifference")
    })
  },
  {
    about:
      "a payout whose answer never comes, shown by status, until an operator has acknowledged it, and until the provider answers",
    alerts: ["OutcomeUnknown", "OpenForADay"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, run, sql } = operated
      const tenant = yield* tenantOn(gateway)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0004")))
      yield* grownOlder(operated, reference, "20 minutes")
      yield* fires(operated, before, "OutcomeUnknown")
      expect(yield* statusOf(operated)).toMatchObject({
        needs_attention: expect.arrayContaining(["outcomes unknown for more than a minute: 1"]),
        providers: [
          { provider: "eversend", mode: "live", registered: true, open: 1, unknown: 1, oldest: expect.stringMatching(/^20m/) }
        ],
        oldest_unknown: [{ reference, app_id: tenant.appId, kind: "payout", mode: "live", provider: "eversend" }]
      })
      const screen = (yield* run("status")).output
      expect([screen.includes(reference), screen.split("\n").length < 45]).toEqual([true, true])
      const acknowledged = yield* run("review", "acknowledge", reference, "--note", "asked their support")
      expect(acknowledged.errors).toBe("")
      yield* ends(operated, "OutcomeUnknown")
      yield* sql`UPDATE open_work SET acknowledged_until = now() WHERE reference = ${reference}`
      yield* fires(operated, before, "OutcomeUnknown")
      yield* grownOlder(operated, reference, "25 hours")
      yield* fires(operated, before, "OpenForADay")
      yield* neverExecuted(operated, reference)
      yield* ends(operated, "OutcomeUnknown")
      yield* ends(operated, "OpenForADay")
    })
  },
  {
    about: "an amount that differs, until a person has ruled",
    alerts: ["ReviewWaiting"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, run } = operated
      const tenant = yield* tenantOn(gateway)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      const short = {
        _tag: "Succeeded",
        providerReference: null,
        amount: minor(9_999n),
        currency: "UGX",
        fee: null,
        note: ""
      } as const
      yield* Context.get(gateway.context, Settlement).apply({
        reference: Reference.make(reference),
        fact: short,
        actor: "callback"
      })
      yield* fires(operated, before, "ReviewWaiting")
      const resolved = yield* run("review", "resolve", reference, "--outcome", "failed", "--evidence", "their statement")
      expect(resolved.code).toBe(0)
      yield* ends(operated, "ReviewWaiting")
    })
  },
  {
    about: "a correction that the float could not cover, until the tenant pays",
    alerts: ["ReceivableOwed"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, run, sql } = operated
      const tenant = yield* tenantOn(gateway)
      yield* sql`UPDATE float_positions SET available_minor = 0, receivable_minor = 500, debited_minor = debited_minor + available_minor + 500
        WHERE app_id = ${tenant.appId}`
      yield* fires(operated, before, "ReceivableOwed")
      expect(yield* statusOf(operated)).toMatchObject({
        owing: [{ app_id: tenant.appId, mode: "live", currency: "UGX", receivable_minor: 500 }]
      })
      const credit = ["--mode", "live", "--currency", "UGX", "--amount-minor", "500", "--external-id", "paid", "--note", "paid"]
      expect((yield* run("float", "credit", tenant.appId, ...credit)).errors).toBe("")
      yield* ends(operated, "ReceivableOwed")
    })
  },
  {
    about: "a tenant that does not accept its webhooks, until they are sent again",
    alerts: ["WebhookEndpointFailing", "WebhooksParked"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, run, sql } = operated
      const tenant = yield* tenantOn(gateway)
      let isBroken = true
      yield* webhooksOf(gateway, tenant, ["payout.pending"], () => (isBroken ? 500 : 204))
      yield* tenant.post("/v1/payouts", momoPayout("1234"))
      yield* fires(operated, before, "WebhooksParked")
      yield* sql`UPDATE webhook_endpoints SET failing_since = failing_since - interval '1 minute' WHERE app_id = ${tenant.appId}`
      yield* fires(operated, before, "WebhookEndpointFailing")
      expect(yield* statusOf(operated)).toMatchObject({
        needs_attention: expect.arrayContaining(["webhook endpoints that accept nothing: 1"]),
        webhooks_failing: [{ app_id: tenant.appId, mode: "live", for: expect.stringMatching(/^1m/) }],
        webhooks_parked: [{ app_id: tenant.appId, mode: "live", parked: 1, endpoint: "enabled" }]
      })
      isBroken = false
      const parked = yield* run("webhook", "deliveries", tenant.appId, "--mode", "live", "--status", "parked", "--json")
      for (const { id } of JSON.parse(parked.output)) expect((yield* run("webhook", "redeliver", id)).code).toBe(0)
      yield* ends(operated, "WebhooksParked")
      yield* ends(operated, "WebhookEndpointFailing")
    })
  },
  {
    about: "deliveries that nobody can claim, until the lock is released",
    alerts: ["WebhooksLate"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, holder, sql } = operated
      const tenant = yield* tenantOn(gateway)
      const hook = yield* webhooksOf(gateway, tenant, ["payout.pending"])
      yield* holder`BEGIN`
      yield* holder`SELECT pg_advisory_xact_lock(7002)`
      yield* tenant.post("/v1/payouts", momoPayout("1234"))
      yield* sql`WITH sooner AS (UPDATE due_deliveries SET next_attempt_at = next_attempt_at - interval '10 minutes' WHERE app_id = ${tenant.appId})
        UPDATE deliveries SET next_attempt_at = next_attempt_at - interval '10 minutes' WHERE app_id = ${tenant.appId}`
      yield* fires(operated, before, "WebhooksLate")
      yield* holder`ROLLBACK`
      yield* hook.count(1)
      yield* ends(operated, "WebhooksLate")
    })
  },
  {
    about: "polls that no node can take, until one can",
    alerts: ["PollsLate"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, sql } = operated
      const tenant = yield* tenantOn(gateway)
      yield* sql`CREATE FUNCTION refuse_lease() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''read only''; END'`
      yield* sql`CREATE TRIGGER no_lease BEFORE UPDATE ON open_work FOR EACH ROW WHEN (NEW.lease_until IS NOT NULL) EXECUTE FUNCTION refuse_lease()`
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0008")))
      yield* sql`UPDATE open_work SET next_poll_at = next_poll_at - interval '10 minutes' WHERE reference = ${reference}`
      yield* fires(operated, before, "PollsLate")
      expect(yield* statusOf(operated)).toMatchObject({
        needs_attention: expect.arrayContaining(["providers are not polled for open transactions"])
      })
      yield* sql`DROP TRIGGER no_lease ON open_work`
      yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
      yield* ends(operated, "PollsLate")
    })
  },
  {
    about: "callbacks that cannot be processed, until the table can be written; one of them matches nothing, until it does",
    alerts: ["CallbacksLate", "CallbacksParked"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, run, sql } = operated
      const tenant = yield* tenantOn(gateway)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
      const id = "0".repeat(26)
      yield* sql`CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''read only''; END'`
      yield* sql`CREATE TRIGGER read_only BEFORE UPDATE ON provider_inbox FOR EACH STATEMENT EXECUTE FUNCTION refuse_write()`
      yield* sql`INSERT INTO provider_inbox (id, provider, mode, digest, received_at, provider_reference, status, next_look_at, looks)
        VALUES (${id}, 'eversend', 'live', sha256('unknown'), now() - interval '2 hours', 'nobody', 'due', now() - interval '10 minutes', 8)`
      yield* fires(operated, before, "CallbacksLate")
      yield* sql`DROP TRIGGER read_only ON provider_inbox`
      yield* fires(operated, before, "CallbacksParked")
      yield* ends(operated, "CallbacksLate")
      yield* sql`UPDATE provider_inbox SET reference = ${reference} WHERE id = ${id}`
      expect((yield* run("inbox", "replay", id)).code).toBe(0)
      yield* ends(operated, "CallbacksParked")
      const foreign = "1".repeat(26)
      yield* sql`INSERT INTO provider_inbox (id, provider, mode, digest, received_at, provider_reference, status)
        VALUES (${foreign}, 'eversend', 'live', sha256('foreign'), now() - interval '2 hours', 'nobody', 'parked')`
      yield* fires(operated, before, "CallbacksParked")
      expect((yield* run("inbox", "close", foreign, "--reason", "another program's payout")).errors).toBe("")
      expect((yield* run("inbox", "close", foreign, "--reason", "again")).code).toBe(1)
      yield* ends(operated, "CallbacksParked")
    })
  },
  {
    about: "requests without a signature",
    alerts: ["SignaturesRefused"],
    story: Effect.fnUntraced(function* (operated, before) {
      const unsigned = Effect.promise(() => fetch(`${operated.gateway.url}/v1/float`).then((answer) => answer.text()))
      yield* Effect.replicateEffect(unsigned, 101, { concurrency: 8 })
      yield* fires(operated, before, "SignaturesRefused")
      expect(sampled(yield* operated.page, "gateway_signatures_refused_total", { reason: "headers" })).toBeGreaterThan(100)
    })
  },
  {
    about: "callbacks that the provider did not sign",
    alerts: ["CallbacksRefused"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { context, url } = operated.gateway
      const target = `${url}/webhooks/eversend/${Context.get(context, ProviderRegistry).routeKey("eversend", "live")}`
      const forged = Effect.promise(() => fetch(target, { method: "POST", body: "{}" }).then(({ status }) => status))
      expect(yield* Effect.replicateEffect(forged, 5, { concurrency: 5 })).toEqual([401, 401, 401, 401, 401])
      yield* fires(operated, before, "CallbacksRefused")
    })
  },
  {
    about: "an event loop that stands still",
    alerts: ["EventLoopHeldUp"],
    story: (operated, before) => {
      const held = Effect.sync(() => {
        const until = performance.now() + 1_200
        while (performance.now() < until);
      })
      return Effect.andThen(held, fires(operated, before, "EventLoopHeldUp"))
    }
  },
  ...providerFaults,
  ...readinessFaults,
  ...databaseFaults,
  {
    about: "a database that accepts no connections, until it does",
    alerts: ["DatabaseDown", "InternalErrors"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { elsewhere, gateway, name } = operated
      const tenant = yield* tenantOn(gateway)
      yield* elsewhere.unsafe(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`)
      yield* elsewhere`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`
      yield* fires(operated, before, "DatabaseDown")
      yield* tenant.get("/v1/float").pipe(Effect.exit)
      yield* fires(operated, before, "InternalErrors")
      yield* elsewhere.unsafe(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`)
      yield* ends(operated, "DatabaseDown")
      yield* ends(operated, "InternalErrors")
    })
  }
]
