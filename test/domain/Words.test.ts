import type { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { CapSubject, CapWindow } from "../../src/domain/AmountCaps.ts"
import { Availability, CorridorKey, Country, CustomerAction, Direction, Method } from "../../src/domain/Corridor.ts"
import { Currency } from "../../src/domain/Currency.ts"
import { DeliveryStatus } from "../../src/domain/Delivery.ts"
import { DenylistKind } from "../../src/domain/Denylist.ts"
import { defaultSubscription, EventType } from "../../src/domain/Event.ts"
import { ExchangeStatus } from "../../src/domain/Exchange.ts"
import { Actor, Fact, RefusalKind } from "../../src/domain/Fact.ts"
import { Mode } from "../../src/domain/Ids.ts"
import {
  AmountType,
  CollectionStatus,
  FailedBy,
  Failure,
  FailureCode,
  PayoutStatus,
  ReviewRuling
} from "../../src/domain/Payment.ts"
import { ProposalKind, ProposalStatus } from "../../src/domain/Proposal.ts"
import { meaningOf } from "../../src/domain/Resolution.ts"
import { Capability, Role, TenantStatus } from "../../src/domain/Tenant.ts"
import { UnpricedReason } from "../../src/domain/UnpricedReason.ts"
import { LimitWindow } from "../../src/domain/VelocityLimits.ts"
import { DisabledReason } from "../../src/domain/WebhookEndpoint.ts"
import { factNames } from "../support/SampleFacts.ts"

// Clients hold these words, and so do records that an earlier release wrote: none is ever renamed or dropped.

const words: ReadonlyArray<readonly [string, ReadonlyArray<string>, string]> = [
  ["Actor", Actor.literals, "request callback reconciler review operator"],
  ["AmountType", AmountType.literals, "SOURCE DESTINATION"],
  ["Availability", Availability.literals, "operational degraded down"],
  ["CapSubject", CapSubject.literals, "tenant destination key"],
  ["CapWindow", CapWindow.literals, "hour day destination destination_day key key_day"],
  ["Capability", Capability.literals, "collections payouts refunds fx balances reference_data bank_resolution"],
  ["CollectionStatus", CollectionStatus.literals, "requires_action pending successful failed expired"],
  ["CustomerAction", CustomerAction.literals, "none handset_pin otp redirect"],
  ["DeliveryStatus", DeliveryStatus.literals, "due delivered parked"],
  ["DenylistKind", DenylistKind.literals, "destination screened_number screened_name"],
  ["Direction", Direction.literals, "collection payout"],
  ["DisabledReason", DisabledReason.literals, "gone failing"],
  ["ExchangeStatus", ExchangeStatus.literals, "pending successful failed"],
  ["FailedBy", FailedBy.literals, "provider gateway person"],
  [
    "FailureCode",
    FailureCode.literals,
    "insufficient_funds declined_by_payer payer_not_found limit_exceeded invalid_destination destination_unavailable provider_rejected timed_out unknown"
  ],
  ["the reason of an Unknown", Fact.cases.Unknown.fields.reason.literals, "timeout unavailable bad_response"],
  ["LimitWindow", LimitWindow.literals, "hour day destination destination_day"],
  ["Method", Method.literals, "momo bank card wallet"],
  ["Mode", Mode.literals, "live test"],
  ["PayoutStatus", PayoutStatus.literals, "pending successful failed"],
  ["ProposalStatus", ProposalStatus.literals, "open approved done failed rejected withdrawn"],
  ["RefusalKind", RefusalKind.literals, "party pool limit config other"],
  ["the outcome of a ReviewRuling", ReviewRuling.fields.outcome.literals, "successful failed"],
  ["Role", Role.literals, "tenant reader admin"],
  ["TenantStatus", TenantStatus.literals, "active frozen"],
  [
    "UnpricedReason",
    UnpricedReason.literals,
    "destination_required below_provider_minimum above_provider_maximum fee_exceeds_amount provider_refused"
  ]
]

describe("the words of the interface and of stored records", () => {
  it.each(words)("stay: %s", (_, literals, expected) => {
    expect(literals.join(" ")).toBe(expected)
  })

  it("stay: what needs two people", () => {
    const people = ["review resolve", "float credit", "float debit", "key issue", "key revoke"]
    const configuration = ["corridor set", "tenant freeze", "tenant unfreeze", "tenant pin", "tenant unpin"]
    expect(ProposalKind.literals).toStrictEqual([...people, ...configuration, "provider off", "provider on"])
  })

  it("stay: the kinds of events; who chooses nothing gets those that are final, and those by which money moves once more", () => {
    const kinds = {
      collection: ["requires_action", "pending", "successful", "failed", "expired", "reversed", "corrected", "updated"],
      payout: ["pending", "successful", "failed", "returned", "corrected", "updated"],
      fx: ["successful", "failed", "updated"],
      float: ["credited", "debited", "low"],
      webhook: ["test"]
    }
    expect(EventType.literals).toStrictEqual(Object.entries(kinds).flatMap(([kind, all]) => all.map((what) => `${kind}.${what}`)))
    expect(defaultSubscription).toStrictEqual(
      EventType.literals.filter((type) => /\.(successful|failed|expired|returned|reversed|corrected)$/.test(type))
    )
  })

  it("stay: the facts", () => {
    expect(Object.keys(Fact.cases).sort()).toStrictEqual([...factNames].sort())
  })
})

const named: ReadonlyArray<readonly [string, Schema.Top]> = [
  ["AmountType", AmountType],
  ["Availability", Availability],
  ["CapabilityName", Capability],
  ["CollectionStatus", CollectionStatus],
  ["CorridorKey", CorridorKey],
  ["Country", Country],
  ["Currency", Currency],
  ["CustomerAction", CustomerAction],
  ["DeliveryStatus", DeliveryStatus],
  ["Direction", Direction],
  ["DisabledReason", DisabledReason],
  ["EventType", EventType],
  ["Failure", Failure],
  ["FailureCode", FailureCode],
  ["Method", Method],
  ["PayoutStatus", PayoutStatus],
  ["UnpricedReason", UnpricedReason]
]

describe("a client that is generated from the description finds", () => {
  it.each(named)("%s under its name and with a description", (name, schema) => {
    expect(annotationsOf(schema)).toMatchObject({ identifier: name, description: expect.stringMatching(/^[A-Z`].{8}/) })
  })

  it("a word about the text of a failure", () => {
    expect(Failure.fields.message.ast.context?.annotations).toMatchObject({ description: expect.stringMatching(/\w{3}/) })
  })
})

/** Those of the last check, where there is one. */
const annotationsOf = ({ ast }: Schema.Top) => ast.checks?.at(-1)?.annotations ?? ast.annotations

it("a person who rules reads what each ruling does", () => {
  const actions = ["settle", "release", "collect", "close", "keep"] as const
  const said = [...actions.map((action) => meaningOf("failed", action)), ...outcomes.map((one) => meaningOf(one, "correct"))]
  expect(said).toStrictEqual([
    "money moved: what is reserved is paid",
    "nothing moved: what is reserved returns to the float",
    "money came in: it is credited to the float",
    "nothing came in: it is closed as failed",
    "it is right as it stands: the case is closed and nothing is posted",
    "money moved, with these figures where the record has others: the difference is posted, once",
    "no money moved, or it went back: what was booked is taken back, once"
  ])
  for (const action of actions) expect(meaningOf("successful", action)).toBe(meaningOf("failed", action))
})
const outcomes = ["successful", "failed"] as const
