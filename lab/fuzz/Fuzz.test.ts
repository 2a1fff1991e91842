import { describe, expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { it as plainly } from "vitest"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { everyoneRouted, pinned, providers, storyOf } from "../../test/support/EveryProvider.ts"
import { type Key, referenceOf } from "../../test/support/SignedClient.ts"
import { creditOn, everyOther, Stack, tenantOn } from "../../test/support/Stack.ts"
import { changesOf, readBooks } from "./Books.ts"
import { type Answer, type CallbackPath, choicesOf, type Target, type What } from "./Case.ts"
import { faultsOf } from "./Judge.ts"
import { play } from "./Play.ts"
import { rawCase } from "./Raw.ts"

// A short part of `npm run fuzz`, at a gateway in this process.

const SEED = 1
const unbounded = { RATE_LIMIT_READS: "off", RATE_LIMIT_MONEY: "off", RATE_LIMIT_DELIVERIES: "off" }
/** Those of the simulator's own accounts, which the forger of the other mode knows. */
const secrets = {
  EVERSEND_LIVE_WEBHOOK_SECRET: "simulated-live-webhook-secret",
  EVERSEND_TEST_WEBHOOK_SECRET: "simulated-test-webhook-secret"
}

const keyOf = ({ apiKey, appId, keyId, secret }: Key) => ({
  app_id: appId,
  key_id: keyId,
  api_key: apiKey,
  signing_secret: secret
})

const modes = ["live", "test"] as const

/** Of each provider, with a payout that it leaves open. */
const givenCallbacks = Effect.gen(function* () {
  const { gateway } = yield* Stack
  yield* everyoneRouted(gateway)
  const registry = Context.get(gateway.context, ProviderRegistry)
  const callbacks: Array<CallbackPath> = []
  for (const provider of providers) {
    const tenant = yield* pinned(gateway, provider)
    const { currency, payout } = storyOf(provider)
    yield* creditOn(gateway, tenant, 100_000n, currency)
    const pending = [referenceOf(yield* tenant.post("/v1/payouts", payout("0010")))]
    for (const mode of modes)
      callbacks.push({ provider, mode, path: `/webhooks/${provider}/${registry.routeKey(provider, mode)}`, pending })
  }
  return callbacks
})

const givenTarget = Effect.fnUntraced(function* (callbacks: ReadonlyArray<CallbackPath>) {
  const { gateway } = yield* Stack
  const victim = yield* tenantOn(gateway, 1_000_000n)
  const spender = yield* tenantOn(gateway, 1_000_000_000n)
  const unauthorized = yield* Effect.promise(async () => (await fetch(`${gateway.url}/v1/float`)).text())
  const target: Target = {
    port: Number(new URL(gateway.url).port),
    unauthorized,
    victim: keyOf(victim.key),
    spender: keyOf(spender.key),
    callbacks
  }
  return target
})

describe("a fuzzed gateway", () => {
  layer(Stack.layer({ ...unbounded, ...secrets }, { beside: everyOther }), { excludeTestServices: true })((it) => {
    const played = Effect.fnUntraced(function* (what: What, requests: number) {
      const { database } = yield* Stack
      const target = yield* givenTarget(what === "callbacks" ? yield* givenCallbacks : [])
      const books = Effect.promise(() => readBooks(Redacted.value(database)))
      const before = yield* books
      const { counts, failures } = yield* Effect.promise(() => play(target, { what, seed: SEED, from: 0, requests }))
      expect(failures).toEqual([])
      expect(counts).toMatchObject({ found: 0 })
      expect(counts.requests).toBeGreaterThanOrEqual(requests)
      return { counts, changes: changesOf(before, yield* books) }
    })

    it.effect("answers any bytes on a socket with whole answers or closes the connection, and moves nothing", () =>
      Effect.map(played("raw", 250), ({ changes, counts }) => {
        expect(changes).toEqual([])
        expect(counts.statuses).toMatchObject({ 200: expect.any(Number), 400: expect.any(Number), 401: expect.any(Number) })
      })
    )

    it.effect("refuses every request whose signature is wrong in some way, and moves nothing", () =>
      Effect.map(played("signed", 200), ({ changes, counts }) => {
        expect(changes).toEqual([])
        expect(Object.keys(counts.statuses)).toEqual(["200", "401"])
      })
    )

    it.effect("refuses forged callbacks of every provider, and moves nothing", () =>
      Effect.map(played("callbacks", 30 * providers.length), ({ changes, counts }) => {
        expect(changes).toEqual([])
        expect(counts.of).toEqual(Object.fromEntries(providers.map((provider) => [provider, 30])))
      })
    )

    it.effect("answers whatever a tenant signs as it is described, and with no fault of its own", () =>
      Effect.map(played("json", 800), ({ counts }) => {
        expect(counts.statuses).toMatchObject({ 200: expect.any(Number), 201: expect.any(Number), 422: expect.any(Number) })
      })
    )
  })
})

describe("the judge of a fuzz run", () => {
  const headers = {
    "content-type": "application/json",
    "x-request-id": "a",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store"
  }
  const refusal = (status: number, code = "internal_error") => {
    const error = { code, message: "", terminal: true, retriable: false, ambiguous: false, details: {} }
    return JSON.stringify({ code: status, message: "", error })
  }
  const judged = (answer: Partial<Answer> & Pick<Answer, "status" | "text">, method = "GET", target = "/v1/float") =>
    faultsOf(
      { pieces: [], asked: [{ method, target, sent: "" }], whole: true },
      { answers: [{ headers, bytes: answer.text.length, ...answer }], ms: 1 }
    ).length

  plainly("finds a 500, a 503 where none is declared, a large answer, a wrong envelope and a missing header", () => {
    expect(judged({ status: 401, text: "" })).toBe(0)
    expect(judged({ status: 500, text: refusal(500) })).toBeGreaterThan(0)
    expect(judged({ status: 503, text: refusal(503, "provider_error") })).toBeGreaterThan(0)
    expect(judged({ status: 401, text: "", bytes: 17_000 })).toBe(1)
    expect(judged({ status: 404, text: "<html>" })).toBeGreaterThan(0)
    expect(judged({ status: 404, text: refusal(403) })).toBeGreaterThan(0)
    expect(judged({ status: 401, text: "", headers: { ...headers, "x-content-type-options": "" } })).toBe(1)
  })

  plainly("finds what the case itself says of the answer, and what came of the connection", () => {
    const asked = [{ method: "GET", target: "/v1/float", sent: "", fault: () => "not this" }]
    const answers = [{ status: 401, headers, text: "", bytes: 1 }]
    expect(faultsOf({ pieces: [], asked, whole: true }, { answers, ms: 1 })).toEqual(["GET /v1/float: not this"])
    expect(faultsOf({ pieces: [], asked, whole: true }, { answers: [], ms: 1, fault: "closed" })).toEqual(["closed"])
  })

  plainly("plays the same case for the same seed and number, and another for others", () => {
    const target = { port: 1, unauthorized: "", victim: keyOf(NOBODY), spender: keyOf(NOBODY), callbacks: [] }
    const bytes = (seed: number, index: number) =>
      Buffer.concat(rawCase(choicesOf(seed, "raw", index), target).pieces).toString("hex")
    expect(bytes(1, 7)).toBe(bytes(1, 7))
    expect(bytes(1, 8)).not.toBe(bytes(1, 7))
    expect(bytes(2, 7)).not.toBe(bytes(1, 7))
  })
})

const NOBODY: Key = { appId: "a", keyId: "k", apiKey: "ak", secret: "s" }
