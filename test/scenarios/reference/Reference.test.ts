import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Capability } from "../../../src/domain/Tenant.ts"
import { said } from "../../support/SignedClient.ts"
import { changeCorridor, requestsTo, Stack, tenantOn } from "../../support/Stack.ts"

const BANKS = "/v1/reference/banks"
const COUNTRIES = "/v1/reference/countries"
const notAllowed = (capability: string) => ({
  status: 403,
  code: "capability_not_allowed",
  class: "terminal",
  details: { capability }
})
const unreadable = { status: 503, code: "provider_error", class: "retriable", details: {} }

const without = (capability: Capability) => Capability.literals.filter((one) => one !== capability)

layer(Stack.layer(), { excludeTestServices: true })("reference data", (it) => {
  it.effect("lists the banks of a country by the code that a payout sends, without the inactive ones", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const answer = yield* tenant.get(`${BANKS}/UG`)
      expect(answer.body).toStrictEqual({
        code: 200,
        message: "ok",
        data: [
          { code: "0000", name: "Default Bank", country: "UG", currency: "UGX" },
          { code: "01", name: "Stanbic Bank Uganda", country: "UG", currency: "UGX" },
          { code: "16", name: "Centenary Bank", country: "UG", currency: "UGX" }
        ]
      })
    })
  )

  it.effect("lists no banks for a country that has none, and refuses a code that is no country", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const before = yield* requestsTo(simulator)
      for (const country of ["RW", "FR"]) expect((yield* tenant.get(`${BANKS}/${country}`)).body.data).toStrictEqual([])
      for (const country of ["ug", "UGA", "U1"])
        expect(said(yield* tenant.get(`${BANKS}/${country}`))).toMatchObject({ status: 422, code: "validation_failed" })
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
    })
  )

  it.effect("lists the corridors that have all of what is asked for, and refuses what no corridor can have", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const rows = Effect.fnUntraced(function* (query: string) {
        const { text } = yield* tenant.get(`/v1/reference/corridors?${query}`)
        const { data }: { readonly data: ReadonlyArray<Record<string, unknown>> } = JSON.parse(text)
        return data
      })
      const all = yield* rows("")
      const narrow = yield* rows("country=KE&direction=payout&method=bank&active=true&provider=eversend&availability=operational")
      expect(narrow).toStrictEqual(
        all.filter(({ country, direction, method }) => country === "KE" && direction === "payout" && method === "bank")
      )
      expect(narrow).toHaveLength(1)
      expect(yield* rows("currency=UGX&country=KE")).toStrictEqual([])
      for (const [query, path] of [
        ["country=ke", "country"],
        ["method=cash", "method"],
        ["active=1", "active"],
        ["direction=payout&direction=collection", "direction"]
      ] as const)
        expect(said(yield* tenant.get(`/v1/reference/corridors?${query}`))).toMatchObject({
          status: 422,
          code: "validation_failed",
          details: { issues: [{ path }] }
        })
    })
  )

  it.effect("lists no banks once the corridor is switched off", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* changeCorridor(gateway, { country: "KE", method: "bank" }, { active: false })
      expect((yield* tenant.get(`${BANKS}/KE`)).body.data).toStrictEqual([])
      yield* changeCorridor(gateway, { country: "KE", method: "bank" }, { active: true })
      expect((yield* tenant.get(`${BANKS}/KE`)).body.data).toHaveLength(2)
    })
  )

  it.effect("lists the countries in which payouts are delivered, with the currencies and methods of each", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const { body, status } = yield* tenant.get(COUNTRIES)
      expect(status).toBe(200)
      expect(body.data).toHaveLength(10)
      expect(body.data).toContainEqual({
        country: "UG",
        name: "Uganda",
        phone_prefix: "+256",
        currencies: ["UGX"],
        methods: ["momo", "bank", "wallet"]
      })
      expect(body.data).toContainEqual({
        country: "NG",
        name: "Nigeria",
        phone_prefix: "+234",
        currencies: ["NGN"],
        methods: ["bank", "wallet"]
      })
    })
  )

  it.effect("shows the shared pool in minor units of each currency to tenants with the capability", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { capabilities: ["balances"] })
      const { body, status } = yield* tenant.get("/v1/balances")
      expect(status).toBe(200)
      expect(body.data).toHaveLength(12)
      const row = {
        provider: "eversend",
        available_minor: expect.any(Number),
        pending_minor: null,
        as_of: expect.stringMatching(ISO)
      }
      expect(body.data).toContainEqual({ ...row, currency: "UGX" })
      expect(body.data).toContainEqual({ ...row, currency: "KES" })
    })
  )

  it.effect("needs a capability for each, and no provider is called without it", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const noReference = yield* tenantOn(gateway, 0n, { capabilities: without("reference_data") })
      const noBalances = yield* tenantOn(gateway)
      const before = yield* requestsTo(simulator)
      expect(said(yield* noReference.get(`${BANKS}/UG`))).toStrictEqual(notAllowed("reference_data"))
      expect(said(yield* noReference.get(`${BANKS}/FR`))).toStrictEqual(notAllowed("reference_data"))
      expect(said(yield* noReference.get(COUNTRIES))).toStrictEqual(notAllowed("reference_data"))
      expect(said(yield* noBalances.get("/v1/balances"))).toStrictEqual(notAllowed("balances"))
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
    })
  )

  it.effect("works for a frozen tenant", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { status: "frozen" })
      for (const path of [`${BANKS}/UG`, COUNTRIES, "/v1/reference/corridors", "/v1/capabilities"])
        expect((yield* tenant.get(path)).status).toBe(200)
    })
  )

  it.effect("answers provider_error when the provider cannot be read, and still answers what the gateway itself knows", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { capabilities: Capability.literals })
      const setDown = (down: boolean) => Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down }))
      yield* setDown(true)
      for (const path of [`${BANKS}/UG`, COUNTRIES, "/v1/balances"])
        expect(said(yield* tenant.get(path))).toStrictEqual(unreadable)
      for (const path of ["/v1/reference/corridors", "/v1/capabilities"]) expect((yield* tenant.get(path)).status).toBe(200)
      yield* setDown(false)
      expect((yield* tenant.get(COUNTRIES)).status).toBe(200)
    })
  )

  for (const [operation, path] of [
    ["banks", `${BANKS}/UG`],
    ["countries", COUNTRIES],
    ["wallets", "/v1/balances"]
  ] as const)
    it.effect(`answers provider_error after a failed call for ${operation}, and does not keep the failure`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway, 0n, { capabilities: Capability.literals })
        for (const ending of ["0005", "0006", "0017"]) {
          yield* Effect.promise(() => simulator.control("POST", "/next", { provider: "eversend", operation, ending }))
          expect(said(yield* tenant.get(path))).toStrictEqual(unreadable)
        }
        expect((yield* tenant.get(path)).status).toBe(200)
      })
    )
})

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
