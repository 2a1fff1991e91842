import { expect, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { describe } from "vitest"
import * as App from "../../../src/App.ts"
import { reader } from "../../../src/ConfigRules.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { changeCorridor, tenantOn, verified } from "../../support/Stack.ts"
import { givenDatabase, masterKey } from "../../support/TestDatabase.ts"
import { ContractBench } from "../contract/Fixture.ts"
import { momo, newReference } from "../contract/Orders.ts"
import { contract } from "../contract/Suite.ts"
import type { PaymentKind } from "./Refusals.ts"
import { sixthProvider } from "./Settings.ts"
import { simulatedSixth } from "./Simulator.ts"
import { found, posted } from "./Translate.ts"

contract(simulatedSixth, {
  payouts: [momo("UG", "UGX", "MTN", "+25677200"), momo("KE", "KES", "MPESA", "+25471200")],
  charges: [momo("UG", "UGX", "AIRTEL", "+25675200"), momo("KE", "KES", "AIRTEL", "+25473200")],
  namesFees: { payouts: true },
  sentBack: { payouts: "Returned", charges: "Returned" },
  callbackAuth: "hmac",
  namesOtherSide: { payouts: false, charges: false }
})

const reference = newReference()
const answered = (status: number, body: object): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})
const at = "2026-01-31T12:00:00.000Z"
const movement = (change: object = {}) => ({
  id: "tp_1",
  client_ref: reference,
  status: "pending",
  amount: "123.45",
  currency: "KES",
  fee: "30.00",
  failure: null,
  created_at: at,
  updated_at: at,
  ...change
})
const failed = (failure: string | null) => answered(200, movement({ status: "failed", failure }))
const error = (status: number, code: string) => answered(status, { error: { code } })

describe("the answers of Tumbuka Pay", () => {
  const refused = (kind: string, code: string) => ({ _tag: "Refused", kind, failure: { code } })
  const unknown = { _tag: "Unknown", reason: "bad_response" }
  const sum = { amount: 12_345n, currency: "KES" }
  const rows: ReadonlyArray<
    readonly [what: string, kind: PaymentKind, answer: ProviderResponse, fact: object, isAlarm: boolean]
  > = [
    ["pending", "payout", answered(200, movement()), { _tag: "StillPending", providerReference: "tp_1" }, false],
    ["succeeded", "payout", answered(200, movement({ status: "succeeded" })), { _tag: "Succeeded", ...sum, fee: 3000n }, false],
    ["returned", "payout", answered(200, movement({ status: "returned" })), { ...sum, fee: 0n, charged: 3000n }, false],
    ["a word that nobody knows", "payout", answered(200, movement({ status: "held" })), unknown, true],
    [
      "an amount finer than the currency",
      "payout",
      answered(200, movement({ status: "succeeded", amount: "1.005" })),
      unknown,
      true
    ],
    ["another's transfer", "payout", answered(200, movement({ client_ref: newReference() })), unknown, true],
    ["failed, not_delivered", "payout", failed("not_delivered"), refused("other", "provider_rejected"), false],
    ["failed, unknown_number", "payout", failed("unknown_number"), refused("party", "invalid_destination"), false],
    ["failed, wallet_empty", "payout", failed("wallet_empty"), refused("pool", "provider_rejected"), true],
    ["failed, declined", "collection", failed("declined"), refused("other", "declined_by_payer"), false],
    ["failed, unknown_number", "collection", failed("unknown_number"), refused("party", "payer_not_found"), false],
    ["failed for a reason that nobody knows", "collection", failed("Jane Doe left"), refused("other", "provider_rejected"), true],
    ["404 not_found", "payout", error(404, "not_found"), { _tag: "NotFound" }, false],
    ["404 of another address", "payout", error(404, "no_such_address"), unknown, true],
    ["401", "payout", error(401, "unauthorized"), unknown, true],
    ["429", "payout", error(429, "slow_down"), { _tag: "Unknown", reason: "unavailable" }, false],
    ["504", "payout", error(504, "late"), { _tag: "Unknown", reason: "timeout" }, false]
  ]
  for (const [what, kind, answer, fact, isAlarm] of rows)
    it(`to a question about a ${kind}: ${what}`, () => {
      const { alarm, fact: read } = found(kind, answer, reference)
      expect(read).toMatchObject(fact)
      expect(alarm !== null).toBe(isAlarm)
    })

  const calls: ReadonlyArray<readonly [status: number, code: string, answer: object | "looked up"]> = [
    [400, "invalid_request", refused("other", "provider_rejected")],
    [401, "unauthorized", refused("config", "provider_rejected")],
    [403, "forbidden", refused("config", "provider_rejected")],
    [422, "declined", refused("other", "provider_rejected")],
    [422, "a_new_one", refused("other", "provider_rejected")],
    [409, "duplicate_client_ref", "looked up"],
    [409, "another", unknown],
    [404, "not_found", unknown]
  ]
  for (const [status, code, answer] of calls)
    it(`to a call: ${status} ${code}`, () => {
      const read = posted("payout", error(status, code), reference)
      expect({ read: "confirm" in read ? "looked up" : read.fact }).toMatchObject({ read: answer })
    })
})

