import { describe, expect, it } from "vitest"
import { beneficiaryView } from "../../src/domain/Beneficiary.ts"
import { CUT_OFF, deliveryView, NOT_LISTENING, NOT_REACHED } from "../../src/domain/Delivery.ts"
import { encodeEvent } from "../../src/domain/Event.ts"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { json } from "../../src/domain/Json.ts"
import { DEFAULT_ENDPOINT, endpointView } from "../../src/domain/WebhookEndpoint.ts"
import { NOON } from "../support/SampleTransactions.ts"

const SHOWN = "2026-11-21T08:00:00.000Z"
const LATER = "2026-11-21T08:15:00.000Z"
const ID = "00000000000000000000000001"
const id = Reference.make(ID)
const appId = AppId.make("acme")
const delivery = {
  id,
  appId,
  mode: "live",
  endpoint: DEFAULT_ENDPOINT,
  eventId: id,
  eventType: "payout.failed",
  reference: null,
  status: "due",
  nextAttemptAt: NOON + 900_000,
  createdAt: NOON,
  completedAt: null
} as const
/** As the tenant reads it. */
const read = (view: unknown): unknown => JSON.parse(json(view))

describe("a tenant is shown", () => {
  it("a delivery with its attempts", () => {
    const attempts = [{ at: NOON, durationMs: 12, status: null, excerpt: "no answer within 15000 ms" }]
    const given = { ...delivery, attempts }
    const shown = {
      id: ID,
      endpoint: "default",
      event_id: ID,
      event_type: "payout.failed",
      reference: null,
      status: "due",
      is_test_mode: false,
      next_attempt_at: LATER,
      created_at: SHOWN,
      completed_at: null,
      attempts: [{ at: SHOWN, duration_ms: 12, status: null, excerpt: "no answer within 15000 ms" }]
    }
    expect(read(deliveryView(given))).toStrictEqual(shown)
    expect(read(deliveryView({ ...given, mode: "test", nextAttemptAt: null, completedAt: NOON }))).toStrictEqual({
      ...shown,
      is_test_mode: true,
      next_attempt_at: null,
      completed_at: SHOWN
    })
  })

  it("no network's own words about its endpoint, also where an earlier release kept them", () => {
    const shown = (status: number | null, excerpt: string) =>
      deliveryView({ ...delivery, attempts: [{ at: NOON, durationMs: 12, status, excerpt }] }).attempts[0]?.excerpt
    const words = [
      "10.1.2.3 is not a public address",
      "db.internal was not resolved: ESERVFAIL",
      "connect ECONNREFUSED 93.184.215.14:443",
      "Hostname/IP does not match certificate's altnames: Host: shop.example. is not in the cert's altnames: DNS:db.internal"
    ]
    expect(words.map((text) => shown(null, text))).toEqual(words.map(() => NOT_REACHED))
    const ours = [NOT_REACHED, NOT_LISTENING, CUT_OFF, "no answer within 15000 ms"]
    expect(ours.map((text) => shown(null, text))).toEqual(ours)
    expect(shown(500, "10.1.2.3 is not a public address")).toBe("10.1.2.3 is not a public address")
  })

  it("where its events go", () => {
    const url = "https://shop.example/hook"
    const state = { enabled: true, disabledReason: null, failingSince: null, createdAt: NOON, updatedAt: NOON + 900_000 }
    const given = { appId, mode: "live", name: DEFAULT_ENDPOINT, url, events: ["payout.failed"], ...state } as const
    const shown = {
      url,
      events: ["payout.failed"],
      enabled: true,
      disabled_reason: null,
      failing_since: null,
      is_test_mode: false,
      created_at: SHOWN,
      updated_at: LATER
    }
    expect(read(endpointView(given))).toStrictEqual(shown)
    expect(
      read(endpointView({ ...given, mode: "test", enabled: false, disabledReason: "failing", failingSince: NOON }))
    ).toStrictEqual({ ...shown, is_test_mode: true, enabled: false, disabled_reason: "failing", failing_since: SHOWN })
  })

  it("an event, whose bytes are frozen", () => {
    const event = { id, appId, mode: "live", type: "payout.failed", reference: id, at: NOON } as const
    expect(encodeEvent(event, { amount_minor: 1n })).toStrictEqual({
      ...event,
      body: `{"id":"${ID}","type":"payout.failed","api_version":"v1","timestamp":"${SHOWN}","app_id":"acme","is_test_mode":false,"data":{"amount_minor":1}}`
    })
    expect(encodeEvent({ ...event, mode: "test" }, null).body).toContain('"is_test_mode":true')
  })

  it("a recipient that it has paid", () => {
    const bank = { network: null, bankCode: "01", branchCode: "007", bankName: "Equity", accountName: "J••• D••" }
    const common = { id, appId, mode: "live", type: "bank", country: "KE", currency: "KES" } as const
    const given = { ...common, ...bank, maskedDestination: "••••1234", createdAt: NOON, lastUsedAt: NOON + 900_000 }
    const shown = {
      id: ID,
      type: "bank",
      country: "KE",
      currency: "KES",
      network: null,
      bank_code: "01",
      branch_code: "007",
      bank_name: "Equity",
      account_name: "J••• D••",
      masked_destination: "••••1234",
      is_test_mode: false,
      created_at: SHOWN,
      last_used_at: LATER
    }
    expect(read(beneficiaryView(given))).toStrictEqual(shown)
    expect(read(beneficiaryView({ ...given, mode: "test" }))).toStrictEqual({ ...shown, is_test_mode: true })
  })
})
