import { Clock, Context, Effect, Exit, Layer, Metric, Ref } from "effect"
import * as CircuitBreaker from "../../domain/CircuitBreaker.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { ActingTenant } from "../../runtime/ActingTenant.ts"
import { Policy } from "../ports/Policy.ts"

/** What a provider is asked to do. Polls are not among them: nothing ever stops those. */
export type Operation = "quote" | "send" | "charge" | "exchange" | "reads"

/** One operation of one account. */
export interface CircuitKey {
  readonly provider: string
  readonly mode: Mode
  readonly operation: Operation
}

/**
 * What a call said of the provider. `unreachable`: it never left, which no request can cause. `failed`: nothing came of it, and the tenant may
 * have chosen a recipient for which nothing ever does.
 */
export type CallVerdict = "answered" | "failed" | "unreachable"

/** How a call through a circuit is judged, and what stands in its place while the circuit is open. */
export interface CircuitCall<A, E> {
  readonly call: Effect.Effect<A, E>
  readonly verdict: (exit: Exit.Exit<A, E>) => CallVerdict
  readonly instead: Effect.Effect<A, E>
}

const openCircuits = Metric.gauge("gateway_provider_circuit_open", {
  description: "1 while calls of this kind to this provider are held back, be it for all tenants or for one, else 0."
})

/** A tenant whose calls fail alone is forgotten when it asked for nothing this long after its calls were let through again. */
const FORGOTTEN_AFTER_MS = 60_000

/**
 * The circuits of this process: other nodes find out for themselves. Each line has one that all tenants share and one for each tenant: a
 * tenant whose own recipients make the provider fail opens its own and nobody else's.
 */
export class Circuits extends Context.Service<
  Circuits,
  {
    /** A call begun now, for the tenant whose request this is, would be held back. */
    readonly isOpen: (line: CircuitKey) => Effect.Effect<boolean>
    readonly through: <A, E>(line: CircuitKey, wish: CircuitCall<A, E>) => Effect.Effect<A, E>
  }
>()("gateway/services/Circuits") {
  static readonly layer = Layer.effect(
    Circuits,
    Effect.gen(function* () {
      const { circuit: policy } = yield* Policy
      const all = yield* Ref.make<ReadonlyMap<string, LineCircuits>>(new Map())

      const changed = <A>(line: CircuitKey, change: (circuits: LineCircuits) => readonly [A, LineCircuits]) =>
        Ref.modify(all, (lines) => {
          const before = lines.get(nameOf(line)) ?? noCircuits
          const [answer, after] = change(before)
          const result = { answer, before, after } as const
          return [result, before === after ? lines : new Map([...lines, [nameOf(line), after]])]
        })

      const begin = Effect.fnUntraced(function* (line: CircuitKey, tenant: AppId | null) {
        const now = yield* Clock.currentTimeMillis
        const { answer } = yield* changed(line, (circuits) => {
          const own = ownOf(circuits, tenant)
          if (!CircuitBreaker.allowsTenantCall({ shared: circuits.shared, own }, now))
            return [{ isLet: false, isTrial: false, isOwnTrial: false }, circuits]
          const [shared, ownBegun] = [CircuitBreaker.onCallStart(circuits.shared), CircuitBreaker.onCallStart(own)]
          const begun: Begun & { readonly isLet: boolean } = {
            isLet: true,
            isTrial: shared._tag === "HalfOpen",
            isOwnTrial: ownBegun._tag === "HalfOpen"
          }
          return [begun, withOwn({ ...circuits, shared }, tenant, ownBegun)]
        })
        return answer
      })

      const end = Effect.fnUntraced(function* (
        line: CircuitKey,
        tenant: AppId | null,
        begun: Begun,
        verdict: CallVerdict | "abandoned"
      ) {
        const at = yield* Clock.currentTimeMillis
        const how = verdict === "unreachable" ? "failed" : verdict
        const blamed = verdict === "unreachable" ? null : tenant
        const { after, before } = yield* changed(line, (circuits) => {
          const shared = CircuitBreaker.onCallEnd(circuits.shared, { how, tenant: blamed, isTrial: begun.isTrial, at }, policy)
          const own = CircuitBreaker.onCallEnd(
            ownOf(circuits, tenant),
            { how, tenant: null, isTrial: begun.isOwnTrial, at },
            policy
          )
          return [null, forgetOld(withOwn({ ...circuits, shared }, tenant, own), at)]
        })
        yield* logChange(line, null, before.shared, after.shared)
        if (tenant !== null) yield* logChange(line, tenant, ownOf(before, tenant), ownOf(after, tenant))
        if (isHeldBack(before) !== isHeldBack(after)) yield* showGauge(line, isHeldBack(after))
      })

      const through = <A, E>(line: CircuitKey, { call, instead, verdict }: CircuitCall<A, E>): Effect.Effect<A, E> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const tenant = yield* ActingTenant
            const begun = yield* begin(line, tenant)
            if (!begun.isLet) return yield* instead
            const exit = yield* Effect.exit(restore(call))
            const isAbandoned = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
            const said = verdict(exit)
            yield* end(line, tenant, begun, said === "answered" && isAbandoned ? "abandoned" : said)
            return yield* exit
          })
        )

      const isOpen = Effect.fnUntraced(function* (line: CircuitKey) {
        const circuits = (yield* Ref.get(all)).get(nameOf(line)) ?? noCircuits
        const now = yield* Clock.currentTimeMillis
        const own = ownOf(circuits, yield* ActingTenant)
        return !CircuitBreaker.allowsTenantCall({ shared: circuits.shared, own }, now)
      })

      return Circuits.of({ isOpen, through })
    })
  )
}

