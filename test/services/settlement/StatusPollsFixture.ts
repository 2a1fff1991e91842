import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Reported } from "../../../src/domain/CallbackReport.ts"
import type { Actor } from "../../../src/domain/Fact.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { CodeState } from "../../../src/services/ports/Codes.ts"
import type { Provider, ProviderGuarantees, StatusOutcome, StatusQuery } from "../../../src/services/ports/Provider.ts"
import type { ClawbackQuery } from "../../../src/services/ports/ProviderClawbacks.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { Clawbacks } from "../../../src/services/settlement/Clawbacks.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { unexpected } from "../../fakes/Fake.ts"
import { fakeCodes } from "../../fakes/FakePorts.ts"
import { cases } from "../../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../../support/SampleFacts.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { FIRST, storedRecord } from "./StoredRecord.ts"

export const HOUR = 3_600_000
export const { NotFound, Refused, Returned, StillPending, Succeeded, Unknown } = facts(10_000n)
export const { reference } = payout()
export const exchange = cases["pending exchange"]

export const everything = ["payouts", "collections", "exchange"] as const

export interface World {
  readonly guarantees?: Partial<ProviderGuarantees>
  /** What the provider can be polled about. */
  readonly offers?: ReadonlyArray<"payouts" | "collections" | "exchange">
  readonly registered?: boolean
  readonly isDue?: boolean
  /** Whether it has a statement. */
  readonly lists?: boolean
  /** Whether it lists disputes and refunds; where it is asked for them, the query is among the queries. */
  readonly clawbacks?: boolean
  /** The accounts that sent the records which name none. */
  readonly claimed?: ReadonlyArray<string>
  /** The accounts that are set. */
  readonly fingerprints?: ReadonlyArray<string>
  /** What the call of the provider does besides. */
  readonly calling?: Effect.Effect<void>
  /** Where the code of the charge stands; undefined: nobody asks for it. */
  readonly code?: CodeState
}

/** One record, its provider, which answers every query alike, and the poller a minute after the record was made. */
export const given = (record: Transaction, answer: StatusOutcome, world: World = {}) => {
  const {
    calling = Effect.void,
    claimed = [],
    code,
    fingerprints = ["one"],
    guarantees,
    isDue = true,
    lists = false,
    clawbacks = false,
    offers = everything,
    registered = true
  } = world
  const telemetry = givenTelemetry()
  const queries: Array<StatusQuery> = []
  const asked: Array<ClawbackQuery> = []
  const closed: Array<unknown> = []
  const claims: Array<readonly [now: number, limit: number, leaseMs: number]> = []
  const putBack: Array<readonly [reference: string, at: number]> = []
  const kept = storedRecord(record, [], {
    claimDue: (...claim) =>
      Effect.sync(() => {
        claims.push(claim)
        return isDue && claims.length === 1 ? [{ transaction: record, revision: FIRST }] : []
      }),
    putBack: (waiting, at) => Effect.sync(() => void putBack.push([waiting.reference, at]))
  })
  const unused = (...args: ReadonlyArray<unknown>) => unexpected("a provider", args)
  const fetchStatus = (query: StatusQuery) => {
    queries.push(query)
    return Effect.as(calling, answer)
  }
  const operations: Required<Pick<Provider, "payouts" | "collections" | "exchange">> = {
    payouts: { quote: unused, send: unused, fetchStatus },
    collections: {
      charge: unused,
      fetchStatus,
      ...(clawbacks && { clawbacks: (query) => Effect.sync(() => (asked.push(query), { listed: [], isWhole: true })) })
    },
    exchange: { quote: unused, execute: unused, fetchStatus }
  }
  const provider: Provider = {
    name: "eversend",
    mode: "live",
    fingerprints: () => fingerprints,
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      callbackAuth: "hmac",
      quoteTtlMs: 1,
      notFoundGraceMs: 1,
      ...guarantees
    },
    callbacks: { verify: unused },
    ...(lists && { statement: unused }),
    ...Object.fromEntries(offers.map((name) => [name, operations[name]]))
  }
  const layer = OutcomePoller.layer.pipe(
    Layer.provide(Layer.provideMerge(Clawbacks.layer, Settlement.layer)),
    Layer.provide([
      kept.ports,
      Layer.succeed(ProviderRegistry, {
        known: ["eversend"],
        find: unused,
        accounts: (name, mode) => (registered && name === "eversend" && mode === "live" ? [provider] : []),
        claimed: () => claimed,
        byRouteKey: unused,
        routeKey: unused,
        keptRouteKeys: () => []
      }),
      fakeCodes(
        code === undefined
          ? {}
          : {
              close: (about, at) =>
                Effect.sync(() => {
                  closed.push([about, at])
                  return code
                })
            }
      )
    ]),
    Layer.merge(telemetry.layer)
  )
  const pollBy = (actor: Actor, said: ReadonlyArray<Reported> = [], at = TOLD_AT) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      return yield* (yield* OutcomePoller).poll(kept.read(), actor, said)
    }).pipe(Effect.provide(layer))
  /** For callbacks that say this. */
  const pollFor = (...said: ReadonlyArray<Reported>) => pollBy("callback", said)
  const poll = (at = TOLD_AT, traceparent: string | null = null) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      return (yield* (yield* OutcomePoller).poll({ ...kept.read(), traceparent }, "reconciler")).learnt
    }).pipe(Effect.provide(layer))
  return { ...kept, ...telemetry, layer, provider, poll, pollBy, pollFor, queries, asked, closed, claims, putBack }
}

/** The facts that were written, with their notes. */
export const told = ({ steps }: Pick<ReturnType<typeof given>, "steps">) =>
  steps.map(({ line: { fact, note } }) => (note === "" ? fact : `${fact}: ${note}`))
export const paid = payout({ status: "successful", completedAt: NOON })
