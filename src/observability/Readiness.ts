import { Effect, Exit } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import type { StatusSnapshot } from "../services/ports/GatewayStatus.ts"
import type { Family } from "./Family.ts"
import { familiesText, gauges, pictures } from "./Gauges.ts"

/** How long the database may take to answer before this process reports that it is not ready. */
const READY_TIMEOUT_MS = 1_000

/** The reasons that may keep requests away from a node, as the label of `gateway_ready` names them. */
type ReadyReason = "draining" | "commits_waiting" | "database" | NodeReason
/** Those that are conditions of the node or of its database, each with its own check. */
type NodeReason = "clock_off" | "master_key" | "schema" | "writes_refused"

/** Why a node must not get requests now, for people in one line. */
export interface Obstacle {
  readonly reason: ReadyReason
  readonly text: string
}

export interface Readiness {
  /** Why it must not get requests now; empty where it may. */
  readonly obstacles: Effect.Effect<ReadonlyArray<Obstacle>>
  /** Its metrics as text for Prometheus. */
  readonly metrics: Effect.Effect<string>
}

export interface ObstacleSources {
  /** True once the process is stopping. */
  readonly draining: Effect.Effect<boolean>
  /** A query to the database; its result does not matter. */
  readonly database: Effect.Effect<unknown, unknown>
  /** Why none of the database's servers accepts writes, in one line; null where no reason is known. Known without a query. */
  readonly noPrimary: Effect.Effect<string | null>
  /** Why the database is not queried now, in one line; null where it is. Known without a query. */
  readonly standstill: Effect.Effect<string | null>
  /** The conditions that may keep this node from serving: each returns its reason in one line, or null. */
  readonly conditions: Readonly<Record<NodeReason, Effect.Effect<string | null, unknown>>>
}

export interface ReadinessSources extends ObstacleSources {
  /** The state of the database's queues and records; read for scrapes, at most once a second however many there are. */
  readonly standing: Effect.Effect<StatusSnapshot, unknown>
  /** The providers with an account here: each is reconciled daily. */
  readonly providers: ReadonlyArray<string>
  /** The metrics of this process itself. */
  readonly process: Effect.Effect<ReadonlyArray<Family>>
}

export const makeReadiness = Effect.fnUntraced(function* (options: ReadinessSources): Effect.fn.Return<Readiness> {
  const picture = yield* pictures({ read: options.standing, standstill: options.standstill })
  const obstacles = readObstacles(options)
  return {
    obstacles,
    metrics: Effect.gen(function* () {
      const [found, seen] = yield* Effect.all([obstacles, picture], { concurrency: "unbounded" })
      const own = [readyFamily(found), ...(yield* options.process)]
      return `${yield* PrometheusMetrics.format()}${familiesText([...own, ...gauges(seen, options.providers)])}`
    })
  }
})

/** Why a node must not get requests now. A reason that hides the others is returned alone. */
export const readObstacles = Effect.fnUntraced(function* ({
  conditions,
  database,
  draining,
  noPrimary,
  standstill
}: ObstacleSources): Effect.fn.Return<ReadonlyArray<Obstacle>> {
  if (yield* draining) return [{ reason: "draining", text: "draining" }]
  const why = yield* standstill
  if (why !== null) return [{ reason: "commits_waiting", text: why }]
  const checked = yield* Effect.exit(Effect.timeout(Effect.andThen(database, Effect.all(conditions)), READY_TIMEOUT_MS))
  if (Exit.isFailure(checked)) return [{ reason: "database", text: (yield* noPrimary) ?? "the database does not answer" }]
  const found = checked.value
  return nodeReasons.flatMap((reason) => {
    const text = found[reason]
    return text === null ? [] : [{ reason, text }]
  })
})

const nodeReasons = ["clock_off", "master_key", "schema", "writes_refused"] as const satisfies ReadonlyArray<NodeReason>
const readyReasons = ["draining", "commits_waiting", "database", ...nodeReasons] as const satisfies ReadonlyArray<ReadyReason>

/** A sample for each reason, including those that do not hold: so none is missing when it begins, and none stays when it ends. */
export const readyFamily = (obstacles: ReadonlyArray<Obstacle>): Family => ({
  name: "gateway_ready",
  help: "0 while this node must not get requests for this reason, else 1; a node is ready where all are 1.",
  samples: readyReasons.map((reason) => [{ reason }, obstacles.some((one) => one.reason === reason) ? 0 : 1])
})
