import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { Environment, settings } from "../../src/Config.ts"

const root = resolve(import.meta.dirname, "..", "..")
const shipped = (path: string) => readFileSync(resolve(root, path), "utf8")

const envelopesIn = (file: string): ReadonlyMap<number, unknown> =>
  new Map([...file.matchAll(/'(\{"code":(\d+).*\})'/g)].map(([, text = "", status]) => [Number(status), JSON.parse(text)]))

describe("the shipped nginx before the API", () => {
  it.effect("ends idle connections sooner than a node does, sends nothing again, and says what HAProxy says", () =>
    Effect.gen(function* () {
      const { keepAliveMs } = yield* Effect.provideService(settings, Environment, {})
      const file = shipped("deploy/nginx/nginx.conf")
      const [, idle] = /^ *keepalive_timeout (\d+)s;$/m.exec(file) ?? []
      expect(Number(idle) * 1000).toBeGreaterThan(0)
      expect(Number(idle) * 1000).toBeLessThan(keepAliveMs)
      expect(file.match(/^ *proxy_next_upstream .*$/gm)).toEqual(["            proxy_next_upstream off;"])
      const [haproxy, nginx] = [envelopesIn(shipped("deploy/haproxy/api.cfg")), envelopesIn(file)]
      // Of nginx both a closed connection and a process that cannot be reached are a 502, and it bounds bodies itself.
      expect([...nginx.keys()]).toEqual([400, 408, 413, 500, 502, 504])
      for (const status of [400, 408, 500, 504]) expect(nginx.get(status)).toEqual(haproxy.get(status))
    })
  )
})

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
      expect(shipped("docs/operations/installing.md")).toContain(`\`KEEP_ALIVE\` (${keepAliveMs / 1000} s)`)
    })
  )
})
