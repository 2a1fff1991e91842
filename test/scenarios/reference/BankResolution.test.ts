import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { maskedName } from "../../../src/domain/Masking.ts"
import { bankPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { executionsOf, requestsTo, Stack, tenantOn } from "../../support/Stack.ts"

const RESOLVE = "/v1/reference/resolve-bank-account"
const PAYOUTS = "/v1/payouts"
const unresolvable = { status: 422, code: "bank_account_unresolvable", class: "terminal", details: {} }
const unreadable = { status: 503, code: "provider_error", class: "retriable", details: {} }

const account = (ending: string, change: object = {}) => ({
  country: "UG",
  bank_code: "01",
  account_number: `90300012${ending}`,
  ...change
})

layer(Stack.layer(), { excludeTestServices: true })("the holder of a bank account", (it) => {
  it.effect("is answered for confirmation, with the number masked", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const answer = yield* tenant.post(RESOLVE, account("1234"))
      expect(answer.body).toStrictEqual({
        code: 200,
        message: "ok",
        data: { account_name: "JOHN DOE", bank_code: "01", country: "UG", masked_account_number: "••••1234" }
      })
    })
  )

  it.effect(
    "is bank_account_unresolvable for a wrong number, bank or country, and provider_error when the provider cannot be read",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        expect(said(yield* tenant.post(RESOLVE, account("0016")))).toStrictEqual(unresolvable)
        expect(said(yield* tenant.post(RESOLVE, account("1234", { bank_code: "77" })))).toStrictEqual(unresolvable)
        expect(said(yield* tenant.post(RESOLVE, account("1234", { country: "RW" })))).toStrictEqual(unresolvable)
        expect(said(yield* tenant.post(RESOLVE, account("0017")))).toStrictEqual(unreadable)
      })
  )

  it.effect("needs the capability bank_resolution, checked after the body and its mode", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { capabilities: ["payouts", "reference_data"] })
      const before = yield* requestsTo(simulator)
      expect(said(yield* tenant.post(RESOLVE, account("1234")))).toStrictEqual({
        status: 403,
        code: "capability_not_allowed",
        class: "terminal",
        details: { capability: "bank_resolution" }
      })
      expect(said(yield* tenant.post(RESOLVE, account("1234", { bank_code: 1 })))).toMatchObject({
        code: "validation_failed",
        details: { issues: [{ path: "bank_code" }] }
      })
      expect(said(yield* tenant.post(RESOLVE, account("1234", { mode: "test" })))).toMatchObject({ code: "mode_mismatch" })
      const extra = yield* tenant.post(RESOLVE, account("1234", { nickname: "x" }))
      expect(extra.headers.get("x-gateway-ignored")).toBe("nickname")
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
    })
  )

  for (const [ending, refusal] of [
    ["0016", unresolvable],
    ["0017", unreadable]
  ] as const)
    it.effect(`of a payout to ${ending} is resolved before the quote: ${refusal.code}, and nothing is reserved`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const before = yield* requestsTo(simulator)
        expect(said(yield* tenant.post(PAYOUTS, bankPayout(ending)))).toStrictEqual(refusal)
        const calls = (yield* requestsTo(simulator)).slice(before.length)
        expect(calls).toStrictEqual(["POST /v1/beneficiaries/accounts/banks"])
        expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0 })
      })
    )

  for (const [account_name, note] of [
    ["Jane Doe", `the bank knows the account's holder as ${maskedName("JOHN DOE")}; `],
    ["Doe, Jöhn", ""]
  ] as const)
    it.effect(`of a payout to ${account_name} is noted in the history where the name differs, and never refused`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { destination } = bankPayout("1234")
        const answer = yield* tenant.post(PAYOUTS, bankPayout("1234", { destination: { ...destination, account_name } }))
        expect(answer).toMatchObject({
          status: 201,
          body: { data: { holder: { masked_name: maskedName("JOHN DOE"), is_named: note === "" } } }
        })
        const reference = referenceOf(answer)
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        const opened = yield* sql`SELECT note FROM transaction_history WHERE reference = ${reference} AND fact = 'Opened'`
        const calls = "calls: eversend resolve 200 in "
        expect(opened).toStrictEqual([{ note: expect.stringContaining(`${note}candidates: eversend used #1; ${calls}`) }])
        yield* tenant.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
        expect(yield* executionsOf(simulator, reference)).toHaveLength(1)
      })
    )
})
