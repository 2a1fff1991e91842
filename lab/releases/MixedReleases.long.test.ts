import { rm } from "node:fs/promises"
import { afterAll, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Redacted } from "effect"
import { Webhook } from "standardwebhooks"
import { defaultSubscription } from "../../src/domain/Event.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { EndpointName } from "../../src/domain/WebhookEndpoint.ts"
import { Database } from "../../src/persistence/Database.ts"
import { functionFiles } from "../../src/persistence/schema/FunctionFiles.ts"
import { isOfBase, type SteppedMigration } from "../../src/persistence/schema/Migration.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { type Running, startSimulator } from "../../test/simulator/eversend/SimulatorFixture.ts"
import { authorize, demandCodes, RIGHT, waiting, wrapped } from "../../test/support/OtpRequests.ts"
import { asRuntime, freshDatabase } from "../../test/support/Postgres.ts"
import { bankPayout, momoCharge, momoPayout } from "../../test/support/RequestBodies.ts"
import { type Address, type Answer, client, eventually, referenceOf } from "../../test/support/SignedClient.ts"
import {
  asOwner,
  executionsOf,
  type Gateway,
  givenStack,
  keyOn,
  nodeVariables,
  tenantOn,
  verified,
  webhooksOf
} from "../../test/support/Stack.ts"
import { type Key, send } from "../chaos/Client.ts"
import { ofNextRelease } from "./NextRelease.ts"
import { buildReleaseBefore, commandFrom, isReleaseBeforeHere, type Release, serveFrom, unknownTo } from "./ReleaseBefore.ts"

const PAYOUTS = "/v1/payouts"
const CHARGES = "/v1/collections"
/** Of the stories below, in ways that all of them leave room for. */
const FLOAT = 10_000_000n
/** They go on beside what the story looks at, and leave it the processor. */
const BETWEEN_PAYOUTS = "100 millis"
/** On a machine that does much else; alone it takes some seconds. */
const WITHIN_MS = 240_000
const PATIENT = { PROVIDER_TIMEOUT_MS: "15000" }

/** The members of answers and events that the release before does not have. */
const POSITION = ["credited_minor", "debited_minor", "fx_in_minor", "fx_out_minor", "returned_minor", "owed_minor"]
const NEWER = [
  "endpoint",
  "reversed",
  "version",
  "holder",
  "branch_code",
  "refunded_minor",
  "refund_of",
  "provider_receipt",
  "updated_at",
  ...POSITION
]

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>
interface Side {
  readonly address: Address
  readonly tenant: ReturnType<typeof client>
}

/** The bytes that both releases answer: without the members that the release before does not have. */
const sharedText = ({ text }: Answer): string =>
  NEWER.reduce((rest, member) => rest.replaceAll(new RegExp(`"${member}":(?:null|\\{[^{}]*\\}|[^,{}]+),?`, "g"), ""), text)

