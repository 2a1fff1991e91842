import { expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { describe } from "vitest"
import { momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { asOwner, keyOn, Stack, tenantOn } from "../../support/Stack.ts"
import { type Received, receiver } from "../../support/WebhookReceiver.ts"

const ENDPOINT = "/v1/webhooks/endpoint"
const DELIVERIES = "/v1/webhooks/deliveries"
const RECOVER = "/v1/webhooks/recover"
const HOUR_MS = 3_600_000

const Attempt = Schema.Struct({
  at: Schema.String,
  status: Schema.NullOr(Schema.Number),
  duration_ms: Schema.Number,
  excerpt: Schema.String
})
const Item = Schema.Struct({
  id: Schema.String,
  event_id: Schema.String,
  event_type: Schema.String,
  reference: Schema.NullOr(Schema.String),
  status: Schema.String,
  attempts: Schema.Array(Attempt)
})
const decodePage = Schema.decodeUnknownSync(
  Schema.Struct({ data: Schema.Struct({ items: Schema.Array(Item), next_cursor: Schema.NullOr(Schema.String) }) })
)
const pageOf = ({ body }: Answer) => decodePage(body).data
const itemsOf = (answer: Answer) => pageOf(answer).items

/** A tenant with an endpoint whose answers the test decides. */
const givenTenant = Effect.fnUntraced(function* (events?: ReadonlyArray<string>) {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway)
  const hook = { status: 204, received: new Array<Received>() }
  const { url } = yield* receiver((response, one) => {
    hook.received.push(one)
    response.writeHead(hook.status).end(`told ${hook.status}`)
  })
  const listed = (wanted: (items: ReadonlyArray<typeof Item.Type>) => boolean, query = "") =>
    Effect.map(
      eventually(tenant.get(`${DELIVERIES}${query}`), (answer) => wanted(itemsOf(answer))),
      itemsOf
    )
  const put = (wish = {}) => tenant.call("PUT", ENDPOINT, { url, ...(events === undefined ? {} : { events }), ...wish })
  const paid = Effect.suspend(() => Effect.map(tenant.post("/v1/payouts", momoPayout("1234")), referenceOf))
  return { gateway, tenant, hook, put, listed, paid }
})

const allDelivered = (count: number) => (items: ReadonlyArray<typeof Item.Type>) =>
  items.filter(({ status }) => status === "delivered").length === count

/** Lets a tenant's events be older than they are. */
const age = Effect.fnUntraced(function* (appId: string, byMs: number) {
  const sql = yield* asOwner((yield* Stack).database)
  yield* Effect.orDie(sql`
    UPDATE events SET created_at = created_at - ${byMs} * interval '1 millisecond' WHERE app_id = ${appId}`)
}, Effect.scoped)

describe("a tenant's deliveries", () => {
  layer(Stack.layer({ WEBHOOK_SCHEDULE: "0s,10ms" }), { excludeTestServices: true })((it) => {
    it.effect("are listed newest first with their attempts, by status, page after page", () =>
      Effect.gen(function* () {
        const { hook, listed, paid, put, tenant } = yield* givenTenant(["payout.pending"])
        yield* put()
        hook.status = 500
        const parked = [yield* paid, yield* paid]
        yield* listed((items) => items.length === 2, "?status=parked")
        hook.status = 204
        const delivered = [yield* paid, yield* paid, yield* paid]
        const all = yield* listed(allDelivered(3))
        expect(all.map(({ reference }) => reference)).toStrictEqual([...parked, ...delivered].toReversed())
        expect(all.map(({ status }) => status)).toStrictEqual(["delivered", "delivered", "delivered", "parked", "parked"])
        expect(all[4]?.attempts.map(({ excerpt, status }) => [status, excerpt])).toStrictEqual([
          [500, "told 500"],
          [500, "told 500"]
        ])
        expect(all[0]?.attempts).toMatchObject([{ status: 204, at: expect.stringMatching(/Z$/) }])
        expect(yield* listed(() => true, "?status=parked")).toStrictEqual(all.slice(3))
        expect(yield* listed(() => true, "?status=due")).toStrictEqual([])

        const seen: Array<typeof Item.Type> = []
        let cursor: string | null = ""
        while (cursor !== null) {
          const page = pageOf(yield* tenant.get(`${DELIVERIES}?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`))
          expect(page.items.length).toBe(seen.length === 4 ? 1 : 2)
          seen.push(...page.items)
          cursor = page.next_cursor
        }
        expect(seen).toStrictEqual(all)
        const [first] = all
        const full = pageOf(yield* tenant.get(`${DELIVERIES}?status=delivered&limit=3`))
        expect([full.items[0], full.next_cursor]).toStrictEqual([first, null])

        const far = Buffer.from(JSON.stringify([1e300, "0".repeat(26)])).toString("base64url")
        const odd = Buffer.from(JSON.stringify([1, "\u0000"])).toString("base64url")
        for (const query of [
          "limit=0",
          "limit=101",
          "limit=-1",
          "limit=1.5",
          "limit=x",
          "limit=",
          "limit=1&limit=2",
          "status=gone",
          "status=",
          "status=due&status=parked",
          "cursor=",
          "cursor=x",
          "cursor=%00",
          `cursor=${far}`,
          `cursor=${odd}`,
          `cursor=${"x".repeat(300)}`
        ]) {
          expect(said(yield* tenant.get(`${DELIVERIES}?${query}`)), query).toMatchObject({
            status: 422,
            code: "validation_failed"
          })
        }
      })
    )

    it.effect("are sent again on request with the same bytes under the same id", () =>
      Effect.gen(function* () {
        const { gateway, hook, listed, paid, put, tenant } = yield* givenTenant(["payout.pending"])
        yield* put()
        hook.status = 503
        yield* paid
        const [parked] = yield* listed((items) => items.length === 1, "?status=parked")
        const path = `${DELIVERIES}/${parked?.id}/redeliver`
        const other = yield* keyOn(gateway, tenant.appId, "test")
        for (const foreign of [other, yield* tenantOn(gateway, 0n)]) {
          expect(said(yield* foreign.call("POST", path))).toMatchObject({ status: 404, code: "not_found" })
          expect(itemsOf(yield* foreign.get(DELIVERIES))).toStrictEqual([])
        }
        expect((yield* tenant.call("POST", `${DELIVERIES}/nothing/redeliver`)).status).toBe(404)
        expect((yield* tenant.call("POST", `${DELIVERIES}/${"0".repeat(26)}/redeliver`)).status).toBe(404)

        hook.status = 204
        const again = yield* tenant.call("POST", path)
        expect([again.status, again.body.data["id"]]).toStrictEqual([200, parked?.id])
        const [delivered] = yield* listed(allDelivered(1))
        expect(delivered?.attempts.map(({ status }) => status)).toStrictEqual([503, 503, 204])
        // What arrived can be asked for as well.
        yield* tenant.call("POST", path)
        yield* listed(([one]) => one?.status === "delivered" && one.attempts.length === 4)
        expect(new Set(hook.received.map(({ body }) => body)).size).toBe(1)
        expect(new Set(hook.received.map(({ headers }) => headers["webhook-id"]))).toStrictEqual(new Set([parked?.event_id]))
      })
    )

    it.effect("are recovered up to a moment, and of some types only", () =>
      Effect.gen(function* () {
        const { listed, paid, put, tenant } = yield* givenTenant(["payout.pending", "payout.successful"])
        const since = new Date(Date.now() - 1).toISOString()
        const first = yield* paid
        yield* tenant.until(`/v1/payouts/${first}`, ({ status }) => status === "successful")
        const second = yield* paid
        yield* put()
        const { items } = JSON.parse((yield* tenant.get(`/v1/events?reference=${second}`)).text).data
        const until = items[0].timestamp
        for (const [wish, path] of [
          [{ since, until: since }, "until"],
          [{ since, until: "soon" }, "until"],
          [{ since, types: [] }, "types"],
          [{ since, types: ["payout.paid"] }, "types.0"]
        ] as const)
          expect(said(yield* tenant.call("POST", RECOVER, wish))).toMatchObject({
            status: 422,
            code: "validation_failed",
            details: { issues: [{ path }] }
          })
        const recovered = yield* tenant.call("POST", RECOVER, { since, until, types: ["payout.successful", "payout.failed"] })
        expect(recovered.body.data).toStrictEqual({ deliveries: 1, resume_since: null })
        const told = yield* listed((all) =>
          all.some(({ event_type, reference }) => reference === first && event_type === "payout.successful")
        )
        expect(told.filter(({ reference }) => reference === first).map(({ event_type }) => event_type)).toEqual([
          "payout.successful"
        ])
      })
    )

    it.effect("of events without an endpoint are created by a recovery, in order and only once while they wait", () =>
      Effect.gen(function* () {
        const { gateway, hook, listed, paid, put, tenant } = yield* givenTenant()
        const since = new Date(Date.now() - 1).toISOString()
        const references: Array<string> = []
        for (let n = 0; n < 3; n++) {
          const reference = yield* paid
          yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
          references.push(reference)
        }
        expect(said(yield* tenant.call("POST", RECOVER, { since }))).toMatchObject({ status: 404 })
        yield* put({ enabled: false })
        expect(said(yield* tenant.call("POST", RECOVER, { since }))).toMatchObject({ status: 422, code: "validation_failed" })
        yield* put()
        expect(hook.received).toStrictEqual([])
        const recovered = yield* tenant.call("POST", RECOVER, { since, colour: 1 })
        expect(recovered.body.data).toStrictEqual({ deliveries: 3, resume_since: null })
        expect(recovered.headers.get("x-gateway-ignored")).toBe("colour")
        const items = yield* listed(allDelivered(3))
        expect(new Set(items.map(({ reference }) => reference))).toStrictEqual(new Set(references))
        expect(items.map(({ event_type }) => event_type)).toStrictEqual(Array(3).fill("payout.successful"))
        // What had arrived comes again under its own id; another tenant's events, and another mode's, do not.
        expect((yield* tenant.call("POST", RECOVER, { since })).body.data["deliveries"]).toBe(3)
        yield* listed(allDelivered(6))
        expect(new Set(hook.received.map(({ headers }) => headers["webhook-id"])).size).toBe(3)
        const stranger = yield* tenantOn(gateway, 0n)
        yield* stranger.call("PUT", ENDPOINT, { url: "https://stranger.example/" })
        expect((yield* stranger.call("POST", RECOVER, { since })).body.data["deliveries"]).toBe(0)
        // Nothing older than it was asked for.
        yield* age(tenant.appId, HOUR_MS)
        expect((yield* tenant.call("POST", RECOVER, { since })).body.data["deliveries"]).toBe(0)
      })
    )

    it.effect("cannot be recovered from a time that is malformed, in the future, or more than 30 days ago", () =>
      Effect.gen(function* () {
        const { put, tenant } = yield* givenTenant()
        yield* put()
        const ago = (ms: number) => new Date(Date.now() - ms).toISOString()
        const month = 30 * 24 * HOUR_MS
        const wrong = [undefined, null, 7, "", "yesterday", "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T10:00:00+03:00"]
        for (const since of [...wrong, ago(-60_000), ago(month + 60_000), "9999999999999"]) {
          const answer = yield* tenant.call("POST", RECOVER, { since })
          expect(said(answer), String(since)).toMatchObject({
            code: "validation_failed",
            details: { issues: [{ path: "since" }] }
          })
        }
        expect((yield* tenant.call("POST", RECOVER)).status).toBe(400)
        expect((yield* tenant.call("POST", RECOVER, { since: ago(month - 60_000) })).body.data["deliveries"]).toBe(0)
        expect((yield* tenant.call("POST", RECOVER, { since: "2026-01-01T00:00:00Z", mode: "test" })).status).toBe(400)
      })
    )

    it.effect("stop at an endpoint that answers 410 until it is enabled again", () =>
      Effect.gen(function* () {
        const { hook, listed, paid, put, tenant } = yield* givenTenant(["payout.pending"])
        yield* put()
        hook.status = 410
        yield* paid
        const [parked] = yield* listed((items) => items.length === 1, "?status=parked")
        expect(parked?.attempts.map(({ status }) => status)).toStrictEqual([410])
        expect((yield* tenant.get(ENDPOINT)).body.data).toMatchObject({ enabled: false, disabled_reason: "gone" })
        yield* paid
        expect(yield* listed(() => true)).toHaveLength(1)
        expect(said(yield* tenant.call("POST", `${DELIVERIES}/${parked?.id}/redeliver`))).toMatchObject({ status: 422 })
        hook.status = 204
        expect((yield* put()).body.data).toMatchObject({ enabled: true, disabled_reason: null })
        yield* tenant.call("POST", `${DELIVERIES}/${parked?.id}/redeliver`)
        yield* listed(allDelivered(1))
      })
    )
  })
})
