import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { Stack, tenantOn } from "../../support/Stack.ts"

const FAILURES = 5
const settings = { CIRCUIT_FAILURES: String(FAILURES), CIRCUIT_OPEN: "60s", RECONCILER_SCHEDULE: "1h" }
const numbers = (ending: string, first: number) =>
  Array.from({ length: FAILURES + 1 }, (_, index) => `2567721${first + index}${ending}`)

const unheard = Array.from({ length: FAILURES }, () => ({ code: "provider_unavailable" }))

layer(Stack.layer(settings), { excludeTestServices: true })("a tenant whose numbers make the provider fail", (it) => {
  it.effect("has only its own payouts held back, and no other tenant's", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [noisy, neighbour] = [yield* tenantOn(gateway, 1_000_000n), yield* tenantOn(gateway)]
      const to = (msisdn: string) => momoPayout("", { destination: { type: "momo", msisdn, network: "MTN", country: "UG" } })
      const answers = yield* Effect.forEach(numbers("0005", 2), (msisdn) => noisy.post("/v1/payouts", to(msisdn)))
      expect(answers.slice(0, FAILURES).map(({ status }) => status)).toStrictEqual(Array(FAILURES).fill(503))
      expect(answers.slice(0, FAILURES).map((answer) => said(answer))).toMatchObject(unheard)
      // Its own are refused before anything is reserved, with good numbers as well.
      expect(answers.at(-1)).toMatchObject({ status: 503, body: { error: { code: "provider_error" } } })
      expect(said(yield* noisy.post("/v1/payouts", momoPayout("1234")))).toMatchObject({ code: "provider_error" })
      expect((yield* neighbour.post("/v1/payouts", momoPayout("1234"))).status).toBe(201)
    })
  )

  it.effect("has only its own charges held back, and no other tenant's", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [noisy, neighbour] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
      const from = (msisdn: string) => momoCharge("", { source: { type: "momo", msisdn, network: "MTN" } })
      const answers = yield* Effect.forEach(numbers("0005", 2), (msisdn) => noisy.post("/v1/collections", from(msisdn)))
      expect(answers.map((answer) => said(answer))).toMatchObject([...unheard, { code: "provider_error" }])
      expect((yield* neighbour.post("/v1/collections", momoCharge("1234"))).status).toBe(201)
    })
  )

  it.effect("has only its own account look-ups held back, and no other tenant's", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [noisy, neighbour] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
      const account = (ending: string) => ({ country: "UG", bank_code: "01", account_number: `90300012${ending}` })
      const resolve = (tenant: typeof noisy, ending: string) =>
        tenant.call("POST", "/v1/reference/resolve-bank-account", account(ending))
      yield* Effect.forEach(Array.from({ length: FAILURES + 1 }), () => resolve(noisy, "0017"))
      expect(said(yield* resolve(noisy, "1234"))).toMatchObject({ code: "provider_error" })
      expect((yield* resolve(neighbour, "1234")).status).toBe(200)
    })
  )
})