const headersOf = (headers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

const isReplay = ({ headers }: Answer) => headers.get("idempotency-replayed") === "true"

/** Where the provider calls back. */
const calledBackAt = ({ context }: Gateway, simulator: Running, { url }: Address) =>
  Effect.forEach(["simulator", "other"], (client_id, at) => {
    const key = Context.get(context, ProviderRegistry).routeKey("eversend", at === 0 ? "live" : "test")
    const wish = { provider: "eversend", client_id, url: `${url}/webhooks/eversend/${key}` }
    return Effect.promise(() => simulator.control("POST", "/callbacks", wish))
  })

/** Payouts on both in turn, until it is interrupted; every answer is kept. Those of a turn meet on one node, whose batches they share. */
const payingOn = (sides: ReadonlyArray<Side>, answers: Array<Answer>) =>
  Effect.gen(function* () {
    for (let turn = 0; ; turn++) {
      const side = sides[turn % sides.length]
      if (side === undefined) return
      const posts = [5_000, 5_500].map((first) => side.tenant.post(PAYOUTS, momoPayout(String(first + (turn % 500)))))
      answers.push(...(yield* Effect.all(posts, { concurrency: "unbounded" })))
      yield* Effect.sleep(BETWEEN_PAYOUTS)
    }
  })

/** What is begun on one is found, repeated, settled and told on the other. */
const inTurn = Effect.fnUntraced(function* (one: Side, other: Side, simulator: Running) {
  // One that the provider never calls back about: whichever node asks first finds out.
  const silent = referenceOf(yield* one.tenant.post(PAYOUTS, momoPayout("0008")))
  const key = `key-${Math.random()}`
  const first = yield* one.tenant.post(PAYOUTS, momoPayout("1234"), key)
  expect(first.status).toBe(201)
  const again = yield* other.tenant.post(PAYOUTS, momoPayout("1234"), key)
  expect([again.text, isReplay(again)]).toStrictEqual([first.text, true])
  const reused = yield* other.tenant.post(PAYOUTS, momoPayout("4321"), key)
  expect(reused.body.error?.["code"]).toBe("idempotency_key_reused")
  // Cleaned by one release and not by the other, the same bytes are the same request.
  const untidy = bankPayout("1234", { destination: { ...bankPayout("1234").destination, account_name: " Jose\u0301 Doe " } })
  const said = yield* one.tenant.post(PAYOUTS, untidy, `${key}-untidy`)
  expect((yield* other.tenant.post(PAYOUTS, untidy, `${key}-untidy`)).text).toStrictEqual(said.text)
  const reference = referenceOf(first)
  yield* other.tenant.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
  const read = ({ tenant }: Side) => Effect.map(tenant.get(`${PAYOUTS}/${reference}`), sharedText)
  expect(yield* read(one)).toBe(yield* read(other))
  expect(yield* executionsOf(simulator, reference)).toHaveLength(1)

  const charge = referenceOf(yield* one.tenant.post(CHARGES, momoCharge(String(6_000 + Math.floor(Math.random() * 1_000)))))
  yield* other.tenant.until(`${CHARGES}/${charge}`, ({ status }) => status === "successful")
  const quoted = yield* one.tenant.post("/v1/fx/quote", {
    source_currency: "UGX",
    destination_currency: "KES",
    source_amount_minor: 50_000
  })
  const exchanged = yield* other.tenant.post("/v1/fx/exchange", { quote_id: quoted.body.data["quote_id"] })
  expect(exchanged.status).toBe(201)
  yield* one.tenant.until(`/v1/fx/exchanges/${referenceOf(exchanged)}`, ({ status }) => status === "successful")
  yield* other.tenant.until(`${PAYOUTS}/${silent}`, ({ status }) => status === "successful")
  const [saved] = JSON.parse((yield* one.tenant.get("/v1/beneficiaries?limit=1")).text).data.items
  expect((yield* other.tenant.get(`/v1/beneficiaries/${saved.id}`)).status).toBe(200)
  return [reference, charge, silent]
})

/** One for both stories. The short commands of the first leave compiled what the node of the second loads. */
const release = (() => {
  let made: Release | undefined
  afterAll(() => made?.remove())
  return () => (made ??= buildReleaseBefore())
})()

/** What follows it, the last functions among them, is not brought in. */
const broken: SteppedMigration = { name: "9999_broken", steps: [{ form: "transaction", sql: "SELECT 1 / 0" }] }

it.live.skipIf(!isReleaseBeforeHere)(
  "a node of the release before pays after each migration of this one, and not only after all of them",
  () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.promise(() => freshDatabase())
      const simulator = yield* Effect.acquireRelease(
        Effect.promise(() => startSimulator()),
        (running) => Effect.promise(() => running.stop().then(() => rm(running.dataDir, { recursive: true, force: true })))
      )
      const variables = nodeVariables(Redacted.make(url), simulator.eversendBaseUrl, PATIENT)
      const command = (line: string) => Effect.promise(() => commandFrom(release().folder, variables, line.split(" ")))
      yield* command("migrate")
      yield* command("tenant create shop")
      const key: Key = JSON.parse(yield* command("key issue shop --mode live"))
      yield* command("float credit shop --mode live --currency UGX --amount-minor 10000000 --note given --external-id given")
      const node = yield* Effect.acquireRelease(
        Effect.promise(() => serveFrom(release().folder, variables)),
        ({ stop }) => Effect.promise(stop)
      )
      const asked = (method: string, target: string, body?: object) =>
        Effect.promise(() => send(node, key, { method, target, ...(body && { body, idempotencyKey: JSON.stringify(body) }) }))
      const database = Database.layer({ url: Redacted.make(url) })
      for (const [at, migration] of Migrations.all.entries()) {
        if (isOfBase(migration)) continue
        const upTo = [...Migrations.all.slice(0, at + 1), broken]
        yield* Effect.flip(Effect.provide(Migrations.apply(upTo, functionFiles), database))
        const answer = yield* asked("POST", "/v1/payouts", momoPayout(String(5_000 + at)))
        expect([migration.name, answer?.status, answer?.body]).toStrictEqual([migration.name, 201, answer?.body])
        const target = `/v1/payouts/${answer?.body.data?.["reference"]}`
        yield* eventually(asked("GET", target), (found) => found?.body.data?.["status"] === "successful")
      }
    }),
  WITHIN_MS
)

