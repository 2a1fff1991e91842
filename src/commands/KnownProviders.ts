import { Effect } from "effect"
import { providerNames } from "../App.ts"
import { Refusal } from "./Refusal.ts"

/** Refuses the name of a provider that this program does not know; one without an account may get one tomorrow. */
export const knownProviders = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const unknown = names.find((name) => !providerNames.includes(name))
  if (unknown !== undefined)
    return yield* new Refusal({ message: `there is no provider ${unknown}: the providers are ${providerNames.join(", ")}` })
})
