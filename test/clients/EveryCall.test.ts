import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as OnEffect from "../../clients/effect/src/Gateway.ts"
import { Gateway } from "../../clients/typescript/src/Gateway.ts"
import { treeOf } from "../../src/http/description/OpenApiSchemas.ts"
import { interfaceDescription } from "../support/InterfaceDescription.ts"

const SOURCES = join(import.meta.dirname, "../../clients/typescript/src")
/** Pages, what providers and probes call, and what always answers 501. */
const notOfTenants = [
  "GET /docs",
  "GET /health",
  "GET /openapi.json",
  "POST /v1/refunds",
  "POST /webhooks/{provider}/{route_key}",
  "POST /webhooks/{provider}/{route_key}/{part}",
  "PUT /webhooks/{provider}/{route_key}"
]

const options = {
  url: "https://gateway.example",
  key: { app_id: "acme", key_id: "k", api_key: "a", signing_secret: "s" }
}

describe("the clients", () => {
  it("have a call for every operation of the interface that tenants use", () => {
    const sources = readdirSync(SOURCES).filter((name) => name !== "Schema.ts")
    const text = sources.map((name) => readFileSync(join(SOURCES, name), "utf8")).join("\n")
    const operations = Object.entries(treeOf(interfaceDescription()["paths"])).flatMap(([path, methods]) =>
      Object.keys(treeOf(methods)).map((method) => `${method.toUpperCase()} ${path}`)
    )
    const without = operations.filter((operation) => !text.includes(`"${operation}"`))
    expect(without.toSorted()).toEqual(notOfTenants)
  })

  it("have the same calls, but for the list that a person confirms", () => {
    const onEffect: Readonly<Record<string, object>> = Effect.runSync(
      Effect.provide(
        Effect.map(OnEffect.Gateway, (gateway) => ({ ...gateway })),
        OnEffect.Gateway.layer(options)
      )
    )
    const missing = Object.entries(new Gateway(options)).flatMap(([group, calls]: [string, object]) =>
      Object.keys(calls).flatMap((name) => (name in (onEffect[group] ?? {}) ? [] : [`${group}.${name}`]))
    )
    expect(missing).toEqual(["payouts.run"])
  })
})
