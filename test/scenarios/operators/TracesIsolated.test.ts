import { spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { isListed } from "../../../src/observability/Attributes.ts"
import type { ReceivedGauge, ReceivedSpan } from "../../support/OtlpReceiver.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { givenStack, tenantOn, webhooksOf } from "../../support/Stack.ts"

const TIMEOUT_MS = 240_000

/** A name without a room of its own leaves in a span as the gateway's. */
const isListedInSpans = (name: string): boolean => isListed(name.replace(/^gateway\./, "")) || isListed(name)

/** An OTLP receiver in a process of its own. */
const receiverProcess = Effect.acquireRelease(
  Effect.promise(async () => {
    const child = spawn(process.execPath, [resolve("test/support/OtlpReceiver.ts")], { stdio: ["ignore", "pipe", "inherit"] })
    const [line] = await once(child.stdout, "data")
    return { child, endpoint: `http://127.0.0.1:${String(line).trim()}` }
  }),
  ({ child }) => Effect.promise(() => new Promise<void>((ended) => void (child.once("exit", () => ended()), child.kill())))
).pipe(
  Effect.map(({ endpoint }) => ({
    endpoint,
    received: Effect.promise(
      async (): Promise<{ readonly spans: ReadonlyArray<ReceivedSpan>; readonly gauges: ReadonlyArray<ReceivedGauge> }> =>
        JSON.parse(await (await fetch(endpoint)).text())
    )
  }))
)

const [SERVER, CLIENT] = [2, 3]

/** What the semantic conventions require of a span of each kind. */
const required: Readonly<Record<string, ReadonlyArray<string>>> = {
  server: ["http.request.method", "http.response.status_code", "url.scheme", "url.path", "server.address", "server.port"],
  call: ["http.request.method", "url.full", "server.address", "server.port"],
  statement: ["db.system.name", "db.namespace", "db.query.text", "server.address", "server.port"]
}

const sorted = (spans: ReadonlyArray<ReceivedSpan>) => ({
  server: spans.filter(({ kind }) => kind === SERVER),
  call: spans.filter(({ attributes, kind }) => kind === CLIENT && !("db.system.name" in attributes)),
  statement: spans.filter(({ kind, attributes }) => kind === CLIENT && "db.system.name" in attributes)
})

/** All that is of the same traces, or linked to one of them, or to one that is. */
const lifeOf = (begun: ReadonlyArray<ReceivedSpan>, all: ReadonlyArray<ReceivedSpan>): ReadonlyArray<ReceivedSpan> => {
  const traces = new Set(begun.map(({ traceId }) => traceId))
  for (let size = 0; size < traces.size; ) {
    size = traces.size
    for (const { links, traceId } of all) if (links.some((link) => traces.has(link.traceId))) traces.add(traceId)
  }
  return all.filter(({ traceId }) => traces.has(traceId))
}

const missing = (what: string, attributes: ReceivedSpan["attributes"]) =>
  (required[what] ?? []).filter((name) => !(name in attributes))

it.live(
  "one trace tells a payout's whole life, from its request to its webhook, and gauges of open work are exported, too",
  () =>
    Effect.gen(function* () {
      const { endpoint, received } = yield* receiverProcess
      const story = Effect.gen(function* () {
        // Nothing but its callback settles the payout.
        const { gateway } = yield* givenStack({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, RECONCILER_SCHEDULE: "1h" })
        const tenant = yield* tenantOn(gateway)
        const hook = yield* webhooksOf(gateway, tenant)
        const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
        yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
        const [received] = yield* hook.count(1)
        // Our ids are nobody's but ours.
        expect(Object.keys(received?.headers ?? {}).filter((name) => /trace|^b3/.test(name))).toEqual([])
        return { reference, appId: tenant.appId, hookPath: received?.path ?? "" }
      })
      // The last spans are sent when the gateway stops.
      const { appId, hookPath, reference } = yield* Effect.scoped(story)
      const { gauges, spans: all } = yield* received
      const last = (name: string, account?: string) =>
        gauges.findLast((gauge) => gauge.name === name && gauge.attributes["account"] === account)?.value
      expect(["gateway_database_up", "gateway_reviews_open"].map((name) => last(name))).toEqual(["1", "0"])
      expect(last("gateway_float_minor", "available")).toBe("89000")
      expect(last("gateway_event_loop_lag_seconds")).toBeDefined()
      const byId = new Map(all.map((span) => [span.spanId, span]))
      const named = (name: string) => all.filter((span) => span.name === name)
      const lineOf = (span: ReceivedSpan | undefined): ReadonlyArray<string> =>
        span === undefined ? [] : [...lineOf(byId.get(span.parentId)), span.name]

      const [request] = named("POST /v1/payouts")
      expect(request).toMatchObject({
        parentId: "",
        kind: 2,
        resource: { "service.name": "payment-gateway" },
        attributes: { "http.route": "/v1/payouts", "http.response.status_code": 201, "gateway.app_id": appId }
      })
      const own = all.filter(({ traceId }) => traceId === request?.traceId)
      const [begun] = own.filter((span) => "gateway.kind" in span.attributes)
      expect(lineOf(begun)[0]).toBe("POST /v1/payouts")
      expect(begun?.attributes).toMatchObject({
        "gateway.reference": reference,
        "gateway.mode": "live",
        "gateway.provider": "eversend",
        "gateway.corridor": "UG/UGX/payout/momo"
      })
      // One search finds all of it.
      for (const { attributes } of own)
        expect(attributes).toMatchObject({ "gateway.reference": reference, "gateway.app_id": appId, "gateway.mode": "live" })
      // Claim, quote, reservation, provider call and settlement are in the request's own trace.
      const steps = new Set(own.map(({ name }) => name))
      for (const step of ["Idempotency.claim", "PayoutPricing.price", "PayoutDispatch.send", "Settlement.apply"])
        expect([...steps]).toContain(step)
      const operations = own.flatMap(({ attributes }) => attributes["gateway.operation"] ?? [])
      expect(operations).toEqual(expect.arrayContaining(["quotation", "payout"]))

      // So are the callback that settled it, the question to its provider, the commits and the webhook, though nobody waited for them.
      const traceId = request?.traceId
      for (const later of ["ProviderCallbacks.look", "OutcomePoller.poll", "WebhookDispatcher.attempt"])
        expect([later, ...new Set(named(later).flatMap((span) => [span.traceId, lineOf(span)[0]]))]).toEqual([
          later,
          traceId,
          "POST /v1/payouts"
        ])
      for (const step of ["SELECT open_step", "SELECT apply_step"])
        expect([step, ...new Set(named(step).map((span) => span.traceId))]).toEqual([step, traceId])
      const callback = named("OutcomePoller.poll").find(({ attributes }) => attributes["gateway.actor"] === "callback")
      expect(lineOf(callback)).toEqual(["POST /v1/payouts", "ProviderCallbacks.look", "OutcomePoller.poll"])
      // The look is linked to the request that the callback came with.
      const receiving = byId.get(byId.get(callback?.parentId ?? "")?.links[0]?.spanId ?? "")
      expect(lineOf(receiving)).toEqual(["POST /webhooks/{provider}/{route_key}"])

      // Its whole life can be read: the request, the callback, the webhook, and what was written for them.
      const life = lifeOf([...own, ...all.filter(({ spanId }) => spanId === receiving?.spanId)], all)
      expect(life.length, life.map(({ name }) => name).join("\n")).toBeLessThanOrEqual(30)
      for (const { attributes } of life)
        expect(attributes).toMatchObject({ "gateway.reference": reference, "gateway.mode": "live" })

      for (const [what, spans] of Object.entries(sorted(all))) {
        expect([what, spans.length > 0]).toEqual([what, true])
        for (const { attributes, name } of spans) expect([name, missing(what, attributes)]).toEqual([name, []])
      }
      // A gateway that stops gives a call up: there is no answer then, and the span says why.
      for (const { attributes, name } of sorted(all).call)
        expect([name, "http.response.status_code" in attributes || attributes["error.type"] === "interrupted"]).toEqual([
          name,
          true
        ])
      // Of a tenant's endpoint nobody learns more than where it is.
      expect(hookPath.length).toBeGreaterThan(1)
      expect(JSON.stringify(all)).not.toContain(`:${hookPath}`)

      const unlisted = all.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => !isListedInSpans(name))
      expect(unlisted).toEqual([])
    }).pipe(Effect.scoped),
  TIMEOUT_MS
)
