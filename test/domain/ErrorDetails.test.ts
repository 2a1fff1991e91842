import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AmbiguousError } from "../../src/domain/errors/Ambiguous.ts"
import { RetriableError } from "../../src/domain/errors/Retriable.ts"
import { Issue, TerminalError } from "../../src/domain/errors/Terminal.ts"

const reference = "00000000000000000000000001"
const polled = { reference }
const failed = { reference, failure_code: "declined_by_payer" }

/** Every code by its class, with its details (contract ERR-5). */
const tables = {
  terminal: {
    validation_failed: { issues: [{ path: "currency", message: "is required" }] },
    malformed_request: { issues: [] },
    idempotency_key_required: {},
    idempotency_key_reused: {},
    amount_type_required: {},
    mode_mismatch: { key_mode: "live" },
    cross_origin_denied: {},
    capability_not_allowed: { capability: "fx" },
    tenant_frozen: {},
    destination_blocked: {},
    screening_denied: {},
    not_found: {},
    method_not_allowed: {},
    payload_too_large: { maximum_bytes: 65_536 },
    unsupported_media_type: {},
    unknown_currency: { currency: "JPY" },
    inexact_amount: { field: "amount_minor" },
    corridor_unsupported: { country: "UG", currency: "UGX", direction: "payout", method: "momo" },
    amount_below_minimum: { minimum_minor: 500n, method: "momo" },
    amount_above_maximum: { maximum_minor: 500n, scope: "corridor" },
    insufficient_tenant_float: {
      amount_minor: 1n,
      estimated_fee_minor: 2n,
      shortfall_minor: 3n,
      suggested_method: "bank",
      suggested_total_minor: 4n
    },
    insufficient_wallet_float: polled,
    quote_expired: { quote_id: "q" },
    payout_rejected_by_provider: failed,
    charge_rejected_by_provider: failed,
    bank_account_unresolvable: {},
    provider_capability_unsupported: { capability: "refunds", reason: "not_offered" }
  },
  retriable: {
    unauthorized: {},
    request_in_progress: polled,
    otp_incorrect: { reference, attempts_remaining: 4 },
    velocity_limit_exceeded: {
      window: "hour",
      retry_after_seconds: 60,
      scope: "amount",
      applies_to: "tenant",
      currency: "UGX",
      maximum_minor: 2n,
      used_minor: 3n,
      window_ends_at: "2026-11-21T09:00:00.000Z"
    },
    global_ceiling_reached: {},
    rate_limited: { scope: "key", retry_after_seconds: 60 },
    provider_error: {}
  },
  ambiguous: {
    provider_unavailable: polled,
    provider_timeout: polled,
    provider_bad_response: polled,
    indeterminate_outcome: polled,
    internal_error: { request_id: "r", reference },
    duplicate_charge_in_flight: {
      reference,
      status: "successful",
      amount_minor: 1n,
      currency: "UGX",
      metadata: {},
      created_at: "2026-11-21T08:00:00.000Z",
      already_succeeded: "true"
    }
  }
}
const unions = { terminal: TerminalError, retriable: RetriableError, ambiguous: AmbiguousError }
const classes = ["terminal", "retriable", "ambiguous"] as const

/** What may be missing. */
const optional = new Set([
  "insufficient_tenant_float.suggested_method",
  "insufficient_tenant_float.suggested_total_minor",
  "insufficient_wallet_float.reference",
  "request_in_progress.reference",
  "internal_error.reference",
  "duplicate_charge_in_flight.already_succeeded",
  ...["scope", "applies_to", "currency", "maximum_minor", "used_minor", "window_ends_at"].map(
    (member) => `velocity_limit_exceeded.${member}`
  )
])
/** Described where the corridor is, and those of a request that could not be read, which share theirs with `validation_failed`. */
const describedElsewhere = /^(corridor_unsupported\.|malformed_request\.|\w+\.failure_code$)/

const rows = classes.flatMap((name) =>
  Object.entries<Readonly<Record<string, unknown>>>(tables[name]).map(([code, details]) => ({ name, code, details }))
)
const read = (name: (typeof classes)[number], code: string, details: object) =>
  Schema.decodeUnknownSync(unions[name])({ _tag: code, ...details })

describe("an error", () => {
  it("is one of these, in its class", () => {
    for (const name of classes)
      expect(unions[name].members.map(({ fields }) => fields._tag.schema.literal)).toStrictEqual(Object.keys(tables[name]))
  })

  it.each(rows)("says in a sentence what is wrong: $code", ({ code, details, name }) => {
    const error = read(name, code, details)
    expect(error.message).toMatch(/^[A-Z][^.]{10,}\.$/)
    expect({ ...error, message: "" }).toStrictEqual({ _tag: code, ...details, message: "" })
  })

  it("has a sentence of its own", () => {
    const messages = rows.map(({ code, details, name }) => read(name, code, details).message)
    expect(new Set(messages).size).toBe(rows.length)
  })

  it.each(rows)("has all of its details: $code", ({ code, details, name }) => {
    for (const member of Object.keys(details)) {
      const { [member]: _, ...rest } = details
      if (optional.has(`${code}.${member}`)) expect(read(name, code, rest)).toMatchObject(rest)
      else expect(() => read(name, code, rest), member).toThrow(member)
      // A tenant's metadata is whatever it was.
      if (member !== "metadata") expect(() => read(name, code, { ...details, [member]: Symbol("none") }), member).toThrow()
    }
  })

  it.each(rows)("tells a generated client what each of its details is: $code", ({ code, name }) => {
    const fields = unions[name].members.find(({ fields: { _tag } }) => _tag.schema.literal === code)?.fields ?? {}
    for (const [member, { ast }] of Object.entries<Schema.Top>(fields))
      if (member !== "_tag" && !describedElsewhere.test(`${code}.${member}`))
        expect(ast.context?.annotations?.["description"], member).toMatch(/^[A-Z].{8}/)
  })

  it.each([
    ["retriable", "velocity_limit_exceeded", "window", ["hour", "day", "destination"]],
    ["retriable", "velocity_limit_exceeded", "scope", ["amount"]],
    ["retriable", "velocity_limit_exceeded", "applies_to", ["tenant", "destination", "key"]],
    ["retriable", "rate_limited", "scope", ["key", "ip", "number", "code", "server"]],
    ["terminal", "amount_above_maximum", "scope", ["corridor", "test_mode"]]
  ] as const)("has %s %s only with a known %s", (name, code, member, known) => {
    const given = rows.find((row) => row.code === code)?.details
    for (const word of known) expect(read(name, code, { ...given, [member]: word })).toMatchObject({ [member]: word })
    expect(() => read(name, code, { ...given, [member]: "other" })).toThrow()
  })
})

it("an issue has a path and a message, and a client is told what they are", () => {
  expect(Object.keys(Issue.fields)).toStrictEqual(["path", "message"])
  expect(Issue.ast.annotations).toMatchObject({ identifier: "Issue", description: expect.stringMatching(/^[A-Z].{8}/) })
  for (const { ast } of Object.values(Issue.fields)) expect(ast.context?.annotations?.["description"]).toMatch(/^[A-Z].{8}/)
})
