import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { Capability } from "../../../src/domain/Tenant.ts"
import { isTree } from "../../../src/http/description/OpenApiSchemas.ts"
import { changed, fieldsOf, sampleOf } from "../../support/BodyFields.ts"
import { bodySchemaOf, interfaceDescription } from "../../support/InterfaceDescription.ts"
import { Stack, tenantOn } from "../../support/Stack.ts"

const entries = (node: unknown): ReadonlyArray<[string, unknown]> => (isTree(node) ? Object.entries(node) : [])
const routes = entries(interfaceDescription()["paths"]).flatMap(([path, item]) =>
  entries(item).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    body: bodySchemaOf(operation)
  }))
)
// Tests of their own: one answers no JSON, the other takes any bytes from a provider.
const asked = routes.filter(({ path }) => path !== "/docs" && !path.startsWith("/webhooks"))

const RUNS = 400
const segment = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_~-]{1,30}$/),
  fc.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
  fc.constantFrom("UG", "NG", "KE", "otp", "quote"),
  fc.string({ maxLength: 12, unit: "grapheme" }).map((text) => encodeURIComponent(text) || "x")
)
const key = fc.oneof(
  fc.stringMatching(/^[ -~]{1,40}$/).filter((text) => text.trim() !== ""),
  fc.constant("the same key")
)
const headers = fc.record(
  {
    "idempotency-key": key,
    "x-confirm-purge": fc.constantFrom("me", "true"),
    "x-audit-reason": fc.constantFrom("", "because"),
    "x-request-id": fc.stringMatching(/^[ -~]{1,140}$/),
    "content-type": fc.constantFrom("application/json", "text/plain", "application/json; charset=utf-8")
  },
  { requiredKeys: [] }
)

/** A request to any route: its own method or another, with a body that is nearly right, or any JSON, or any text. */
const request = fc
  .record({
    route: fc.constantFrom(...asked),
    other: fc.option(fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"), { freq: 9 }),
    segments: fc.array(segment, { minLength: 2, maxLength: 2 }),
    query: fc.option(fc.webQueryParameters({ size: "small" }), { freq: 2 }),
    headers,
    json: fc.jsonValue({ maxDepth: 4 }),
    text: fc.string({ unit: "binary", maxLength: 40 }),
    kind: fc.constantFrom("right", "one field", "one field", "json", "text"),
    field: fc.nat()
  })
  .map(({ field, headers, json, kind, other, query, route, segments, text }) => {
    let at = 0
    const path = route.path.replace(/\{\w+\}/g, () => segments[at++] ?? "x")
    const fields = fieldsOf(route.body)
    const chosen = fields[field % Math.max(fields.length, 1)]
    const nearly = chosen === undefined ? {} : changed(chosen.body, chosen.path, json)
    const bodies = { right: sampleOf(route.body), "one field": nearly, json, text: text.toWellFormed() }
    const method = other ?? route.method
    const body = kind === "text" ? bodies.text : JSON.stringify(bodies[kind === "right" || kind === "json" ? kind : "one field"])
    return { method, target: query === null || query === "" ? path : `${path}?${query}`, body, headers }
  })

describe("any request to any route", () => {
  layer(Stack.layer({ RATE_LIMIT_MONEY: "off", RATE_LIMIT_READS: "off" }), { excludeTestServices: true })((it) => {
    it.effect("is answered with the envelope as described, and never with 500", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 1_000_000n, { capabilities: Capability.literals })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(request, async ({ body, headers, method, target }) => {
              const hasBody = method !== "GET" && method !== "OPTIONS" && method !== "DELETE"
              // The client holds each answer against the description.
              const answer = await Effect.runPromise(tenant.call(method, target, hasBody ? body : undefined, headers))
              expect(answer.status, answer.text).not.toBe(500)
            }),
            { numRuns: RUNS, endOnFailure: false }
          )
        )
      })
    )
  })
})
