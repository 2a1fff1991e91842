import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { minor } from "../../../src/domain/Money.ts"
import { noteCall, noteFailure } from "../../../src/runtime/CapturedCall.ts"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import { checkProvider } from "../../../src/services/reference/ProviderCheck.ts"

const corridor = (row: Partial<Corridor>): Corridor => ({
  country: "UG",
  currency: "UGX",
  direction: "payout",
  method: "bank",
  active: true,
  providers: ["played"],
  networks: [],
  minimum: null,
  maximum: null,
  customerAction: "none",
  requiresRedirectUrl: false,
  requiresMsisdn: false,
  preference: "order",
  requiresName: false,
  destinationCurrencies: ["UGX"],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0,
  ...row
})

/** As an adapter answers that asks its provider. */
const asked = <A>(answer: A) => Effect.as(noteCall, answer)

/** An account in shillings of Uganda: a wallet with nothing of Kenya, no bank, one network, a price for small amounts only. */
const played: Provider = {
  name: "played",
  mode: "live",
  fingerprints: (currency) => (currency === "UGX" || currency === "KES" ? ["one"] : []),
  guarantees: {
    clientReference: "unique_reject",
    lookup: "by_client_ref",
    callbackAuth: "none",
    quoteTtlMs: 1_000,
    notFoundGraceMs: 60_000,
    bankMsisdn: "documented"
  },
  callbacks: { verify: () => Option.none() },
  payouts: {
    quote: ({ amount, destinationCurrency }) =>
      asked(
        amount > 100n
          ? ({ _tag: "QuoteRefused", kind: "amount", note: "more than is agreed" } as const)
          : {
              principal: amount,
              fee: minor(3n),
              destinationAmount: amount,
              destinationCurrency,
              rate: null,
              expiresInMs: 1_000,
              token: ""
            }
      ),
    send: () => Effect.die("money was to be moved"),
    fetchStatus: () => Effect.die("nothing was sent")
  },
  collections: {
    reachesNetwork: ({ network }) => network === "MTN",
    charge: () => Effect.die("money was to be moved"),
    fetchStatus: () => Effect.die("nothing was charged")
  },
  reference: {
    banks: () => asked([]),
    countries: asked([{ country: "UG", name: "Uganda", phonePrefix: "+256", methods: ["momo"] }]),
    balances: asked([{ currency: "UGX", available: minor(5n), pending: null }])
  }
}

const registry = {
  known: ["played"],
  find: () => Option.some(played),
  accounts: (_: string, mode: string) => (mode === "live" ? [played] : []),
  claimed: () => [],
  byRouteKey: () => Option.none(),
  keptRouteKeys: () => [],
  routeKey: () => "KEY"
}

