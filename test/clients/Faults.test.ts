import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { Gateway, isGatewayError, type Schema } from "../../clients/typescript/src/Gateway.ts"
import { type Fault, faults, faultyProxy } from "../support/FaultyProxy.ts"
import { executionsOf, Stack, tenantOn, verified } from "../support/Stack.ts"

const ENDINGS = ["1234", "0001", "0002", "0003", "0005"] as const

const payoutOf = (ending: string, recipient: number): Schema.CreatePayoutRequest => ({
  amount_minor: 1_000n,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: `25677${String(recipient).padStart(3, "0")}${ending}`, network: "MTN", country: "UG" },
  metadata: { order: 12345678901234567890n }
})

const setting = Effect.gen(function* () {
  const { gateway, simulator } = yield* Stack
  const tenant = yield* tenantOn(gateway, 1_000_000n)
  const { apiKey: api_key, appId: app_id, keyId: key_id, secret: signing_secret } = tenant.key
  const key = { app_id, key_id, api_key, signing_secret }
  const proxy = yield* faultyProxy(gateway.url)
  const retries = { pauseMs: 5, longestPauseMs: 50, attempts: 12, withinMs: 10_000 }
  const client = new Gateway({ url: proxy.url, key, retries })
  const direct = new Gateway({ url: gateway.url, key })
  return { gateway, simulator, proxy, client, direct, key }
})
type Setting = Effect.Success<typeof setting>

/** What the caller of one payout came to know. */
type Result = { readonly payout: Schema.Payout } | { readonly refused: string } | { readonly unknown: string }

const pay = async (client: Gateway, ending: string, recipient: number, key: string): Promise<Result> => {
  try {
    const payout = await client.payouts.create(payoutOf(ending, recipient), { idempotencyKey: key })
    return { payout: await client.payouts.waitFor(payout.reference, { pauseMs: 50 }) }
  } catch (error) {
    if (!isGatewayError(error)) throw error
    return error.class === "terminal" ? { refused: error.code } : { unknown: error.code }
  }
}

/** No more, so that a busy machine does not time out the provider's answers. */
const AT_ONCE = 4

interface Story {
  readonly ending: string
  readonly planned: ReadonlyArray<Fault>
  readonly index: number
}

const told = ({ client, direct, proxy }: Setting, { ending, index, planned }: Story) =>
  Effect.promise(async () => {
    const key = randomUUID()
    proxy.plan(key, ...planned)
    const result = await pay(client, ending, index, key)
    // What is not known is safe to send once more, with the same key.
    return { ending, key, planned, result: "unknown" in result ? await pay(direct, ending, index, key) : result }
  })

const made = async ({ direct }: Setting, key: string): Promise<ReadonlyArray<Schema.Transaction>> =>
  Array.fromAsync(direct.transactions.list({ idempotency_key: key }))

/** Asked again where a busy machine lets a question time out. */
const RECONCILER_SCHEDULE = "300ms,600ms,1s,2s,3s,5s,8s"

layer(Stack.layer({ RECONCILER_SCHEDULE }), { excludeTestServices: true })(
  "the TypeScript client, whatever happens on the way",
  (it) => {
    it.effect("executes each payout exactly once, and tells its caller what the gateway's record says", () =>
      Effect.gen(function* () {
        const all = yield* setting
        const story = fc.tuple(fc.constantFrom(...ENDINGS), fc.array(fc.constantFrom(...faults), { maxLength: 3 }))
        const stories = fc.sample(story, 16)
        const results = yield* Effect.forEach(stories, ([ending, planned], index) => told(all, { ending, planned, index }), {
          concurrency: AT_ONCE
        })
        for (const { ending, key, planned, result } of results) {
          const about = `${ending} ${planned.join(", ")}: ${JSON.stringify(Object.keys(result))}`
          const records = yield* Effect.promise(() => made(all, key))
          expect(records.length, about).toBe(1)
          const [record] = records
          const executions = yield* executionsOf(all.simulator, record?.reference ?? "")
          const succeeds = ending !== "0001" && ending !== "0002"
          expect(record?.status, about).toBe(succeeds ? "successful" : "failed")
          expect(executions.length, about).toBe(succeeds ? 1 : 0)
          if ("payout" in result) expect(result.payout, about).toStrictEqual(record)
          else expect([ending, result], about).toEqual(["0001", { refused: "payout_rejected_by_provider" }])
        }
        const paid = BigInt(results.filter(({ ending }) => ending !== "0001" && ending !== "0002").length)
        const [float] = yield* Effect.promise(() => all.direct.account.float())
        expect(float).toMatchObject({ reserved_minor: 0n, paid_out_minor: paid * 1_000n })
        expect(yield* verified(all.gateway)).toMatchObject({ ok: true })
      })
    )

    const each: ReadonlyArray<Fault> = faults
    for (const fault of each)
      it.effect(`sends the same bytes with the same key and a new nonce after: ${fault}`, () =>
        Effect.gen(function* () {
          const { client, proxy } = yield* setting
          proxy.plan("order-7", fault, fault)
          const payout = yield* Effect.promise(() => client.payouts.create(payoutOf("1234", 1), { idempotencyKey: "order-7" }))
          expect(payout).toMatchObject({ kind: "payout", amount_minor: 1_000n, metadata: { order: 12345678901234567890n } })
          const sent = proxy.requests.filter(({ key }) => key === "order-7")
          expect(new Set(sent.map(({ body }) => body)).size).toBe(1)
          expect(new Set(sent.map(({ nonce }) => nonce)).size).toBe(sent.length)
        })
      )

    it.effect("never sends a refused payout again", () =>
      Effect.gen(function* () {
        const { client, proxy } = yield* setting
        const body = { ...payoutOf("1234", 1), amount_minor: 2_000_000n }
        const error = yield* Effect.promise(() =>
          client.payouts.create(body, { idempotencyKey: "large" }).catch((error: unknown) => error)
        )
        if (!isGatewayError(error) || error.code !== "insufficient_tenant_float") throw error
        const shortfall: bigint = error.details.shortfall_minor
        expect([error.class, error.status, shortfall]).toStrictEqual(["terminal", 422, 1_001_000n])
        expect(proxy.requests.length).toBe(1)
      })
    )

    it.effect("walks a list to its end, page by page", () =>
      Effect.gen(function* () {
        const { client, proxy } = yield* setting
        for (const recipient of [1, 2, 3, 4, 5])
          yield* Effect.promise(() => client.payouts.create(payoutOf("1234", recipient), { idempotencyKey: `page-${recipient}` }))
        const before = proxy.requests.length
        const found = yield* Effect.promise(() => Array.fromAsync(client.transactions.list({ kind: "payout", limit: 2 })))
        expect(found.length).toBe(5)
        expect(new Set(found.map(({ id }) => id)).size).toBe(5)
        expect(proxy.requests.length - before).toBe(3)
        const one = client.transactions.list({ metadata: { order: "of nobody" } })
        expect(yield* Effect.promise(() => Array.fromAsync(one))).toEqual([])
      })
    )
  }
)
