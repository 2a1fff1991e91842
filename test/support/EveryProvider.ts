import { Context, Effect, Schema } from "effect"
import type { Currency } from "../../src/domain/Currency.ts"
import { knownProviders } from "../../src/providers/Registry.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import type { Trial } from "../../src/simulator/SimulatorModule.ts"
import { abortedAfter } from "./PatientClock.ts"
import { momoCharge, momoPayout } from "./RequestBodies.ts"
import type { Answer } from "./SignedClient.ts"
import { changeCorridor, everyOther, type Gateway, Stack, tenantOn } from "./Stack.ts"
import { auditEntry } from "./TestDatabase.ts"

/** Every one that the program knows. */
export const providers = knownProviders.map(({ name }) => name)

/** The mobile money in which a provider plays its story. */
export const trialOf = (provider: string): Trial => {
  const known = knownSimulators.find(({ name }) => name === provider)
  if (known === undefined) throw new Error(`${provider} is not simulated`)
  return known.trial
}

const isAt = (place: Trial) => (provider: string) => trialOf(provider).country === place.country

const ghana = trialOf("mtn")

/** Ghana's mobile money is what most providers serve, some on a page and some on the handset. */
export const inGhana = providers.filter(isAt(ghana))

/** What a payout costs there, in minor units, as the simulator's contract has it. */
const fees: Partial<Record<Currency, number>> = { GHS: 500, UGX: 1_000, KES: 3_000, XOF: 300 }

/** How its payments are written. A payout of 10,000 and a charge of 20,000, whose fee is 300, in minor units. */
export const storyOf = (provider: string) => {
  const { country, currency, network, prefix } = trialOf(provider)
  const number = (ending: string) => ({ type: "momo", msisdn: `${prefix}${ending}`, network, country })
  return {
    currency,
    fee: fees[currency] ?? 0,
    charge: (ending: string) =>
      momoCharge(ending, { currency, country, source: number(ending), redirect_url: "https://shop.example/back" }),
    payout: (ending: string) => momoPayout(ending, { currency, country, destination: number(ending) })
  }
}

export const { charge, payout } = storyOf("mtn")

/** A stack that plays and serves all of them. */
export const everyProvider = Stack.layer({}, { beside: everyOther })

/** Who serves the mobile money of a story, in order; of the first one's, unless another place is said. */
export const routed = Effect.fnUntraced(function* (
  gateway: Gateway,
  names: ReadonlyArray<string>,
  { country, redirects = false } = trialOf(names[0] ?? "mtn")
) {
  for (const direction of ["collection", "payout"] as const) {
    const page =
      redirects && direction === "collection" ? ({ customerAction: "redirect", requiresRedirectUrl: true } as const) : {}
    yield* changeCorridor(
      gateway,
      { country, method: "momo", direction },
      { ...page, active: true, inactiveReason: null, providers: names }
    )
  }
})

/** Each in the row of its own story, with all that play theirs there, behind the one that serves the row at first: other payments go on. */
export const everyoneRouted = Effect.fnUntraced(function* (gateway: Gateway) {
  for (const place of providers.map(trialOf))
    yield* routed(gateway, [...new Set(["eversend", ...providers.filter(isAt(place))])], place)
})

/** A tenant whose money goes to one provider wherever a corridor has it. */
export const pinned = Effect.fnUntraced(function* (gateway: Gateway, provider: string) {
  const tenant = yield* tenantOn(gateway, 0n, { currency: storyOf(provider).currency })
  yield* Context.get(gateway.context, Tenants).pin(tenant.appId, provider, auditEntry())
  return tenant
})

/** The payer finishes where the provider wants it: on its page, which may break down or never load, or on the handset. */
export const finished = ({ text }: Answer) => {
  const action = decodeAnswer(text).data?.next_action ?? null
  if (action === null) return Effect.void
  const visit = fetch(action.redirect_url, { signal: abortedAfter(LOADING_MS) }).then((page) => page.text())
  return Effect.promise(() => visit.catch(() => ""))
}

const LOADING_MS = 500

const Redirect = Schema.Struct({ type: Schema.Literal("redirect"), redirect_url: Schema.String })
const Finishing = Schema.Struct({ next_action: Schema.optionalKey(Schema.NullOr(Redirect)) })
const decodeAnswer = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ data: Schema.optionalKey(Finishing) })))
