import { rm } from "node:fs/promises"
import { expect, layer } from "@effect/vitest"
import { Console, Context, Effect, Layer, type Redacted } from "effect"
import { type HostileLine, openHostileLine, type Spoken, type Twist } from "../../../lab/hostile/HostileLine.ts"
import { listAnswer, transaction } from "../../providers/ProviderStub.ts"
import { type Running, startSimulator } from "../../simulator/eversend/SimulatorFixture.ts"
import { authorize, codeExpires, demandCodes, pinIdOf, RIGHT, sourceOf, waiting, wrapped } from "../../support/OtpRequests.ts"
import { momoCharge } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, type Gateway, gatewayOn, tenantOn, verified } from "../../support/Stack.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

// Eversend's documents do not say how a wrong code is answered, nor what its list shows of it.

interface Parts {
  readonly database: Redacted.Redacted
  readonly gateway: Gateway
  readonly simulator: Running
  readonly line: HostileLine
  /** What an operator reads. */
  readonly log: ReadonlyArray<string>
}

/** A gateway whose Eversend is behind a line that a story may spoil. */
class OverLine extends Context.Service<OverLine, Parts>()("test/OverLine") {
  static readonly layer = (settings: Record<string, string>, delayMs: number) =>
    Layer.effect(
      OverLine,
      Effect.gen(function* () {
        const simulator = yield* Effect.acquireRelease(
          Effect.promise(() => startSimulator({ delayMs })),
          (running) => Effect.promise(() => running.stop().then(() => rm(running.dataDir, { recursive: true, force: true })))
        )
        const line = yield* openHostileLine(simulator.eversendBaseUrl)
        const over = { ...simulator, eversendBaseUrl: line.baseUrl, baseUrls: { ...simulator.baseUrls, eversend: line.baseUrl } }
        const log: Array<string> = []
        const written = Object.assign(Object.create(console), { error: (text: string) => void log.push(text) })
        const database = yield* givenDatabase
        const gateway = yield* Effect.orDie(gatewayOn(database, over, { LOG_LEVEL: "error", ...settings })).pipe(
          Effect.provideService(Console.Console, written)
        )
        yield* demandCodes(gateway, "UG")
        return { database, simulator, line, gateway, log }
      })
    )
}

const CHARGE = "/collections/momo"
const LIST = "/transactions?"

const json = (status: number, body: object): Spoken => ({
  early: null,
  status,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(body))
})
const wrongCode = json(400, { code: 400, success: false, message: "Invalid OTP" })
const unavailable = json(503, { code: 503, success: false, message: "Service Unavailable" })

/** What the line makes of charges and of lists, until it is honest again. */
const spoilt = Effect.fnUntraced(function* (charges: Twist | null, lists: Twist | null) {
  const { line } = yield* OverLine
  line.twist = ({ path }) => (path.includes(CHARGE) ? charges : path.includes(LIST) ? lists : null)
})
const honest = spoilt(null, null)

/** It is made, and its code is called wrong. */
const calledWrong: Twist = { change: () => wrongCode }
const hidden: Twist = { change: () => json(200, listAnswer()) }
/** The list has failed attempts of that charge as well. */
const withFailed = (reference: string): Twist => ({
  change: (spoken) => {
    const { data } = JSON.parse(spoken.body.toString("utf8"))
    const attempt = transaction(reference, { transactionId: "BE0", type: "collection", status: "failed", reason: "Invalid OTP" })
    return json(200, listAnswer(attempt, ...data.transactions))
  }
})

const given = Effect.gen(function* () {
  const { gateway, simulator } = yield* OverLine
  const tenant = yield* tenantOn(gateway, 0n)
  const chargesOf = (reference: string) =>
    Effect.map(callsOf(simulator, reference), (calls) => calls.filter((call) => call === `POST /v1${CHARGE}`).length)
  const recordOf = (reference: string) => Effect.map(tenant.get(`/v1/collections/${reference}`), ({ body }) => body.data)
  return { gateway, tenant, chargesOf, recordOf }
})

type Tenant = Effect.Success<typeof given>["tenant"]