/** What stands before one line. Whoever is not named among the tenants has a closed one. */
interface LineCircuits {
  readonly shared: CircuitBreaker.Circuit
  readonly tenants: ReadonlyMap<AppId, CircuitBreaker.Circuit>
}

interface Begun {
  readonly isTrial: boolean
  readonly isOwnTrial: boolean
}

const noCircuits: LineCircuits = { shared: CircuitBreaker.closedCircuit, tenants: new Map() }

const ownOf = ({ tenants }: LineCircuits, tenant: AppId | null): CircuitBreaker.Circuit =>
  (tenant === null ? undefined : tenants.get(tenant)) ?? CircuitBreaker.closedCircuit

const withOwn = (circuits: LineCircuits, tenant: AppId | null, own: CircuitBreaker.Circuit): LineCircuits => {
  if (tenant === null || own === ownOf(circuits, tenant)) return circuits
  const tenants = new Map(circuits.tenants)
  if (own === CircuitBreaker.closedCircuit) tenants.delete(tenant)
  else tenants.set(tenant, own)
  return { ...circuits, tenants }
}

const forgetOld = (circuits: LineCircuits, now: Instant): LineCircuits => {
  const isOver = (own: CircuitBreaker.Circuit) => own._tag === "Open" && now >= own.until + FORGOTTEN_AFTER_MS
  const kept = [...circuits.tenants].filter(([, own]) => !isOver(own))
  return kept.length === circuits.tenants.size ? circuits : { ...circuits, tenants: new Map(kept) }
}

const isHeldBack = ({ shared, tenants }: LineCircuits): boolean =>
  [shared, ...tenants.values()].some(({ _tag }) => _tag !== "Closed")

const nameOf = ({ mode, operation, provider }: CircuitKey): string => `${provider}:${mode}:${operation}`

const showGauge = ({ mode, operation, provider }: CircuitKey, isOpen: boolean) =>
  Metric.update(Metric.withAttributes(openCircuits, { provider, mode, operation }), isOpen ? 1 : 0)

const logChange = (
  { mode, operation, provider }: CircuitKey,
  tenant: AppId | null,
  before: CircuitBreaker.Circuit,
  after: CircuitBreaker.Circuit
): Effect.Effect<void> => {
  const whose = tenant === null ? { provider, mode, operation } : { provider, mode, operation, app_id: tenant }
  if (before._tag === "Closed" && after._tag === "Open")
    return Effect.annotateLogs(
      Effect.logWarning(
        tenant === null
          ? "a circuit opened: the provider fails, and is left alone for a while"
          : "a circuit opened for one tenant: the provider fails at its calls"
      ),
      whose
    )
  return before._tag === "HalfOpen" && after._tag === "Closed"
    ? Effect.annotateLogs(Effect.logInfo("a circuit closed: the provider answers again"), whose)
    : Effect.void
}
