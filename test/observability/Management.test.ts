import { spawnSync } from "node:child_process"
import { request } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Metric, Ref } from "effect"
import { TestClock } from "effect/testing"
import { pictures } from "../../src/observability/Gauges.ts"
import { Management } from "../../src/observability/Management.ts"
import { readExposition, sampled } from "../support/Exposition.ts"
import { itWith } from "../support/Installed.ts"
import { patiently } from "../support/PatientClock.ts"
import { rawHead, STRANGE } from "../support/RawHead.ts"
import { readSources } from "../support/Source.ts"
import { AT, asked, management } from "./ManagementFixture.ts"

describe("the management port", () => {
  it.live("sends responses that are not cached and whose type is not guessed", () =>
    Effect.gen(function* () {
      const { headersOf } = yield* management
      for (const path of ["/livez", "/readyz", "/metrics", "/nowhere"]) {
        const headers = yield* headersOf(path)
        expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"])
      }
    })
  )

  it.live("says the same of what Node would answer by itself", () =>
    Effect.gen(function* () {
      const { options } = yield* management
      const heads = yield* Effect.forEach(STRANGE, (bytes) => rawHead(options.port, bytes))
      expect(heads.map((head) => head.split(" ")[1])).toEqual(["400", "431", "421", "200"])
      for (const head of heads) expect(head.toLowerCase()).toMatch(/cache-control: no-store[^]*x-content-type-options: nosniff/)
    })
  )

  it.live("4. keeps a connection between two scrapes, and between two looks of a load balancer", () =>
    Effect.gen(function* () {
      const { options } = yield* management
      const head = yield* rawHead(options.port, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      expect(head).toMatch(/^keep-alive: timeout=75\r?$/im)
    })
  )

  it.live("answers under its own names alone, so that no page of a browser reads it by a name of its own", () =>
    Effect.gen(function* () {
      const { options } = yield* management
      const status = (host: string) =>
        Effect.callback<number | undefined>((resume) => {
          const asked = request({ host: "127.0.0.1", port: options.port, path: "/metrics", headers: { host } }, (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode))
          })
          asked.end()
        })
      const own = ["127.0.0.1", `127.0.0.1:${options.port}`, "LOCALHOST:8081", "[::1]:8081"]
      const foreign = [
        "rebound.example",
        `rebound.example:${options.port}`,
        "localhost.rebound.example",
        "127.0.0.1.rebound.example"
      ]
      expect(yield* Effect.forEach([...own, ...foreign], status)).toEqual([200, 200, 200, 200, 421, 421, 421, 421])
    })
  )

  it.live("is not ready while it cannot serve, and says why", () =>
    Effect.gen(function* () {
      const { database, get, obstacle, standstill } = yield* management
      yield* Ref.set(obstacle, Effect.succeed("the clock of this machine is 660.0 s ahead of the database's"))
      const why = "the clock of this machine is 660.0 s ahead of the database's\n"
      expect(yield* get("/readyz")).toEqual({ status: 503, body: why })
      expect((yield* get("/livez")).status).toBe(200)
      yield* Ref.set(standstill, Effect.succeed("commits wait"))
      yield* Ref.set(database, Effect.never)
      expect(yield* get("/readyz")).toEqual({ status: 503, body: "commits wait\n" })
      yield* Ref.set(standstill, Effect.succeed(null))
      yield* Ref.set(database, Effect.void)
      yield* Ref.set(obstacle, Effect.fail("it cannot be told"))
      expect((yield* get("/readyz")).status).toBe(503)
      yield* Ref.set(obstacle, Effect.succeed(null))
      expect(yield* get("/readyz")).toEqual({ status: 200, body: "ok\n" })
    })
  )

  it.live("shows as a metric for each reason whether it keeps the node from getting requests", () =>
    Effect.gen(function* () {
      const { database, draining, get, obstacle, standstill, writes } = yield* management
      const held = Effect.map(get("/metrics"), ({ body }) =>
        (readExposition(body).get("gateway_ready")?.samples ?? []).flatMap(({ labels, value }) =>
          value === 0 ? labels["reason"] : []
        )
      )
      const reasons = "draining commits_waiting database clock_off master_key schema writes_refused".split(" ")
      const page = readExposition((yield* get("/metrics")).body)
      expect(reasons.map((reason) => sampled(page, "gateway_ready", { reason }))).toEqual(reasons.map(() => 1))
      yield* Ref.set(obstacle, Effect.succeed("the clock is wrong"))
      yield* Ref.set(writes, Effect.succeed("the disk of the database is full"))
      expect(yield* held).toEqual(["clock_off", "writes_refused"])
      expect((yield* get("/readyz")).body).toBe("the clock is wrong\nthe disk of the database is full\n")
      yield* Ref.set(database, Effect.die(new Error("gone")))
      expect(yield* held).toEqual(["database"])
      yield* Ref.set(standstill, Effect.succeed("commits wait"))
      expect(yield* held).toEqual(["commits_waiting"])
      yield* Ref.set(draining, true)
      expect(yield* held).toEqual(["draining"])
    })
  )

  it.live("is alive, and ready as long as the database answers and nothing drains", () =>
    Effect.gen(function* () {
      const { database, draining, get } = yield* management
      expect(yield* get("/livez")).toEqual({ status: 200, body: "ok\n" })
      expect(yield* get("/readyz")).toEqual({ status: 200, body: "ok\n" })
      yield* Ref.set(database, Effect.die(new Error("gone")))
      expect((yield* get("/readyz")).status).toBe(503)
      yield* Ref.set(database, Effect.void)
      yield* Ref.set(draining, true)
      expect(yield* get("/readyz")).toEqual({ status: 503, body: "draining\n" })
      expect((yield* get("/livez")).status).toBe(200)
      expect((yield* get("/health")).status).toBe(404)
    })
  )

  it.live("is not ready when the database does not answer within a second", () =>
    Effect.gen(function* () {
      const { database, get } = yield* management
      yield* Ref.set(database, Effect.never)
      expect((yield* get("/readyz")).status).toBe(503)
    })
  )

  it.live("is not ready while no server of the database can be written to, and says what was seen of each", () =>
    Effect.gen(function* () {
      const { database, get, noPrimary } = yield* management
      const why = "no server takes writes: a: does not answer; b is a standby"
      yield* Ref.set(noPrimary, why)
      expect(yield* get("/readyz")).toEqual({ status: 200, body: "ok\n" })
      yield* Ref.set(database, Effect.die(new Error("gone")))
      expect(yield* get("/readyz")).toEqual({ status: 503, body: `${why}\n` })
      yield* Ref.set(noPrimary, null)
      expect(yield* get("/readyz")).toEqual({ status: 503, body: "the database does not answer\n" })
    })
  )

  it.live("shows counters and open work on a page that Prometheus can read", () =>
    Effect.gen(function* () {
      const { get } = yield* management
      yield* asked
      const page = readExposition((yield* get("/metrics")).body)
      const value = (name: string, labels: Readonly<Record<string, string>> = {}) => sampled(page, name, labels)
      expect(
        value("gateway_provider_calls_total", { provider: "eversend", mode: "test", call: "ask_payout", outcome: "StillPending" })
      ).toBe(1)
      expect(value("gateway_provider_call_duration_seconds_count", { provider: "eversend", call: "ask_payout" })).toBe(1)
      expect(value("gateway_transactions_open", { kind: "payout", age: "10m" })).toBe(2)
      expect(value("gateway_transactions_open", { kind: "payout", age: "1m" })).toBe(0)
      expect(value("gateway_transactions_unknown", { provider: "eversend" })).toBe(1)
      expect(value("gateway_transactions_unknown_oldest_seconds", { provider: "eversend" })).toBe(100)
      expect(value("gateway_reviews_oldest_seconds")).toBe(0)
      expect(value("gateway_outbox_deliveries", { state: "parked" })).toBe(4)
      expect(value("gateway_outbox_late_seconds")).toBe(7)
      expect(value("gateway_inbox_late_seconds")).toBe(0)
      expect(value("gateway_polls_late_seconds")).toBe(9)
      expect(value("gateway_float_minor", { mode: "live", currency: "UGX", account: "reserved" })).toBe(900)
      expect(value("gateway_tenant_float_minor", { app_id: "acme", mode: "live", currency: "UGX", account: "available" })).toBe(
        40
      )
      expect(value("gateway_audit_head_sequence")).toBe(12)
      expect(value("gateway_audit_head_hash")).toBe(0xa)
      expect(value("gateway_audit_log_broken")).toBe(1)
      expect(value("gateway_ledger_differences")).toBe(0)
      expect(value("gateway_reconcile_differences", { provider: "eversend" })).toBe(2)
      expect(value("gateway_database_up")).toBe(1)
      expect(value("gateway_event_loop_lag_seconds", { percentile: "100" })).toBeGreaterThanOrEqual(0)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("asks the database once a second at most, however often it is scraped", () =>
    Effect.gen(function* () {
      const { standing } = yield* management
      const reads = yield* Ref.make(0)
      const read = Effect.andThen(
        Ref.update(reads, (count) => count + 1),
        Effect.flatten(Ref.get(standing))
      )
      const scrape = yield* pictures({ read, standstill: Effect.succeed(null) })
      yield* Effect.repeat(scrape, { times: 9 })
      yield* TestClock.adjust("999 millis")
      yield* scrape
      expect(yield* Ref.get(reads)).toBe(1)
      yield* TestClock.adjust("1 millis")
      yield* scrape
      expect(yield* Ref.get(reads)).toBe(2)
    })
  )

  it.live("asks the database once for concurrent scrapes, and shows no old number when it does not answer", () =>
    Effect.gen(function* () {
      const { get, looks, standing } = yield* management
      yield* Effect.all([get("/metrics"), get("/metrics"), get("/metrics")], { concurrency: "unbounded" })
      expect(yield* Ref.get(looks)).toBe(1)
      const broken = yield* management
      yield* Ref.set(broken.standing, Effect.die(new Error("gone")))
      const without = readExposition((yield* broken.get("/metrics")).body)
      expect(sampled(without, "gateway_database_up")).toBe(0)
      expect(without.has("gateway_transactions_open")).toBe(false)
      yield* Ref.set(broken.standing, Effect.flatten(Ref.get(standing)))
      expect(sampled(readExposition((yield* broken.get("/metrics")).body), "gateway_database_up")).toBe(1)
    })
  )

  it.live("does not hold a scrape up while commits wait for a standby, and reading may wait behind them", () =>
    Effect.gen(function* () {
      const { get, standing, standstill } = yield* management
      yield* Ref.set(standing, Effect.never)
      const scraping = yield* Effect.forkChild(get("/metrics"), { startImmediately: true })
      yield* Ref.set(standstill, Effect.succeed("commits wait"))
      const pages = yield* Effect.all([Fiber.join(scraping), get("/metrics")]).pipe(Effect.timeout("4500 millis"), patiently)
      expect(pages.map(({ body }) => sampled(readExposition(body), "gateway_database_up"))).toEqual([0, 0])
    })
  )

  it.live("says when each account was reconciled, 0 for never, and how the process and the database's server fare", () =>
    Effect.gen(function* () {
      const { get } = yield* management
      const page = readExposition((yield* get("/metrics")).body)
      const value = (name: string, labels: Readonly<Record<string, string>> = {}) => sampled(page, name, labels)
      expect(value("gateway_reconcile_timestamp_seconds", { provider: "eversend" })).toBe(AT / 1000)
      expect(value("gateway_reconcile_timestamp_seconds", { provider: "mtn" })).toBe(0)
      expect(value("gateway_database_server_connections")).toBe(90)
      expect(value("gateway_database_archive_failing")).toBe(1)
      expect(value("gateway_database_archive_behind_seconds")).toBe(700)
      const settings = { synchronous_commit: "on", fsync: "on", full_page_writes: "on" }
      expect(value("gateway_database_commits_durable", { database_server: "db:5432", ...settings })).toBe(1)
      expect(value("gateway_database_partitions_ahead_seconds", { table: "journal" })).toBe(86_400)
      expect(page.get("gateway_database_replication_lag_seconds")?.samples).toEqual([])
      expect(value("gateway_build_info", { release: "1.0.0", version: "1.0.0+abc" })).toBe(1)
      expect(value("process_resident_memory_bytes")).toBeGreaterThan(1_000_000)
      expect(page.get("process_cpu_seconds_total")?.type).toBe("counter")
    })
  )

  itWith("promtool", "--version")("has a page of which promtool complains of nothing", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { get } = yield* management
        yield* asked
        const { body } = yield* get("/metrics")
        const { stderr, stdout } = spawnSync("promtool", ["check", "metrics"], { input: body, encoding: "utf8" })
        expect(`${stdout}${stderr}`).toBe("")
      }).pipe(Effect.scoped)
    )
  )

  // promtool sees the metrics that were used in this process. The others have their names in the source.
  it("names every metric in Prometheus' base units", () => {
    const names = readSources()
      .filter(({ path }) => path.startsWith("src/"))
      .flatMap(({ text }) => [...text.matchAll(/"(gateway_[a-z_]+)"/g)].flatMap(([, name]) => name ?? []))
    expect(names).toContain("gateway_provider_pace_wait_seconds_total")
    expect(
      names.filter((name) =>
        /_(m|milli|micro|nano)s(econds)?(_|$)|_(minutes|hours|days|(kilo|mega|giga)bytes|percent)(_|$)/.test(name)
      )
    ).toEqual([])
  })

  it.live("names the setting when its port is in use", () =>
    Effect.gen(function* () {
      const { options } = yield* management
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(Management.layer(options))))
      const error = Exit.isFailure(exit)
        ? exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error.message : reason._tag))
        : []
      expect(error).toEqual([
        `MANAGEMENT_PORT ${options.port} on 127.0.0.1 cannot be listened on; it is taken, or not ours to take.`
      ])
    })
  )
})
