import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ProviderGuarantees } from "../../src/services/ports/Provider.ts"
import { knownSimulators } from "../../src/simulator/Registry.ts"

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const believed = [
  ...(["clientReference", "chargeReference", "lookup", "chargeLookup", "callbackAuth"] as const),
  ...(["notFoundGraceMs", "chargeNotFoundGraceMs"] as const)
] as const
type Promised = Pick<ProviderGuarantees, (typeof believed)[number]>

/** As the page of each provider has it from its documents: recovery believes a provider by nothing else. */
const promises: Readonly<Record<string, Promised>> = {
  eversend: {
    clientReference: "none",
    lookup: "by_client_ref_inferred",
    callbackAuth: "hmac",
    notFoundGraceMs: 10 * MINUTE
  },
  pawapay: {
    clientReference: "idempotent",
    lookup: "by_client_ref",
    callbackAuth: "rfc9421",
    notFoundGraceMs: 15 * MINUTE
  },
  flutterwave: {
    clientReference: "unique_reject",
    chargeReference: "none",
    lookup: "by_client_ref",
    callbackAuth: "weak",
    notFoundGraceMs: 10 * MINUTE
  },
  paystack: {
    clientReference: "unique_reject",
    lookup: "by_client_ref",
    callbackAuth: "hmac",
    notFoundGraceMs: MINUTE
  },
  mtn: {
    clientReference: "unique_reject",
    lookup: "by_client_ref",
    callbackAuth: "none",
    notFoundGraceMs: 5 * MINUTE
  },
  airtel: {
    clientReference: "unique_reject",
    lookup: "by_client_ref",
    callbackAuth: "none",
    notFoundGraceMs: DAY,
    chargeNotFoundGraceMs: 15 * MINUTE
  },
  daraja: {
    clientReference: "unique_reject",
    chargeReference: "none",
    lookup: "by_client_ref_inferred",
    chargeLookup: "by_provider_ref",
    callbackAuth: "none",
    notFoundGraceMs: 2 * DAY
  },
  wave: {
    clientReference: "idempotent",
    chargeReference: "none",
    lookup: "by_client_ref",
    callbackAuth: "weak",
    notFoundGraceMs: DAY
  }
}

it("every provider that is registered has its promises here", () =>
  expect(Object.keys(promises).sort()).toEqual(knownSimulators.map(({ name }) => name).sort()))

it.effect.each(knownSimulators.map((known) => [known.name, known] as const))(
  "%s declares what its documents promise, and no more",
  ([name, known]) =>
    Effect.gen(function* () {
      const opened = yield* known.accounts({ baseUrl: "http://127.0.0.1:1", timeoutMs: 1 }).open
      expect(opened).toHaveLength(2)
      for (const { guarantees } of opened.map(({ adapter }) => adapter)) {
        const said = Object.entries(guarantees).filter(([part]) => believed.some((one) => one === part))
        expect(Object.fromEntries(said)).toStrictEqual(promises[name])
      }
    })
)
