import { existsSync, readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { metricsIn } from "../support/AlertRules.ts"
import { givenOperated } from "../support/Operating.ts"
import { fired, rules, stories } from "./AlertFaults.ts"

const DASHBOARD = "deploy/grafana/payment-gateway.json"
const TIMEOUT_MS = 90_000

describe("alerts", () => {
  it("name a runbook that is there and says what it is, how to see it, how to mend it and what never to do", () => {
    const headings = ["## What it means", "## How to see it", "## How to mend it", "## Never"]
    expect(rules.length).toBeGreaterThan(15)
    expect(rules.map(({ runbook }) => runbook).filter((runbook) => !existsSync(runbook))).toEqual([])
    const incomplete = rules.filter(({ runbook }) => headings.some((one) => !readFileSync(runbook, "utf8").includes(`${one}\n`)))
    expect(incomplete).toEqual([])
  })

  it("have a fault each that provokes them", () => {
    const provoked = stories.flatMap(({ alerts }) => alerts).concat("GatewayDown")
    expect(rules.map(({ alert }) => alert).sort()).toEqual([...new Set(provoked)].sort())
  })

  it.live(
    "fire when their fault is there, end when it is mended, and name metrics that there are",
    () =>
      Effect.gen(function* () {
        const stopped = yield* Effect.scoped(
          Effect.gen(function* () {
            const operated = yield* givenOperated({ CIRCUIT_FAILURES: "5", WEBHOOK_SCHEDULE: "0s,1s" })
            const start = yield* operated.page
            expect(yield* fired(operated, start)).toEqual([])
            for (const { story } of stories) yield* story(operated, yield* operated.page)
            const known = new Set((yield* operated.page).keys())
            const named = metricsIn([...rules.map(({ expr }) => expr), readFileSync(DASHBOARD, "utf8")].join("\n"))
            expect(named.length).toBeGreaterThan(15)
            expect(
              named.filter((name) => ![name, name.replace(/_(bucket|sum|count)$/, "")].some((one) => known.has(one)))
            ).toEqual([])
            return { operated, start }
          })
        )
        expect(yield* fired(stopped.operated, stopped.start)).toEqual(["GatewayDown"])
      }),
    TIMEOUT_MS
  )
})