describe("Tumbuka Pay's settings", () => {
  it("name all mistakes at once, without a secret", () => {
    const mistakes: Array<string> = []
    const variables = { SIXTH_LIVE_API_KEY: "secret", SIXTH_PAYOUT_FEES: "much" }
    sixthProvider.configured(reader(variables, mistakes), mistakes, {
      timeoutMs: 1000,
      refuseLoopback: true,
      refuseRemote: false
    })
    expect(mistakes).toEqual([
      "SIXTH_BASE_URL is required together with the account's credentials",
      "SIXTH_LIVE_WEBHOOK_SECRET is required together with the other SIXTH_LIVE credentials",
      'SIXTH_PAYOUT_FEES must be a comma list of fees such as UGX:momo:1000 (minor units) or KES:bank:1.5%, not "much"'
    ])
  })
})

/** A gateway whose only account is at Tumbuka Pay. */
const gatewayBefore = Effect.fnUntraced(function* (baseUrl: string) {
  const databaseUrl = yield* givenDatabase
  const environment = Layer.succeed(App.Environment, {
    DATABASE_URL: Redacted.value(databaseUrl),
    MASTER_KEY: Redacted.value(masterKey),
    PORT: "0",
    MANAGEMENT_PORT: "0",
    LOG_LEVEL: "off",
    // Whatever is settled was settled because of a callback.
    RECONCILER_SCHEDULE: "1h"
  })
  const accounts = simulatedSixth.accounts({ baseUrl, timeoutMs: 1000 })
  const settings = {
    ...(yield* Effect.provide(App.settings, environment)),
    providers: [accounts],
    databaseUrl,
    ownerUrl: null,
    databaseFolder: null,
    masterKey
  }
  const built = Layer.fresh(App.gateway(settings, { release: "1.0.0", version: "1.0.0+test" }))
  const context = yield* Layer.build(Layer.provide(built, environment))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const host = `127.0.0.1:${"port" in address ? address.port : 0}`
  return { context, settings, host, url: `http://${host}` }
})

layer(ContractBench.layer(simulatedSixth), { excludeTestServices: true })("a gateway with an account there", (it) => {
  it.effect("sends a payout and a charge to it, and settles them after its callbacks", () =>
    Effect.gen(function* () {
      const { baseUrl, control, executions } = yield* ContractBench
      const gateway = yield* gatewayBefore(baseUrl)
      const key = Context.get(gateway.context, ProviderRegistry).routeKey("sixth", "live")
      const url = `${gateway.url}/webhooks/sixth/${key}`
      yield* control("callbacks", { provider: "sixth", client_id: "simulated-live", url })
      for (const direction of ["payout", "collection"] as const)
        yield* changeCorridor(gateway, { country: "UG", method: "momo", direction }, { providers: ["sixth"] })
      const tenant = yield* tenantOn(gateway)
      const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      const settled = ({ status }: Record<string, unknown>) => status === "successful"
      const paid = yield* tenant.until(`/v1/payouts/${payout}`, settled)
      expect(paid).toMatchObject({ provider: "sixth", fees_minor: 1000 })
      const collected = yield* tenant.until(`/v1/collections/${charge}`, settled)
      expect(collected).toMatchObject({ provider: "sixth", fees_minor: 300 })
      const moved = yield* Effect.forEach([payout, charge], (one) => executions(Reference.make(one)))
      expect(moved.flat().map(({ amount_minor, provider }) => [provider, amount_minor])).toEqual([
        ["sixth", 10_000],
        ["sixth", 20_000]
      ])
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    })
  )
})
