import { createServer as createTlsServer } from "node:https"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { selfSigned } from "../../lab/receivers/Certificates.ts"
import type { CallTime } from "../../src/domain/CallTimes.ts"
import { CallPhases, phaseAttributes, timedConnector } from "../../src/providers/CallPhases.ts"
import { openTransport, type ProviderCall } from "../../src/providers/Transport.ts"
import { CallTrail } from "../../src/runtime/CallTrail.ts"
import { givenTelemetry } from "../support/Telemetry.ts"
import { type Behaviour, silence, stub } from "./ProviderStub.ts"

const WAIT = "gateway.connection_wait_ms"
const REQUEST_ID = "0190f3a5-7c1e-7b4e-9d7a-2b1c3d4e5f60"

/** The attributes of the spans of these calls, made one after another. */
const spansOf = Effect.fnUntraced(function* (calls: ReadonlyArray<Pick<ProviderCall, "url"> & Partial<ProviderCall>>) {
  const telemetry = givenTelemetry()
  const { call } = yield* openTransport("eversend")
  const base = { operation: "payout", method: "POST", headers: {}, body: "{}", timeoutMs: 10_000 } as const
  // A connection is free for the next call once the parser is done with the answer.
  const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  yield* Effect.forEach(calls, (one) => Effect.andThen(call({ ...base, ...one }), turn)).pipe(Effect.provide(telemetry.layer))
  return (yield* telemetry.spans).map(([, attributes]) => attributes)
})

const named: Behaviour = (response) =>
  void response.writeHead(503, { "x-request-id": REQUEST_ID, "retry-after": "30", "content-type": "text/plain" }).end("busy")

describe("the span of a call to a provider", () => {
  it.live("says where the time went, and a connection is opened once", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* stub({ "POST /payouts": [named] })
      const url = `${baseUrl}/payouts`
      const [first = {}, ...later] = yield* spansOf(Array.from({ length: 20 }, () => ({ url })))
      const all = ["connection_wait_ms", "connect_ms", "first_byte_ms", "body_ms"].map((name) => `gateway.${name}`)
      for (const name of all) expect([name, first[name]]).toEqual([name, expect.any(Number)])
      expect(Number(first[WAIT])).toBeGreaterThanOrEqual(Number(first["gateway.connect_ms"]))
      // A connection that is there already was opened for nobody.
      const reused = later.filter((span) => !Object.hasOwn(span, "gateway.connect_ms"))
      expect(reused.length).toBeGreaterThan(0)
      for (const span of reused) expect(span[WAIT]).toEqual(expect.any(Number))
    }).pipe(Effect.scoped)
  )

  it.live("says how the provider names the call, and when it wants to be asked again", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* stub({ "POST /payouts": [named] })
      const [span] = yield* spansOf([{ url: `${baseUrl}/payouts` }])
      expect(span).toMatchObject({
        "http.response.status_code": 503,
        "gateway.provider_request_id": REQUEST_ID,
        "gateway.retry_after": "30"
      })
    }).pipe(Effect.scoped)
  )

  it.live("of a call that was never sent ends with its wait, and of one without an answer with its writing", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* stub({ "POST /payouts": [silence] })
      const [refused = {}, silent = {}] = yield* spansOf([
        { url: "http://127.0.0.1:1/" },
        { url: `${baseUrl}/payouts`, timeoutMs: 200 }
      ])
      expect(refused).toMatchObject({ "error.type": "not_sent", note: "ECONNREFUSED", [WAIT]: expect.any(Number) })
      expect(silent).toMatchObject({ "error.type": "timeout", [WAIT]: expect.any(Number) })
      for (const one of [refused, silent]) expect(Object.keys(one)).not.toContain("gateway.first_byte_ms")
    }).pipe(Effect.scoped)
  )
})

it.live("a line of the history gets the same of each call that was made for it", () =>
  Effect.gen(function* () {
    const { baseUrl } = yield* stub({ "POST /payouts": [named, silence] })
    const { call } = yield* openTransport("eversend")
    const base = { operation: "payout", method: "POST", headers: {}, body: "{}", timeoutMs: 10_000 } as const
    const trail: Array<CallTime> = []
    yield* Effect.forEach(
      [
        { url: `${baseUrl}/payouts` },
        { url: `${baseUrl}/payouts`, timeoutMs: 200, paceMs: 350 },
        { url: "http://127.0.0.1:1/", timeoutMs: 200 }
      ],
      (one) => call({ ...base, ...one })
    ).pipe(Effect.provideService(CallTrail, trail))
    expect(
      trail.map(({ end, operation, phases, provider }) => [provider, operation, end, Object.keys(phases).join(" ")])
    ).toEqual([
      ["eversend", "payout", "503", expect.stringMatching(/^wait (dns )?connect first_byte body$/)],
      ["eversend", "payout", "timeout", expect.stringMatching(/^pace wait( (dns )?connect)?$/)],
      ["eversend", "payout", "not_sent", expect.stringMatching(/^wait/)]
    ])
    const [answered, late] = trail
    const sum = (answered?.phases.wait ?? 0) + (answered?.phases.first_byte ?? 0) + (answered?.phases.body ?? 0)
    // Each is rounded to a tenth of a millisecond.
    expect(Math.abs(sum - (answered?.tookMs ?? 0))).toBeLessThanOrEqual(0.3)
    expect(late?.phases.pace).toBe(350)
    expect(late?.tookMs).toBeGreaterThanOrEqual(549)
  }).pipe(Effect.scoped)
)

it.live("a connection's name, TCP and TLS are timed each for itself", () =>
  Effect.gen(function* () {
    const server = createTlsServer(selfSigned)
    const port = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        const address = server.address()
        return typeof address === "object" && address !== null ? address.port : 0
      }),
      () => Effect.promise(() => new Promise<void>((resolve) => void server.close(() => resolve())))
    )
    const now = () => performance.now()
    const { connect, openedLast } = timedConnector(now, { allowH2: false, timeout: 5_000, rejectUnauthorized: false })
    const phases = new CallPhases({ now, openedLast })
    yield* Effect.promise(
      () =>
        new Promise<void>((resolve, reject) => {
          const target = { hostname: "localhost", host: `localhost:${port}`, protocol: "https:", port: String(port) }
          connect(target, (error, socket) => {
            socket?.destroy()
            if (error === null) resolve()
            else reject(error)
          })
        })
    )
    phases.written()
    const {
      "gateway.connect_ms": tcp,
      "gateway.dns_ms": dns,
      "gateway.tls_ms": tls,
      [WAIT]: wait
    } = phaseAttributes(phases.ended)
    expect([dns, tcp, tls, wait]).toEqual([1, 2, 3, 4].map(() => expect.any(Number)))
    // Each is rounded to a tenth of a millisecond.
    expect(Number(dns) + Number(tcp) + Number(tls)).toBeLessThanOrEqual(Number(wait) + 0.3)
  }).pipe(Effect.scoped)
)
