import { describe, expect, it } from "vitest"
import { mergedMetrics } from "../../src/processes/MergedMetrics.ts"
import { settingsOf } from "../../src/processes/WorkerSlot.ts"
import { readExposition, sampled } from "../support/Exposition.ts"

const page = (count: number) => `# HELP calls_total Calls, {braces} and "quotes".
# TYPE calls_total counter
calls_total{route="/v1/{id}",why="a } b"} ${count}
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{le="1"} 1
took_seconds_bucket{le="+Inf"} 2
took_seconds_sum 3
took_seconds_count 2
`

describe("the metrics of several processes on one page", () => {
  it("has each family once, and each sample with the worker that it is of", () => {
    const merged = mergedMetrics([
      { worker: "primary", text: "# HELP up_since Since.\n# TYPE up_since gauge\nup_since 1\n" },
      { worker: null, text: '# HELP worker_up Up.\n# TYPE worker_up gauge\nworker_up{worker="1"} 1\n' },
      { worker: "1", text: page(3) },
      { worker: "2", text: page(4) }
    ])
    const read = readExposition(merged)
    expect([...read.keys()]).toEqual(["up_since", "worker_up", "calls_total", "took_seconds"])
    const route = { route: "/v1/{id}", why: "a } b" }
    expect(sampled(read, "calls_total", { ...route, worker: "1" })).toBe(3)
    expect(sampled(read, "calls_total", { ...route, worker: "2" })).toBe(4)
    expect(sampled(read, "up_since", { worker: "primary" })).toBe(1)
    expect(sampled(read, "worker_up", { worker: "1" })).toBe(1)
    expect(read.get("took_seconds")?.samples).toHaveLength(8)
  })
})

describe("the settings of a worker", () => {
  const settings = {
    connectionPlaces: { inAll: 10, anAddress: 5 },
    requestPlaces: { reads: 3, money: 4 },
    console: { port: 8082 },
    telemetry: { attributes: { "service.instance.id": "node-a", "deployment.environment": "test" } }
  }
  const all = [1, 2, 3].map((number) => settingsOf(settings, { number, workers: 3 }))

  it("give each a share of what a node may hold at once, and all of them together no more", () => {
    expect(all.map(({ connectionPlaces }) => connectionPlaces.inAll)).toEqual([4, 3, 3])
    expect(all.map(({ connectionPlaces }) => connectionPlaces.anAddress)).toEqual([2, 2, 1])
    expect(all.map(({ requestPlaces }) => [requestPlaces.reads, requestPlaces.money])).toEqual([
      [1, 2],
      [1, 1],
      [1, 1]
    ])
  })

  it("give the console to the first, and each a name of its own at the collector", () => {
    expect(all.map((own) => own.console.port)).toEqual([8082, null, null])
    expect(all.map(({ telemetry }) => telemetry.attributes["service.instance.id"])).toEqual(["node-a/1", "node-a/2", "node-a/3"])
  })
})