/** A collection whose code was said, and called wrong although the charge was made; nothing lists it yet. */
const madeUnseen = Effect.fnUntraced(function* (tenant: Tenant, ending: string) {
  const { pinId, reference } = yield* waiting(tenant, ending)
  yield* spoilt(calledWrong, hidden)
  expect(said(yield* authorize(tenant, reference, wrapped(pinId, RIGHT, ending)))).toMatchObject({ code: "otp_incorrect" })
  return reference
})

const inFlight = (reference: string) => ({
  status: 409,
  code: "duplicate_charge_in_flight",
  class: "ambiguous",
  details: { reference, status: "pending" }
})

const say = (tenant: Tenant, answer: Answer, ending: string, pin = RIGHT) =>
  authorize(tenant, referenceOf(answer), wrapped(pinIdOf(answer), pin, ending))

// Nobody hears of a charge but by asking, and only a request asks.
const settings = { RECONCILER_SCHEDULE: "1h", PROVIDER_TIMEOUT_MS: "700" }

layer(OverLine.layer(settings, 60_000), { excludeTestServices: true })("after a code that was called wrong", (it) => {
  it.effect("the payer is not charged again where the charge was made all the same, and is listed late", () =>
    Effect.gen(function* () {
      const { chargesOf, recordOf, tenant } = yield* given
      const first = yield* madeUnseen(tenant, "4001")
      yield* honest
      const anew = yield* tenant.post("/v1/collections", momoCharge("4001"))
      expect(said(yield* say(tenant, anew, "4001"))).toMatchObject(inFlight(first))
      expect(yield* recordOf(first)).toMatchObject({ status: "pending" })
      const sent = yield* tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("4001") })
      const otp = { pin_id: pinIdOf(sent), pin: RIGHT }
      expect(said(yield* tenant.post("/v1/collections", momoCharge("4001", { otp })))).toMatchObject(inFlight(first))
      expect([yield* chargesOf(first), yield* chargesOf(referenceOf(anew))]).toStrictEqual([1, 0])
    })
  )

  it.effect("the payer who mistyped it begins anew at once, and is looked for once", () =>
    Effect.gen(function* () {
      const { simulator } = yield* OverLine
      const { chargesOf, tenant } = yield* given
      yield* honest
      const first = yield* tenant.post("/v1/collections", momoCharge("4002"))
      expect(said(yield* say(tenant, first, "4002", "000000"))).toMatchObject({ code: "otp_incorrect" })
      const before = yield* callsOf(simulator, referenceOf(first))
      const anew = yield* tenant.post("/v1/collections", momoCharge("4002"))
      expect((yield* say(tenant, anew, "4002")).status).toBe(200)
      expect((yield* callsOf(simulator, referenceOf(first))).slice(before.length)).toStrictEqual(["GET /v1/transactions"])
      expect(yield* chargesOf(referenceOf(anew))).toBe(1)
      // The first one stays open, and is not charged beside the second.
      expect(said(yield* say(tenant, first, "4002"))).toMatchObject(inFlight(referenceOf(anew)))
    })
  )

  it.effect("a new charge waits while nobody can look for the first one, and no longer", () =>
    Effect.gen(function* () {
      const { chargesOf, tenant } = yield* given
      yield* honest
      const first = yield* tenant.post("/v1/collections", momoCharge("4003"))
      expect(said(yield* say(tenant, first, "4003", "000000"))).toMatchObject({ code: "otp_incorrect" })
      const anew = yield* tenant.post("/v1/collections", momoCharge("4003"))
      yield* spoilt(null, { instead: unavailable })
      expect(said(yield* say(tenant, anew, "4003"))).toMatchObject({
        ...inFlight(referenceOf(first)),
        details: { status: "requires_action" }
      })
      expect(yield* chargesOf(referenceOf(anew))).toBe(0)
      yield* honest
      expect((yield* say(tenant, anew, "4003")).status).toBe(200)
    })
  )

  it.effect("another code of the charge is not spent while nobody can look for the charge", () =>
    Effect.gen(function* () {
      const { chargesOf, gateway, recordOf, tenant } = yield* given
      yield* honest
      const { pinId, reference } = yield* waiting(tenant, "4004")
      const again = (pin: string) => authorize(tenant, reference, wrapped(pinId, pin, "4004"), { "idempotency-key": pin })
      expect(said(yield* again("000000"))).toMatchObject({ code: "otp_incorrect" })
      yield* spoilt(null, { instead: unavailable })
      expect(said(yield* again(RIGHT))).toStrictEqual({ status: 503, code: "provider_error", class: "retriable", details: {} })
      expect(yield* recordOf(reference)).toMatchObject({ status: "requires_action", next_action: { pin_id: pinId } })
      yield* honest
      expect((yield* again(RIGHT)).status).toBe(200)
      expect(yield* chargesOf(reference)).toBe(2)
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )

  it.effect("another code of the charge is not said where the charge was made all the same", () =>
    Effect.gen(function* () {
      const { chargesOf, tenant } = yield* given
      const reference = yield* madeUnseen(tenant, "4005")
      yield* honest
      const sent = yield* tenant.post("/v1/collections/otp", { country: "UG", source: sourceOf("4005") })
      const answer = yield* authorize(tenant, reference, wrapped(pinIdOf(sent), RIGHT, "4005"))
      expect([answer.status, answer.body.data["status"]]).toStrictEqual([200, "pending"])
      expect(yield* chargesOf(reference)).toBe(1)
    })
  )

  it.effect("a failed attempt in the list ends nothing: the right code is charged, also where its answer is lost", () =>
    Effect.gen(function* () {
      const { chargesOf, recordOf, tenant } = yield* given
      yield* honest
      const { pinId, reference } = yield* waiting(tenant, "4006")
      const again = (pin: string) => authorize(tenant, reference, wrapped(pinId, pin, "4006"))
      yield* spoilt(null, withFailed(reference))
      for (const [pin, left] of [
        ["000000", 4],
        ["000001", 3]
      ] as const)
        expect(said(yield* again(pin))).toMatchObject({ code: "otp_incorrect", details: { attempts_remaining: left } })
      expect(yield* recordOf(reference)).toMatchObject({ status: "requires_action" })
      yield* spoilt({ change: () => unavailable }, withFailed(reference))
      expect(said(yield* again(RIGHT))).toMatchObject({ status: 503, class: "ambiguous", details: { reference } })
      const anew = yield* tenant.post("/v1/collections", momoCharge("4006"))
      expect(said(yield* say(tenant, anew, "4006"))).toMatchObject(inFlight(reference))
      expect(yield* recordOf(reference)).toMatchObject({ status: "pending" })
      expect([yield* chargesOf(reference), yield* chargesOf(referenceOf(anew))]).toStrictEqual([3, 0])
    })
  )
})

