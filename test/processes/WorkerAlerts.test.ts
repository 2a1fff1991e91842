import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Fleet } from "../../src/processes/Fleet.ts"
import { fleetStanding } from "../../src/processes/FleetStanding.ts"
import { firing, readRules } from "../support/AlertRules.ts"
import { type Exposition, readExposition } from "../support/Exposition.ts"

const build = { release: "1.0.0", version: "1.0.0+abc" }
const rules = readRules("deploy/prometheus/alerts.yml").filter(({ alert }) => ["GatewayDown", "WorkerDown"].includes(alert))

/** The page of a node of two workers, of which these take requests; so often the place of each was taken by another. */
const pageOf = (serving: ReadonlyArray<number>, restarts: ReadonlyArray<readonly [number, number]>) =>
  Effect.gen(function* () {
    const fleet: Fleet = {
      workers: 2,
      at: { url: "", consoleUrl: null },
      serving: Effect.succeed(
        serving.map((number) => ({
          number,
          served: Effect.never,
          ended: Effect.never,
          isServing: () => true,
          ask: () => Effect.succeedNone,
          tell: () => undefined
        }))
      ),
      restarts: new Map(restarts),
      draining: Effect.succeed(false),
      kill: () => undefined
    }
    const { metrics } = yield* fleetStanding(() => fleet, build)
    return readExposition(`${yield* metrics()}# HELP up As Prometheus sees it.\n# TYPE up gauge\nup{job="payment-gateway"} 1\n`)
  })

const never = [
  [1, 0],
  [2, 0]
] as const

/** The alerts that fire once it has lasted, and for which worker. */
const fired = (before: Exposition, after: Exposition) =>
  rules.flatMap((rule) =>
    firing(rule, { before, after, atSeconds: 0 }).map(({ labels }) => [rule.alert, labels["worker"] ?? "all"])
  )

describe("the alerts of a node of several workers", () => {
  it.effect("fire where a worker is down or ends again and again, and where none takes requests, and not after one end", () =>
    Effect.gen(function* () {
      const start = yield* pageOf([1, 2], never)
      const ended = (times: number) =>
        pageOf(
          [1, 2],
          [
            [1, 0],
            [2, times]
          ]
        )
      expect(fired(start, start)).toEqual([])
      expect(fired(start, yield* ended(1))).toEqual([])
      expect(fired(start, yield* ended(4))).toEqual([["WorkerDown", "2"]])
      expect(fired(start, yield* pageOf([2], never))).toEqual([["WorkerDown", "1"]])
      expect(fired(start, yield* pageOf([], never))).toEqual([
        ["GatewayDown", "all"],
        ["WorkerDown", "1"],
        ["WorkerDown", "2"]
      ])
    })
  )
})
