import { Context, Effect } from "effect"
import { type Candidate, candidatesIn, candidatesText, type Reason, type Verdict } from "../domain/Candidates.ts"

/** The candidates of the payment that a request is about, in the order in which they would be tried. Kept in memory while the request runs. */
type Trail = Map<string, Candidate>

/**
 * Why a payment went to its provider and to no other. Each decision about a provider is noted here. The step that opens the payment, or
 * moves it to another provider, writes the candidates into its own line of the history: that costs no statement. The request's line of the
 * log and its span have them as they are at its end. Null where nobody reads them; nothing is noted then.
 */
export const RouteTrail = Context.Reference<Trail | null>("gateway/runtime/RouteTrail", { defaultValue: () => null })

export const emptyTrail = (): Trail => new Map()

const noted = (change: (trail: Trail) => void): Effect.Effect<void> =>
  Effect.map(RouteTrail, (trail) => {
    if (trail !== null) change(trail)
  })

const set = (trail: Trail, provider: string, verdict: Verdict, said: Partial<Pick<Candidate, "attempt" | "why">> = {}) => {
  const ranked = trail.get(provider)?.ranked
  trail.set(provider, { provider, verdict, attempt: null, why: "", ...said, ...(ranked === undefined ? {} : { ranked }) })
}

/** Those that a payment could go to, in their order. A verdict that is known already stays. */
export const beginCandidates = (providers: ReadonlyArray<string>, verdict: Verdict = "not_asked"): Effect.Effect<void> =>
  noted((trail) => {
    for (const provider of providers) if (!trail.has(provider)) set(trail, provider, verdict)
  })

/** The reason for the place of each, in the order in which they will be tried from now on. */
export const rankCandidates = (ranked: ReadonlyMap<string, string>): Effect.Effect<void> =>
  noted((trail) => {
    const all = [...trail.values()]
    const first = [...ranked].flatMap(([name, by]) =>
      all.flatMap((one) => (one.provider === name ? [{ ...one, ranked: by }] : []))
    )
    const others = all.filter(({ provider }) => !ranked.has(provider))
    trail.clear()
    for (const candidate of [...first, ...others]) trail.set(candidate.provider, candidate)
  })

/** The same once prices are compared: the total of each that has one, in minor units. */
export const rankByPrices = (totals: ReadonlyArray<readonly [provider: string, total: bigint | null]>): Effect.Effect<void> =>
  Effect.flatMap(candidatesNow, (candidates) => {
    const by = new Map(candidates.map(({ provider, ranked = "" }) => [provider, ranked]))
    const said = (ranked: string, total: bigint | null) => {
      if (ranked.startsWith("by price")) return total === null ? "by price unknown" : `by price total ${total}`
      return total === null ? ranked : `${ranked}, total ${total}`
    }
    return rankCandidates(new Map(totals.map(([provider, total]) => [provider, said(by.get(provider) ?? "", total)])))
  })

/** Notes why a candidate is not taken, unless that is known: what stopped it first counts. */
export const passOver = (provider: string, verdict: Verdict, why = ""): Effect.Effect<void> =>
  noted((trail) => {
    if (trail.get(provider)?.verdict === "not_asked") set(trail, provider, verdict, { why })
  })

/** Notes the reason where the step fails, and fails. */
export const orPassOver =
  <Asked>(provider: string, reasonOf: (error: Asked) => Reason) =>
  <A, E extends Asked, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(step, (error) => {
      const { verdict, why } = reasonOf(error)
      return passOver(provider, verdict, why)
    })

/** Notes those of `all` that are not in `kept`. */
export const passOverOthers = <One extends { readonly provider: { readonly name: string } }>(
  all: ReadonlyArray<One>,
  kept: ReadonlyArray<One>,
  verdict: Verdict
): Effect.Effect<void> => {
  const names = new Set(kept.map(({ provider }) => provider.name))
  return Effect.forEach(all, ({ provider: { name } }) => (names.has(name) ? Effect.void : passOver(name, verdict)), {
    discard: true
  })
}

/** A candidate that gave a price, or that texted the payer's code: it is the one that the payment goes to if it goes on. */
export const noteChosen = (provider: string, verdict: "priced" | "code_sent"): Effect.Effect<void> =>
  noted((trail) => set(trail, provider, verdict))

/** The provider that a payment is sent to, or is about to be. */
export const noteUsed = (provider: string, attempt: number): Effect.Effect<void> =>
  noted((trail) => set(trail, provider, "used", { attempt }))

/** Nothing left for this one. */
export const noteNotSent = (provider: string, attempt: number, why: string): Effect.Effect<void> =>
  noted((trail) => set(trail, provider, "not_sent", { attempt, why }))

/** The payment was moved or closed before this one's turn came. */
export const noteMovedOn = (provider: string): Effect.Effect<void> => noted((trail) => set(trail, provider, "moved_on"))

/** The candidates of an exchange, as they were noted when it was quoted. */
export const recallCandidates = (text: string): Effect.Effect<void> =>
  noted((trail) => {
    for (const candidate of candidatesIn(text)) trail.set(candidate.provider, candidate)
  })

export const candidatesNow: Effect.Effect<ReadonlyArray<Candidate>> = Effect.map(RouteTrail, (trail) =>
  trail === null ? [] : [...trail.values()]
)

/** The same as text; empty where there is none. */
export const candidatesNoted: Effect.Effect<string> = Effect.map(candidatesNow, candidatesText)

/** The text as it will be once the payment was opened at this provider: nothing is noted before that is so. */
export const candidatesOnceUsed = (provider: string): Effect.Effect<string> =>
  Effect.flatMap(RouteTrail, (trail) =>
    Effect.andThen(noteUsed(provider, 1), candidatesNoted).pipe(
      Effect.provideService(RouteTrail, trail === null ? null : new Map(trail))
    )
  )

/** A question about the price that brought none. */
export const noPrice = (error: { readonly _tag: string; readonly kind?: string }): Reason =>
  error._tag === "provider_error" ? { verdict: "no_price", why: "" } : { verdict: "refused", why: error.kind ?? error._tag }

/** The limits that a provider says for a network, which kept a payment from it. */
export const outsideLimits = ({ _tag }: { readonly _tag: string }): Reason => ({
  verdict: _tag === "provider_error" ? "network_down" : "outside_limits",
  why: ""
})

/** A bank account that a provider could not confirm. */
export const bankUnknown = (): Reason => ({ verdict: "bank_unknown", why: "" })