it.live.skipIf(!isReleaseBeforeHere)(
  "the release before and this one work beside each other, on a schema that is newer than both, while payouts go on",
  () =>
    Effect.gen(function* () {
      const { database, gateway, simulator } = yield* givenStack(PATIENT)
      const variables = nodeVariables(asRuntime(database), simulator.eversendBaseUrl, PATIENT)
      const node = yield* Effect.acquireRelease(
        Effect.promise(() => serveFrom(release().folder, variables)),
        ({ stop }) => Effect.promise(stop)
      )
      const tenant: Tenant = yield* tenantOn(gateway, FLOAT)
      const webhooks = yield* webhooksOf(gateway, { ...tenant, newer: NEWER }, [...defaultSubscription, "collection.updated"])
      // Another endpoint, of which the release before knows nothing.
      const erp = yield* webhooksOf(gateway, { ...tenant, newer: NEWER, endpoint: EndpointName.make("erp") })
      // Also what the release before stored is answered by this one.
      const now: Side = { address: gateway, tenant: client(gateway, tenant.key, NEWER) }
      const before: Side = { address: node, tenant: client(node, tenant.key, NEWER) }

      const answers: Array<Answer> = []
      const paying = yield* Effect.forkScoped(payingOn([now, before], answers))
      yield* Migrations.apply([...Migrations.all, ofNextRelease]).pipe(Effect.provide(Database.layer({ url: database })))
      yield* calledBackAt(gateway, simulator, node)
      const told = yield* inTurn(now, before, simulator)
      yield* calledBackAt(gateway, simulator, gateway)
      told.push(...(yield* inTurn(before, now, simulator)))

      // An event of a type that the release before does not know: whoever delivers it, that release reads the endpoint and its deliveries, and
      // an endpoint that it sets gets the default of this one.
      const doubtful = Reference.make(referenceOf(yield* tenant.post(CHARGES, momoCharge("0010"))))
      const fact: Fact = { _tag: "Mismatched", note: "they name another payer" }
      yield* Context.get(gateway.context, Settlement).apply({ reference: doubtful, fact, actor: "callback" })
      yield* eventually(webhooks.count(1), (all) => all.some(({ body }) => body.includes("collection.updated")))
      const endpoint = yield* before.tenant.get("/v1/webhooks/endpoint")
      expect([endpoint.status, endpoint.text.includes("collection.expired")]).toStrictEqual([200, true])
      expect((yield* before.tenant.get("/v1/webhooks/deliveries?limit=20")).status).toBe(200)
      expect((yield* before.tenant.call("PUT", "/v1/webhooks/endpoint", { url: webhooks.url })).status).toBe(200)
      expect((yield* tenant.get("/v1/webhooks/endpoint")).text).toContain("payout.corrected")

      // A member that a newer release wrote, on a record that the release before then changes.
      const owner = yield* asOwner(database)
      yield* demandCodes(gateway, "UG")
      const { pinId, reference } = yield* waiting(tenant, "1111")
      yield* owner`UPDATE transactions SET record = (record::jsonb || '{"batch": "7"}')::json WHERE reference = ${reference}`
      expect((yield* authorize(before.tenant, reference, wrapped(pinId, RIGHT, "1111"))).status).toBe(200)
      yield* before.tenant.until(`${CHARGES}/${reference}`, ({ status }) => status === "successful")
      const stored =
        yield* owner`SELECT record ->> 'batch' AS batch, record ->> 'status' AS status FROM transactions WHERE reference = ${reference}`
      expect(stored).toStrictEqual([{ batch: "7", status: "successful" }])

      // A key that only reads, or that is held to networks, is none at the release before, which knows neither.
      const reader = yield* keyOn(gateway, tenant.appId, "live", { role: "reader" })
      const held = yield* keyOn(gateway, tenant.appId, "live", { addresses: ["127.0.0.1"] })
      for (const { key } of [reader, held]) {
        expect((yield* client(gateway, key, NEWER).get("/v1/float")).status).toBe(200)
        expect((yield* client(node, key, NEWER).get("/v1/float")).status).toBe(401)
      }
      expect((yield* before.tenant.get("/v1/float")).status).toBe(200)

      // A failure that the provider may correct: the release before does not know that it is asked about again, and its own question ends nothing.
      const failed = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("0002")))
      yield* tenant.until(`${PAYOUTS}/${failed}`, ({ status }) => status === "failed")
      const askedInDoubt = Effect.gen(function* () {
        yield* owner`UPDATE transactions SET record = (record::jsonb || '{"doubtedSince": 1}')::json WHERE reference = ${failed}`
        const asked = yield* Effect.promise(() => commandFrom(release().folder, variables, ["transaction", "ask", failed]))
        expect(asked).toContain(`"${failed}"`)
        return yield* owner`SELECT next_poll_at > now() AS "isDue" FROM open_work WHERE reference = ${failed}`
      })
      // The provider's callback may come in between: this release is sure by its answer, and ends the doubt.
      yield* eventually(askedInDoubt, ([row]) => row?.["isDue"] === true)

      yield* Fiber.interrupt(paying)
      expect(answers.length).toBeGreaterThan(20)
      expect(answers.filter(({ status }) => status !== 201).map(({ text }) => text)).toStrictEqual([])
      const status = yield* Effect.promise(() => commandFrom(release().folder, variables, ["status"]))
      const newer = unknownTo(
        release(),
        [...Migrations.all, ofNextRelease].map(({ name }) => name)
      )
      expect(JSON.parse(status).schema).toStrictEqual({ newer_than_this_program: newer, under_way: [] })
      yield* eventually(webhooks.count(told.length), (all) =>
        told.every((reference) => all.some(({ body }) => body.includes(reference)))
      )
      // Whichever release wrote the event: it is delivered to the other endpoint, too, with its own secret, and by no node of the release before.
      yield* eventually(erp.count(told.length), (all) =>
        told.every((reference) => all.some(({ body }) => body.includes(reference)))
      )
      for (const { received, secret } of [webhooks, erp])
        for (const { body, headers } of received) expect(() => new Webhook(secret).verify(body, headersOf(headers))).not.toThrow()
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      expect(yield* Effect.promise(node.stop)).toBe(0)
    }),
  WITHIN_MS
)