describe("a check of a provider's account", () => {
  it.effect("names each place where the account is not as the corridor rows say, and moves nothing", () =>
    Effect.gen(function* () {
      const rows = [
        corridor({ method: "momo", networks: ["MTN"] }),
        corridor({ method: "bank", minimum: minor(200n) }),
        corridor({ country: "KE", currency: "KES", method: "momo" }),
        corridor({ country: "GH", currency: "GHS", method: "momo" }),
        corridor({ direction: "collection", method: "momo", networks: ["MTN", "AIRTEL"] }),
        corridor({ method: "wallet", active: false }),
        corridor({ method: "wallet", providers: ["another"] })
      ]
      const found = yield* checkProvider(registry, rows, "played")
      expect(found.map(({ check, result, subject }) => `${result} ${check} ${subject}`.trim())).toEqual([
        "differs networks GH GHS payout momo",
        "ok wallets UGX",
        "differs wallets KES",
        "ok countries UG UGX payout momo",
        "differs countries UG UGX payout bank",
        "differs countries KE KES payout momo",
        "differs banks UG",
        "to_confirm banks UG UGX payout bank",
        "not_tried networks UG UGX collection momo MTN",
        "differs networks UG UGX collection momo AIRTEL",
        "ok prices UG UGX payout momo",
        "differs prices UG UGX payout bank",
        "differs prices KE KES payout momo",
        "to_confirm callbacks /webhooks/played/KEY",
        "to_confirm promises",
        "not_tried payments"
      ])
      expect(found.every(({ account, mode }) => account === "current" && mode === "live")).toBe(true)
    })
  )

  it.effect("says of what is not answered which calls failed, and how", () =>
    Effect.gen(function* () {
      const failing = (...failures: ReadonlyArray<string>) => ({
        ...registry,
        accounts: (_: string, mode: string) =>
          mode === "live"
            ? [
                {
                  ...played,
                  reference: {
                    balances: Effect.andThen(Effect.forEach(failures, noteFailure), Effect.fail(new ProviderError({})))
                  }
                }
              ]
            : []
      })
      const detailOf = (found: ReadonlyArray<{ readonly result: string; readonly detail: string }>) =>
        found.find(({ result }) => result === "unanswered")?.detail
      expect(detailOf(yield* checkProvider(failing("token UG: HTTP 400", "token UG: HTTP 400"), [], "played"))).toBe(
        "the balance cannot be read (token UG: HTTP 400): look at the credentials and the address"
      )
      expect(detailOf(yield* checkProvider(failing(), [], "played"))).toContain("no answer came that can be used")
    })
  )

  it.effect("says whether this gateway registered where payments are confirmed, where that takes a call", () =>
    Effect.gen(function* () {
      const registering = (isRegistered: boolean) => ({
        ...registry,
        accounts: (_: string, mode: string) =>
          mode === "live"
            ? [
                {
                  ...played,
                  callbacks: {
                    ...played.callbacks,
                    registration: {
                      addresses: {},
                      register: Effect.die("nothing was to be registered"),
                      isRegistered: Effect.succeed(isRegistered)
                    }
                  }
                }
              ]
            : []
      })
      const detailOf = (found: ReadonlyArray<{ readonly subject: string; readonly detail: string }>) =>
        found.find(({ subject }) => subject === "confirmations")?.detail
      expect(detailOf(yield* checkProvider(registering(false), [], "played"))).toBe(
        "this gateway registered no address for them: gateway provider register played --mode live"
      )
      expect(detailOf(yield* checkProvider(registering(true), [], "played"))).toBe("this gateway registered where they go")
    })
  )

  it.effect("calls nothing ok that it did not ask the provider for", () =>
    Effect.gen(function* () {
      const { payouts, reference: _, ...account } = played
      const quote = () =>
        Effect.succeed({
          principal: minor(100n),
          fee: minor(3n),
          destinationAmount: minor(100n),
          destinationCurrency: "UGX" as const,
          rate: null,
          expiresInMs: 1_000,
          token: ""
        })
      const countries = Effect.succeed([{ country: "UG", name: "Uganda", phonePrefix: "+256", methods: ["momo" as const] }])
      const banks = () => Effect.succeed([])
      if (payouts === undefined) return yield* Effect.die("it pays out")
      const check = (provider: Provider, row: Partial<Corridor>) =>
        Effect.map(
          checkProvider({ ...registry, accounts: (_, mode) => (mode === "live" ? [provider] : []) }, [corridor(row)], "played"),
          (found) => found.map(({ check, result, subject }) => `${result} ${check} ${subject}`.trim())
        )
      const momo = { method: "momo", networks: ["MTN"] } as const
      expect(yield* check({ ...account, payouts: { ...payouts, quote }, reference: { countries, banks } }, momo)).toEqual([
        "not_tried wallets",
        "not_tried countries UG UGX payout momo",
        "not_tried prices UG UGX payout momo",
        "to_confirm callbacks /webhooks/played/KEY",
        "to_confirm promises",
        "not_tried payments"
      ])
      expect(yield* check({ ...account, payouts: { ...payouts, quote } }, { method: "bank", requiresMsisdn: true })).toEqual([
        "not_tried wallets",
        "not_tried countries",
        "not_tried banks UG",
        "not_tried prices UG UGX payout bank",
        "to_confirm callbacks /webhooks/played/KEY",
        "to_confirm promises",
        "not_tried payments"
      ])
    })
  )
})
