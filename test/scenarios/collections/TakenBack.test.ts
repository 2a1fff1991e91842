import { expect, layer } from "@effect/vitest"
import { Clock, Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../../src/domain/Event.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { makeClawbackSweeps } from "../../../src/services/settlement/ClawbackSweeps.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { charge, finished, inGhana, pinned, routed } from "../../support/EveryProvider.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { everyOther, executionsOf, ledgerVerifies, Stack, webhooksOf } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"
import { offBy } from "../../support/WrongClock.ts"

const DAY_MS = 86_400_000
const SLACK_MS = 30_000

/** As a worker does it so many days from now. */
const after =
  (days: number) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Clock.Clock, (clock) =>
      Effect.provideService(work, Clock.Clock, offBy(clock, Math.round(days * DAY_MS) + SLACK_MS))
    )

/** A charge of GHS 200 that succeeded, and that the schedule asks about no more. */
const longPaid = Effect.fnUntraced(function* (provider: string) {
  const { database, gateway, simulator } = yield* Stack
  yield* routed(gateway, inGhana)
  const tenant = yield* pinned(gateway, provider)
  const hook = yield* webhooksOf(gateway, tenant, EventType.literals)
  const created = yield* tenant.post("/v1/collections", charge("1234"))
  yield* finished(created)
  const reference = referenceOf(created)
  const path = `/v1/collections/${reference}`
  yield* tenant.until(path, ({ status }) => status === "successful")
  const poller = Context.get(gateway.context, OutcomePoller)
  for (const days of [1 / 24, 1, 3]) yield* poller.round.pipe(after(days))
  const next = yield* Context.get(gateway.context, Transactions).nextPoll(Reference.make(reference))
  expect([next._tag, yield* tenant.float]).toMatchObject(["None", { available_minor: 19_700, collected_minor: 20_000 }])
  const variables = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
  const rule = (outcome: string, ...more: ReadonlyArray<string>) =>
    Effect.map(
      command(variables, "review", "resolve", reference, "--outcome", outcome, "--evidence", "e", "--json", ...more),
      ({ code, errors }) => [code, errors]
    )
  const toRule = Effect.andThen(
    tenant.until(path, ({ needs_review }) => needs_review === true),
    Effect.map(command(variables, "review", "list"), ({ output }) => output)
  )
  const control = (name: string, wish: object) =>
    Effect.promise(() => simulator.control("POST", `/${name}`, { provider, client_reference: reference, ...wish }))
  const dispute = (status: string, resolution: string | null, more: object) =>
    Effect.map(control("dispute", { status, resolution, ...more }), (answer) => expect(answer).toMatchObject({ status: 200 }))
  const sql = Context.get(gateway.context, SqlClient.SqlClient)
  // Of another test: an account that was never looked through is due.
  yield* sql`DELETE FROM account_sweeps`
  const sweep = Effect.flatten(Effect.provide(makeClawbackSweeps, gateway.context))
  const shown = Effect.map(tenant.get(path), ({ body }) => body.data)
  const types = (count: number) => Effect.map(hook.types(count), (all) => [...all].sort())
  return { control, dispute, reference, rule, shown, simulator, sweep, tenant, toRule, types }
})

// Issue 38, line 8.
layer(Stack.layer({}, { beside: everyOther }), { excludeTestServices: true })("a charge that is taken back weeks later", (it) => {
  it.effect("is disputed by callback: open it moves nothing, and lost it is the tenant's, with the fee that stays", () =>
    Effect.gen(function* () {
      const { dispute, reference, rule, shown, simulator, tenant, toRule, types } = yield* longPaid("paystack")
      yield* dispute("awaiting-merchant-feedback", null, { callback: true })
      expect(yield* toRule).toMatch(
        /the provider lists a dispute \d+ of 200\.00 GHS: chargeback, status awaiting-merchant-feedback: it is open, and nothing was taken yet: answer it by 20/
      )
      expect(yield* tenant.float).toMatchObject({ available_minor: 19_700 })
      expect(yield* rule("successful")).toEqual([0, ""])

      yield* dispute("resolved", "merchant-accepted", { callback: true })
      expect(yield* toRule).toContain("it was taken back")
      expect(yield* executionsOf(simulator, reference)).toMatchObject([{ direction: "collection" }, { direction: "return" }])
      expect(yield* rule("failed", "--fee-minor", "300")).toEqual([0, ""])
      expect(yield* shown).toMatchObject({ status: "successful", needs_review: false, reversed: { amount_minor: 20_000 } })
      expect(yield* tenant.float).toMatchObject({ available_minor: 0, collected_minor: 0, provider_fees_minor: 300 })
      expect((yield* types(6)).filter((type) => type !== "collection.updated")).toEqual([
        "collection.pending",
        "collection.reversed",
        "collection.successful"
      ])
    })
  )

  it.effect("is found by the sweep where no callback comes, and a dispute that is won moves nothing", () =>
    Effect.gen(function* () {
      const { dispute, rule, shown, sweep, tenant, toRule } = yield* longPaid("paystack")
      const begun = (yield* Clock.currentTimeMillis) + 40 * DAY_MS
      yield* dispute("awaiting-merchant-feedback", null, { callback: false, created_at: begun })
      yield* sweep.pipe(after(38))
      expect(yield* shown).toMatchObject({ needs_review: false })
      yield* sweep.pipe(after(41))
      expect(yield* toRule).toContain("status awaiting-merchant-feedback: it is open")
      expect(yield* rule("successful")).toEqual([0, ""])
      const before = yield* shown
      yield* dispute("resolved", "declined", { callback: false })
      yield* sweep.pipe(after(50))
      expect(yield* shown).toEqual(before)
      expect(yield* tenant.float).toMatchObject({ available_minor: 19_700, collected_minor: 20_000, provider_fees_minor: 300 })
    })
  )

  it.effect("is refunded in the provider's dashboard on its last day, which its statement of that day shows", () =>
    Effect.gen(function* () {
      const { control, rule, shown, sweep, tenant, toRule } = yield* longPaid("eversend")
      yield* sweep.pipe(after(30))
      expect(yield* control("return", {})).toMatchObject({ status: 200 })
      yield* sweep.pipe(after(44))
      expect(yield* shown).toMatchObject({ status: "successful", needs_review: false })
      yield* sweep.pipe(after(45))
      expect(yield* toRule).toContain("later the provider said that it was reversed")
      expect(yield* rule("failed")).toEqual([0, ""])
      expect(yield* shown).toMatchObject({ needs_review: false, reversed: { amount_minor: 19_700 } })
      // A position of nothing is not listed.
      expect(yield* tenant.float).toEqual({})
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
