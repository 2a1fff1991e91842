import { it } from "@effect/vitest"
import { Deferred, Effect, Exit, Option, Redacted, Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect } from "vitest"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { AppId } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { CodeFlow } from "../../../src/services/collections/CodeFlow.ts"
import { Collections } from "../../../src/services/collections/Collections.ts"
import { Corridors } from "../../../src/services/ports/Corridors.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { eventually, makeBench } from "../../simulator/eversend/SimulatorFixture.ts"
import { claimKey } from "../../support/PaymentRequests.ts"
import { givenServices, type Interference } from "../../support/ServicesOnPostgres.ts"
import { givenTenantRow } from "../../support/TenantRow.ts"
import { auditEntry, givenDatabase } from "../../support/TestDatabase.ts"

const bench = makeBench(afterEach)
const appId = AppId.make("acme")
const caller = { appId, keyId: "k", mode: "live", role: "tenant" } as const
const source = { _tag: "momo", msisdn: Redacted.make("+256772123456"), network: "MTN", country: "UG" } as const

const changeCorridors = Effect.fnUntraced(function* (change: Partial<Corridor>) {
  const corridors = yield* Corridors
  for (const row of yield* corridors.list) {
    if (row.country === "UG" && row.direction === "collection") yield* corridors.put({ ...row, ...change }, auditEntry())
  }
})
const changeTenant = (update: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>) =>
  Effect.flatMap(SqlClient.SqlClient, update)

/** A collection that waits for its code; answers how to say the right one. */
const waiting = Effect.gen(function* () {
  yield* givenTenantRow(yield* SqlClient.SqlClient, appId, ["collections"])
  yield* changeCorridors({ customerAction: "otp" })
  const scope = { appId, mode: "live", endpoint: "POST /v1/collections", key: "key" } as const
  const claimed = yield* claimKey(scope)
  if (claimed._tag !== "Fresh") return yield* Effect.die(new Error("the key was not free"))
  const asked = { amount: minor(50_000n), currency: "UGX", country: "UG", method: "momo" } as const
  const rest = { redirectUrl: null, narration: null, metadata: "{}", payer: null, otp: null }
  const record = yield* (yield* Collections).create(caller, { ...asked, ...rest, source }, claimed)
  const pinId = record.kind === "collection" && record.nextAction?._tag === "otp" ? record.nextAction.pinId : ""
  return { reference: record.reference, otp: { pinId, pin: Redacted.make("123456") }, source }
})

const say = (command: Effect.Success<typeof waiting>) =>
  Effect.flatMap(CodeFlow, ({ authorize }) => authorize(caller, command, null))

/** Stops the process for ever once the provider has answered the charge. */
const dying =
  (died: Deferred.Deferred<void>): Interference =>
  (step, effect) =>
    step === "charge" ? Effect.tap(effect, () => Effect.andThen(Deferred.succeed(died, undefined), Effect.never)) : effect

/** A process that dies between the provider's answer to the code and its commit, and the next one. */
const crashed = Effect.gen(function* () {
  const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
  const url = yield* givenDatabase
  const died = yield* Deferred.make<void>()
  const first = yield* Scope.make()
  const doomed = yield* givenServices(url, simulator.eversendBaseUrl, dying(died)).pipe(Scope.provide(first))
  const command = yield* Effect.provideContext(waiting, doomed)
  yield* Effect.raceFirst(Effect.exit(Effect.provideContext(say(command), doomed)), Deferred.await(died))
  yield* Scope.close(first, Exit.void)
  yield* Effect.promise(() =>
    eventually(
      () => simulator.search(command.reference),
      (found) => found.length === 1 && found.every(({ status }) => status === "successful")
    )
  )
  return { simulator, command, node: yield* givenServices(url, simulator.eversendBaseUrl) }
})

const statusOf = Effect.fnUntraced(function* ({ reference }: Effect.Success<typeof waiting>) {
  return Option.getOrThrow(yield* (yield* Transactions).byReference(reference)).transaction.status
})

/** What an operator may change between a request and its retry, each of which refuses a first request. */
const changes: ReadonlyArray<readonly [string, Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient | Corridors>]> = [
  ["the tenant was frozen", changeTenant((sql) => sql`UPDATE tenants SET status = 'frozen' WHERE app_id = ${appId}`)],
  ["the tenant lost its grant", changeTenant((sql) => sql`UPDATE tenants SET capabilities = '{}' WHERE app_id = ${appId}`)],
  ["the corridor was switched off", changeCorridors({ active: false })],
  ["the corridor lost the network", changeCorridors({ networks: ["AIRTEL"] })]
]

describe("a process killed after the provider accepted the code", () => {
  it.effect("never leads to a second charge: the next authorize finds that a charge may have been placed", () =>
    Effect.gen(function* () {
      const { command, node, simulator } = yield* crashed
      yield* Effect.gen(function* () {
        expect(yield* Effect.flip(say(command))).toMatchObject({ _tag: "request_in_progress" })
        yield* TestClock.adjust("91 seconds")
        expect(yield* say(command)).toMatchObject({ status: "pending", nextAction: null })
        yield* TestClock.adjust("2 minutes")
        yield* (yield* OutcomePoller).round
        expect(yield* statusOf(command)).toBe("successful")
      }).pipe(Effect.provideContext(node))
      expect(yield* Effect.promise(() => simulator.executions(command.reference))).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.effect("finds the charge also when the code is not sent again", () =>
    Effect.gen(function* () {
      const { command, node, simulator } = yield* crashed
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("10 minutes")
        yield* (yield* OutcomePoller).round
        expect(yield* statusOf(command)).toBe("pending")
        yield* TestClock.adjust("6 minutes")
        yield* (yield* OutcomePoller).round
        expect(yield* statusOf(command)).toBe("successful")
      }).pipe(Effect.provideContext(node))
      expect(yield* Effect.promise(() => simulator.executions(command.reference))).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.effect.each(changes)("is answered from its charge and never with a terminal refusal when %s since", ([, change]) =>
    Effect.gen(function* () {
      const { command, node, simulator } = yield* crashed
      const { reference } = command
      yield* Effect.gen(function* () {
        yield* change
        expect(yield* Effect.flip(say(command))).toMatchObject({ _tag: "request_in_progress", reference })
        yield* TestClock.adjust("91 seconds")
        expect(yield* say(command)).toMatchObject({ reference, status: "pending" })
        expect(yield* say(command)).toMatchObject({ reference, status: "pending" })
        const other = { ...command, source: { ...source, msisdn: Redacted.make("+256772123457") } }
        expect(yield* Effect.flip(say(other))).toMatchObject({ _tag: "validation_failed", issues: [{ path: "source.msisdn" }] })
        yield* TestClock.adjust("2 minutes")
        yield* (yield* OutcomePoller).round
        expect(yield* say(command)).toMatchObject({ reference, status: "successful" })
      }).pipe(Effect.provideContext(node))
      expect(yield* Effect.promise(() => simulator.executions(reference))).toHaveLength(1)
    }).pipe(Effect.scoped)
  )
})
