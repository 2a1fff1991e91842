import { expect, it } from "@effect/vitest"
import { Clock, Effect, Option, Redacted } from "effect"
import { describe } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { processMemory, type SharedMemory } from "../../../src/providers/SharedMemory.ts"
import { collectionsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder, newReference } from "../contract/Orders.ts"
import { answer, type Behaviour, type Seen, stub } from "../ProviderStub.ts"
import { kenya, open, settings } from "./Orders.ts"

const TOKEN = "GET /oauth/v1/generate"
const PULL = "POST /pulltransactions"
const CHARGE = "POST /mpesa/stkpush/v1/processrequest"

const count = (seen: ReadonlyArray<Seen>, beginning: string): number =>
  seen.filter(({ line }) => line.startsWith(beginning)).length

/** As Safaricom: each new token ends the one before it, and a token that has ended is a 404. */
const oneTokenAtATime = () => {
  let [given, newest] = [0, ""]
  const token: Behaviour = (response, seen) => {
    given += 1
    newest = `token-${given}`
    answer(200, { access_token: newest, expires_in: "3599" })(response, seen)
  }
  const guarded =
    (then: Behaviour): Behaviour =>
    (response, seen) =>
      seen.headers.authorization === `Bearer ${newest}`
        ? then(response, seen)
        : answer(404, { requestId: "1", errorCode: "404.001.03", errorMessage: "Invalid Access Token" })(response, seen)
  return { token, guarded, end: () => (newest = "another's") }
}

const nothingPaid = answer(200, { ResponseRefID: "1", ResponseCode: "1001", ResponseMessage: "none" })
const whole = { ...kenya, amount: minor(12_500n) }

describe("the token of an account that has one at a time", () => {
  it.live("is got once for all nodes, however many of them need it at once", () =>
    Effect.gen(function* () {
      const { guarded, token } = oneTokenAtATime()
      const server = yield* stub({ [TOKEN]: [token], [PULL]: [guarded(nothingPaid)] })
      const memory = processMemory()
      const nodes = yield* Effect.all(Array.from({ length: 4 }, () => open(settings(server.baseUrl), memory)))
      const asked = nodes.flatMap((node) =>
        Array.from({ length: 3 }, () => Effect.flatMap(askOrder(whole, newReference()), collectionsOf(node).fetchStatus))
      )
      const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
      expect(new Set(answers.map(({ _tag }) => _tag))).toEqual(new Set(["NotFound"]))
      expect(count(server.seen, TOKEN)).toBe(1)
    })
  )

  it.live("that another node has replaced is taken from it, and no prompt is sent twice", () =>
    Effect.gen(function* () {
      const { end, guarded, token } = oneTokenAtATime()
      const accepted = answer(200, { MerchantRequestID: "1", CheckoutRequestID: "ws_CO_1", ResponseCode: "0" })
      const server = yield* stub({ [TOKEN]: [token], [PULL]: [guarded(nothingPaid)], [CHARGE]: [guarded(accepted)] })
      const memory = processMemory()
      const [one, other] = yield* Effect.all([open(settings(server.baseUrl), memory), open(settings(server.baseUrl), memory)])
      const ask = (node: typeof one) => Effect.flatMap(askOrder(whole, newReference()), collectionsOf(node).fetchStatus)
      yield* ask(one)
      yield* ask(other)
      // A stranger with the same key has got a token, and the other node was the first to notice.
      end()
      yield* ask(other)
      expect(count(server.seen, TOKEN)).toBe(2)
      expect(yield* collectionsOf(one).charge(chargeOrder(whole, "1234"))).toMatchObject({
        _tag: "Accepted",
        providerReference: expect.any(String)
      })
      expect(count(server.seen, TOKEN)).toBe(2)
      const tried = server.seen.filter(({ line }) => line.startsWith(CHARGE)).map(({ headers }) => headers.authorization)
      expect(tried).toEqual(["Bearer token-1", "Bearer token-2"])
    })
  )

  it.live("is waited for no longer than a node that died over it could have taken", () =>
    Effect.gen(function* () {
      const { guarded, token } = oneTokenAtATime()
      const server = yield* stub({ [TOKEN]: [token], [PULL]: [guarded(nothingPaid)] })
      const memory = processMemory()
      const now = yield* Clock.currentTimeMillis
      yield* memory.claim("daraja key token lease", now + 300)
      const node = yield* open(settings(server.baseUrl), memory)
      const fetched = yield* Effect.flatMap(askOrder(whole, newReference()), collectionsOf(node).fetchStatus)
      expect(fetched._tag).toBe("NotFound")
      expect(count(server.seen, TOKEN)).toBe(1)
    })
  )

  it.live("is got under a lease that a node gives back only while it is its own", () =>
    Effect.gen(function* () {
      const memory = processMemory()
      const lease = "daraja key token lease"
      const token: Behaviour = (response, seen) => {
        const taken = Effect.flatMap(Clock.currentTimeMillis, (now) =>
          memory.put(lease, Redacted.make("another node's, after this one's ended"), now + 60_000)
        )
        void Effect.runPromise(taken).then(() => answer(200, { access_token: "t", expires_in: "3599" })(response, seen))
      }
      const server = yield* stub({ [TOKEN]: [token], [PULL]: [nothingPaid] })
      const node = yield* open(settings(server.baseUrl), memory)
      yield* Effect.flatMap(askOrder(whole, newReference()), collectionsOf(node).fetchStatus)
      expect(Option.isSome(yield* memory.get(lease))).toBe(true)
    })
  )

  it.live("that cannot be read where it is shared leaves nothing open: nothing was sent", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [TOKEN]: [answer(200, {})] })
      const broken: SharedMemory = { ...processMemory(), get: () => Effect.die(new Error("the database is down")) }
      const node = yield* open(settings(server.baseUrl), broken)
      expect(yield* collectionsOf(node).charge(chargeOrder(whole, "1234"))).toMatchObject({ _tag: "NotSent" })
      expect(server.seen).toEqual([])
    })
  )
})
