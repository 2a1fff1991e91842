import { Context, Effect, Schema } from "effect"
import { knownProviders } from "../../src/providers/Registry.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { momoCharge, momoPayout } from "./RequestBodies.ts"
import type { Answer } from "./SignedClient.ts"
import { changeCorridor, everyOther, type Gateway, Stack, tenantOn } from "./Stack.ts"
import { auditEntry } from "./TestDatabase.ts"

/** Every one that the program knows. */
export const providers = knownProviders.map(({ name }) => name)

// Ghana's mobile money is what every provider serves, some on a page and some on the handset.
const number = (ending: string) => ({ type: "momo", msisdn: `23324412${ending}`, network: "MTN", country: "GH" })
const ghana = { currency: "GHS", country: "GH" } as const
export const charge = (ending: string) =>
  momoCharge(ending, { ...ghana, source: number(ending), redirect_url: "https://shop.example/back" })
export const payout = (ending: string) => momoPayout(ending, { ...ghana, destination: number(ending) })

/** A stack that plays and serves all of them. */
export const everyProvider = Stack.layer({}, { beside: everyOther })

/** Who serves Ghana's mobile money, in order. */
export const routed = Effect.fnUntraced(function* (gateway: Gateway, names: ReadonlyArray<string>) {
  for (const direction of ["collection", "payout"] as const)
    yield* changeCorridor(gateway, { country: "GH", method: "momo", direction }, { providers: names })
})

/** A tenant whose money goes to one provider wherever a corridor has it. */
export const pinned = Effect.fnUntraced(function* (gateway: Gateway, provider: string) {
  const tenant = yield* tenantOn(gateway, 0n, { currency: "GHS" })
  yield* Context.get(gateway.context, Tenants).pin(tenant.appId, provider, auditEntry())
  return tenant
})

/** The payer finishes where the provider wants it: on its page, which may break down or never load, or on the handset. */
export const finished = ({ text }: Answer) => {
  const action = decodeAnswer(text).data?.next_action ?? null
  if (action === null) return Effect.void
  const visit = fetch(action.redirect_url, { signal: AbortSignal.timeout(LOADING_MS) }).then((page) => page.text())
  return Effect.promise(() => visit.catch(() => ""))
}

const LOADING_MS = 500

const Redirect = Schema.Struct({ type: Schema.Literal("redirect"), redirect_url: Schema.String })
const Finishing = Schema.Struct({ next_action: Schema.optionalKey(Schema.NullOr(Redirect)) })
const decodeAnswer = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ data: Schema.optionalKey(Finishing) })))
