import { Context, Effect } from "effect"
import { type Candidate, candidatesIn, candidatesText, type Reason, type Verdict } from "../domain/Candidates.ts"

/** The candidates of a request's payment in the order in which they would be tried, in memory while the request runs. */
type Trail = Map<string, Candidate>

/**
 * Why a payment went to its provider and to no other. Each decision about a provider is recorded here. The step that opens the
 * payment, or moves it to another provider, writes the candidates into its own history line, which costs no extra statement.
 * The request's log line and its span have them as they are at its end. Null where nothing reads them; nothing is recorded
 * then.
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

/** Records the candidates of a payment, in their order. A verdict that is already known stays. */
export const beginCandidates = (providers: ReadonlyArray<string>, verdict: Verdict = "not_asked"): Effect.Effect<void> =>
  noted((trail) => {
    for (const provider of providers) if (!trail.has(provider)) set(trail, provider, verdict)
  })

/** Records the reason for each one's rank, in the order in which they will be tried from now on. */
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

/** Records why a candidate is not used, unless a reason is known: the first one counts. */
export const passOver = (provider: string, verdict: Verdict, why = ""): Effect.Effect<void> =>
  noted((trail) => setPassedOver(trail, provider, verdict, why))

const setPassedOver = (trail: Trail, provider: string, verdict: Verdict, why: string): void => {
  if (trail.get(provider)?.verdict === "not_asked") set(trail, provider, verdict, { why })
}

/** Records the reason if the step fails, and fails. */
export const orPassOver =
  <Asked>(provider: string, reasonOf: (error: Asked) => Reason) =>
  <A, E extends Asked, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(step, (error) => {
      const { verdict, why } = reasonOf(error)
      return passOver(provider, verdict, why)
    })

/** Records those of `all` that are not in `kept`. */
export const passOverOthers = <One extends { readonly provider: { readonly name: string } }>(
  all: ReadonlyArray<One>,
  kept: ReadonlyArray<One>,
  verdict: Verdict
): Effect.Effect<void> => {
  const names = new Set(kept.map(({ provider }) => provider.name))
  const others = all.filter(({ provider }) => !names.has(provider.name))
  return noted((trail) => {
    for (const { provider } of others) setPassedOver(trail, provider.name, verdict, "")
  })
}

/** A candidate that gave a price, or that texted the payer's code: the payment goes to it if it continues. */
export const noteChosen = (provider: string, verdict: "priced" | "code_sent"): Effect.Effect<void> =>
  noted((trail) => set(trail, provider, verdict))

/** The provider that a payment is sent to, or is about to be. */
export const noteUsed = (provider: string, attempt: number): Effect.Effect<void> =>
  noted((trail) => setUsed(trail, provider, attempt))

const setUsed = (trail: Trail, provider: string, attempt: number) => set(trail, provider, "used", { attempt })

/** Nothing left for this provider. */
export const noteNotSent = (provider: string, attempt: number, why: string): Effect.Effect<void> =>
  noted((trail) => set(trail, provider, "not_sent", { attempt, why }))

/** The payment was moved or closed before it was this provider's turn. */
export const noteMovedOn = (provider: string): Effect.Effect<void> => noted((trail) => set(trail, provider, "moved_on"))

/** Restores the candidates of an exchange as they were recorded with its quote. */
export const recallCandidates = (text: string): Effect.Effect<void> =>
  noted((trail) => {
    for (const candidate of candidatesIn(text)) trail.set(candidate.provider, candidate)
  })

export const candidatesNow: Effect.Effect<ReadonlyArray<Candidate>> = Effect.map(RouteTrail, (trail) =>
  trail === null ? [] : [...trail.values()]
)

/** The same as text; empty where there is none. */
export const candidatesNoted: Effect.Effect<string> = Effect.map(candidatesNow, candidatesText)

/** The text as it will be once the payment is opened at this provider. Nothing is recorded before it is. */
export const candidatesOnceUsed = (provider: string): Effect.Effect<string> =>
  Effect.map(RouteTrail, (trail) => {
    if (trail === null) return ""
    const then = new Map(trail)
    setUsed(then, provider, 1)
    return candidatesText([...then.values()])
  })

/** The reason for a request for a price that returned none. */
export const noPrice = (error: { readonly _tag: string; readonly kind?: string }): Reason =>
  error._tag === "provider_error" ? { verdict: "no_price", why: "" } : { verdict: "refused", why: error.kind ?? error._tag }

/** The reason where the provider's limits for a network excluded a payment. */
export const outsideLimits = ({ _tag }: { readonly _tag: string }): Reason => ({
  verdict: _tag === "provider_error" ? "network_down" : "outside_limits",
  why: ""
})

/** The reason where a provider could not confirm a bank account. */
export const bankUnknown = (): Reason => ({ verdict: "bank_unknown", why: "" })