layer(OverLine.layer({ RECONCILER_SCHEDULE: "1h" }, 60_000), { excludeTestServices: true })(
  "a code that was called wrong and expires",
  (it) => {
    it.effect("expires nothing that was made all the same", () =>
      Effect.gen(function* () {
        const { database } = yield* OverLine
        const { tenant } = yield* given
        const reference = yield* madeUnseen(tenant, "4007")
        yield* honest
        yield* codeExpires(database, reference)
        yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status !== "requires_action")
        expect((yield* tenant.get(`/v1/collections/${reference}`)).body.data).toMatchObject({ status: "pending" })
      })
    )

    it.effect("is credited beside a second charge where it is listed too late to stop it, and an operator is told", () =>
      Effect.gen(function* () {
        const { database, log } = yield* OverLine
        const { tenant } = yield* given
        const first = yield* madeUnseen(tenant, "4009")
        yield* spoilt(null, hidden)
        const anew = yield* tenant.post("/v1/collections", momoCharge("4009"))
        expect((yield* say(tenant, anew, "4009")).status).toBe(200)
        yield* honest
        yield* codeExpires(database, first)
        yield* tenant.until(`/v1/collections/${first}`, ({ status }) => status === "pending")
        const lines = log.filter((line) => line.includes("made a charge although it called its code wrong"))
        expect(lines.filter((line) => line.includes(first))).toHaveLength(1)
      })
    )

    it.effect("expires the charge where its provider has none", () =>
      Effect.gen(function* () {
        const { database } = yield* OverLine
        const { tenant } = yield* given
        yield* honest
        const { pinId, reference } = yield* waiting(tenant, "4008")
        expect(said(yield* authorize(tenant, reference, wrapped(pinId, "000000", "4008")))).toMatchObject({
          code: "otp_incorrect"
        })
        yield* codeExpires(database, reference)
        yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status === "expired")
      })
    )
  }
)
