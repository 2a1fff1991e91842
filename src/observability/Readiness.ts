import { Effect, Exit } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import type { StatusSnapshot } from "../services/ports/GatewayStatus.ts"
import type { Family } from "./Family.ts"
import { familiesText, gauges, pictures } from "./Gauges.ts"

/** How long the database may take to answer before this process calls itself not ready. */
const READY_TIMEOUT_MS = 1_000

/** How a process stands. */
export interface Readiness {
  /** Why it must not get requests now; null where it may. */
  readonly obstacle: Effect.Effect<string | null>
  /** Its metrics as text for Prometheus. */
  readonly metrics: Effect.Effect<string>
}

export interface ReadinessSources {
  /** True once the process is stopping. */
  readonly draining: Effect.Effect<boolean>
  /** A question to the database; what it answers does not matter. */
  readonly database: Effect.Effect<unknown, unknown>
  /** Why no server of it can be written to, in one line; null where that is not known. Known without asking any. */
  readonly noPrimary: Effect.Effect<string | null>
  /** The state of the database's queues and records; read for scrapes, at most once a second however many there are. */
  readonly standing: Effect.Effect<StatusSnapshot, unknown>
  /** Why nothing is asked of the database now, in one line; null where it can be. Known without asking it. */
  readonly standstill: Effect.Effect<string | null>
  /** The conditions that may keep this node from serving: each answers its reason in one line, or null. */
  readonly obstacles: ReadonlyArray<Effect.Effect<string | null, unknown>>
  /** Those with an account here: each is reconciled daily. */
  readonly providers: ReadonlyArray<string>
  /** How this process itself fares. */
  readonly process: Effect.Effect<ReadonlyArray<Family>>
}

export const makeReadiness = Effect.fnUntraced(function* (options: ReadinessSources): Effect.fn.Return<Readiness> {
  const picture = yield* pictures({ read: options.standing, standstill: options.standstill })
  return {
    obstacle: obstacleOf(options),
    metrics: Effect.gen(function* () {
      const families = gauges(yield* picture, options.providers)
      return `${yield* PrometheusMetrics.format()}${familiesText([...(yield* options.process), ...families])}`
    })
  }
})

const obstacleOf = Effect.fnUntraced(function* ({ database, draining, noPrimary, obstacles, standstill }: ReadinessSources) {
  if (yield* draining) return "draining"
  const why = yield* standstill
  if (why !== null) return why
  const checked = yield* Effect.exit(Effect.timeout(Effect.andThen(database, Effect.all(obstacles)), READY_TIMEOUT_MS))
  if (Exit.isFailure(checked)) return (yield* noPrimary) ?? "the database does not answer"
  const reasons = checked.value.filter((reason) => reason !== null)
  return reasons.length === 0 ? null : reasons.join("\n")
})
