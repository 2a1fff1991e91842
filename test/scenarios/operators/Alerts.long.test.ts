import { existsSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { metricsIn } from "../../support/AlertRules.ts"
import { sampled } from "../../support/Exposition.ts"
import { givenOperated } from "../../support/OperatedGateway.ts"
import { eventually } from "../../support/SignedClient.ts"
import { stories } from "./AlertFaults.ts"
import { fired, rules } from "./AlertFiring.ts"
import { CONNECTIONS_AN_ADDRESS } from "./ReadinessFaults.ts"

const DASHBOARD = "deploy/grafana/payment-gateway.json"
const TIMEOUT_MS = 240_000

/** Labels whose values are few, whoever comes: no tenant, no transaction, no address. */
const bounded: ReadonlyArray<string> =
  "route reason why corridor failure status code class le percentile job step state provider call outcome operation mode verdict kind age currency account by table version release database_server synchronous_commit fsync full_page_writes".split(
    " "
  )

/** The machine that runs the tests may have held up this process itself, also while it asked Redis, and its server is shared. */
const unheld = (alerts: ReadonlyArray<string>) =>
  alerts.filter((alert) => !["EventLoopHeldUp", "DatabaseConnectionsLow", "RedisGone"].includes(alert))

/** Those that only another server, or another process, could show are in alerts_test.yml alone. */
const ofTheServer = [
  "CommitsNotDurable",
  "ArchiveFailing",
  "ArchiveBehind",
  "StandbyMissing",
  "ReplicationBehind",
  "DatabaseDiskFilling",
  "DatabaseConnectionsLow",
  "PartitionsMissing",
  "GatewayRestarting"
]

/** The server that the tests throw away keeps nothing, and every gateway on it says so. */
const OF_THE_TESTS = ["CommitsNotDurable"]

/** Played last: nothing comes after it. */
const down = { about: "a gateway that stopped", alerts: ["GatewayDown"] }

describe("alerts", () => {
  it("name a runbook that says what the alert means, how to see it, how to mend it, what never to do and how it is tested", () => {
    const headings = ["## What it means", "## How to see it", "## How to fix it", "## Never"]
    expect(rules.length).toBeGreaterThan(15)
    expect(rules.map(({ runbook }) => runbook).filter((runbook) => !existsSync(runbook))).toEqual([])
    const incomplete = rules.filter(({ runbook }) => headings.some((one) => !readFileSync(runbook, "utf8").includes(`${one}\n`)))
    expect(incomplete).toEqual([])
    const tested = (alert: string) => {
      const story = [...stories, down].find(({ alerts }) => alerts.includes(alert))
      return `How it is tested: “${story?.about}” in [`
    }
    // Pages are wrapped.
    const text = (runbook: string) => readFileSync(runbook, "utf8").replaceAll(/\s+/g, " ")
    const provoked = rules.filter(({ alert }) => !ofTheServer.includes(alert))
    expect(provoked.filter(({ alert, runbook }) => !text(runbook).includes(tested(alert)))).toEqual([])
    // Whoever is woken has one page before them, and no checkout.
    const first = /^# .+\n\n.*`gateway …` and SQL.*\[README\.md\]\(README\.md\)\.\n\n/
    expect(rules.filter(({ runbook }) => !first.test(readFileSync(runbook, "utf8")))).toEqual([])
    const index = readFileSync("docs/runbooks/README.md", "utf8")
    expect(rules.filter(({ alert, runbook }) => !index.includes(`[${alert}](${basename(runbook)})`))).toEqual([])
  })

  it("have a planted fault each that makes them fire", () => {
    const provoked = [...stories, down].flatMap(({ alerts }) => alerts)
    expect(rules.map(({ alert }) => alert).sort()).toEqual([...new Set([...provoked, ...ofTheServer])].sort())
  })

  it.live(
    "fire while their fault is there, end when it is mended, and use only existing metrics, none with a label that names a tenant",
    () =>
      Effect.gen(function* () {
        const stopped = yield* Effect.scoped(
          Effect.gen(function* () {
            const operated = yield* givenOperated({
              CIRCUIT_FAILURES: "5",
              WEBHOOK_SCHEDULE: "0s,1s",
              EVERSEND_LIVE_PACE: "off",
              CONNECTIONS_AN_ADDRESS: String(CONNECTIONS_AN_ADDRESS)
            })
            expect(unheld(yield* fired(operated, yield* operated.page))).toEqual([
              "LedgerUnverified",
              "ReconcileOverdue",
              ...OF_THE_TESTS
            ])
            yield* operated.sql`INSERT INTO integrity_checks (name, subject, at, differences) VALUES ('reconcile', 'eversend', now(), 0)`
            expect((yield* operated.run("ledger", "verify")).code).toBe(0)
            const start = yield* eventually(operated.page, (page) => sampled(page, "gateway_ledger_differences") === 0)
            expect(unheld(yield* fired(operated, start))).toEqual(OF_THE_TESTS)
            for (const { story } of stories) yield* story(operated, yield* operated.page)
            const page = yield* operated.page
            const known = new Set(page.keys())
            const labels = [...page.values()].flatMap(({ samples }) => samples.flatMap((sample) => Object.keys(sample.labels)))
            expect([...new Set(labels)].filter((label) => !bounded.includes(label))).toEqual([])
            const expressions = [...rules.map(({ expr }) => expr), readFileSync(DASHBOARD, "utf8")]
            const named = metricsIn(expressions.join("\n"))
            expect(named.length).toBeGreaterThan(15)
            expect(
              named.filter((name) => ![name, name.replace(/_(bucket|sum|count)$/, "")].some((one) => known.has(one)))
            ).toEqual([])
            return { operated, start }
          })
        )
        // A gateway that is gone has mended nothing: what it said last stands.
        expect(unheld(yield* fired(stopped.operated, stopped.start))).toEqual([...down.alerts, ...OF_THE_TESTS])
      }),
    TIMEOUT_MS
  )
})
