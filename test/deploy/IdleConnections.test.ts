import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { Environment, settings } from "../../src/Config.ts"

const root = resolve(import.meta.dirname, "..", "..")
const shipped = (path: string) => readFileSync(resolve(root, path), "utf8")

describe("the shipped HAProxy before the API", () => {
  it.effect("ends idle connections sooner than a node does, and tries another node only where nothing was sent", () =>
    Effect.gen(function* () {
      const { keepAliveMs } = yield* Effect.provideService(settings, Environment, {})
      const file = shipped("deploy/haproxy/api.cfg")
      const [, idle] = /^ *timeout http-keep-alive (\d+)s$/m.exec(file) ?? []
      expect(Number(idle) * 1000).toBeGreaterThan(0)
      expect(Number(idle) * 1000).toBeLessThan(keepAliveMs)
      // A connection that outlives its client's would be idle for longer than the client's may be.
      expect(file).toMatch(/^ *http-reuse never$/m)
      // Every other condition would send a request again that a node may have executed.
      expect(file.match(/^ *retry-on .*$/gm)).toEqual(["    retry-on conn-failure"])
      expect(shipped("docs/operations.md")).toContain(`\`KEEP_ALIVE\` (${keepAliveMs / 1000} s)`)
    })
  )
})
