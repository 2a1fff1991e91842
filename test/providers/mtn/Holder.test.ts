import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { reader } from "../../../src/ConfigRules.ts"
import { countingHere } from "../../../src/persistence/requests/RateLimitsMemory.ts"
import { mtn } from "../../../src/providers/mtn/Adapter.ts"
import type { HolderCheck } from "../../../src/providers/mtn/Client.ts"
import { mtnProvider } from "../../../src/providers/mtn/Settings.ts"
import { type Pace, PaceBuckets, PaceOf } from "../../../src/providers/Pace.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { BankAccounts } from "../../../src/services/reference/BankAccounts.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { guardedProviders } from "../../../src/services/routing/GuardedProviders.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeSharedLateCalls } from "../../fakes/FakePorts.ts"
import { payoutsOf } from "../contract/Fixture.ts"
import { answer, type Behaviour, silence, stub } from "../ProviderStub.ts"
import { ghana, open, payout, settings } from "./Orders.ts"

const PAY_TOKEN = "POST /disbursement/token/"
const TRANSFER = "POST /disbursement/v1_0/transfer"
const ACTIVE = "GET /disbursement/v1_0/accountholder/msisdn/256700001234/active"
const INFO = "GET /disbursement/v1_0/accountholder/msisdn/256700001234/basicuserinfo"
const ANYBODY = "GET /disbursement/v1_0/accountholder/"
const BALANCE = "/v1_0/account/balance"

const token = answer(200, { access_token: "pay-token", token_type: "access_token", expires_in: 3600 })
const active = answer(200, { result: true })
const jane = answer(200, { sub: "0", name: "JANE DOE", birthdate: "1990-04-02" })
const notFound = answer(404, { code: "RESOURCE_NOT_FOUND", message: "Requested resource was not found." })
const unavailable = answer(503, { code: "SERVICE_UNAVAILABLE", message: "try again" })
const refusedBy = (code: string) => answer(500, { code, message: "no" })
/** Of whichever country is asked. */
const balance: Behaviour = (response, seen) => {
  const currency = seen.headers["x-target-environment"] === "mtnghana" ? "GHS" : "UGX"
  answer(200, { availableBalance: "1000", currency })(response, seen)
}
const unauthorized = answer(401, { statusCode: 401, message: "Access denied due to invalid subscription key." })

type Wire = Readonly<Record<string, ReadonlyArray<Behaviour>>>
const wire = (behaviours: Wire) =>
  stub({
    [PAY_TOKEN]: [token],
    "POST /collection/token/": [token],
    [TRANSFER]: [(response) => void response.writeHead(202).end()],
    ...behaviours
  })

const momoOf = ({ destination }: ReturnType<typeof payout>) =>
  destination._tag === "momo" ? destination : expect.fail("the recipient has mobile money")
const recipient = momoOf(payout())

describe("whose account a recipient's number is", () => {
  const told = (behaviours: Wire, holderCheck: HolderCheck = "name") =>
    Effect.gen(function* () {
      const server = yield* wire(behaviours)
      const { holder } = payoutsOf(yield* open(server.baseUrl, { holderCheck }))
      const said = holder === undefined ? "not asked" : yield* Effect.result(holder(recipient))
      const asked = server.seen.map(({ line }) => line).filter((line) => line.startsWith("GET"))
      if (typeof said === "string") return { said, asked }
      if (said._tag === "Failure") return { said: said.failure._tag, asked }
      return { said: said.success === "inactive" ? "inactive" : said.success.name && Redacted.value(said.success.name), asked }
    })

  it.effect("is told with its name; nobody is paid by a number that MTN says is not active (38.14)", () =>
    Effect.gen(function* () {
      expect(yield* told({ [ACTIVE]: [active], [INFO]: [jane] })).toStrictEqual({ said: "JANE DOE", asked: [ACTIVE, INFO] })
      const parts = answer(200, { given_name: "Jane", family_name: "Doe", name: null })
      expect(yield* told({ [ACTIVE]: [active], [INFO]: [parts] })).toMatchObject({ said: "Jane Doe" })
      const inactive = { [ACTIVE]: [answer(200, { result: false })], [INFO]: [jane] }
      expect(yield* told(inactive)).toStrictEqual({ said: "inactive", asked: [ACTIVE] })
    })
  )

  it.effect("is not known where MTN does not say it, which refuses nobody", () =>
    Effect.gen(function* () {
      for (const nothing of [answer(200, {}), answer(200, { name: " " }), notFound, answer(403, { statusCode: 403 })])
        expect(yield* told({ [ACTIVE]: [active], [INFO]: [nothing] })).toMatchObject({ said: null })
      expect(yield* told({ [ACTIVE]: [notFound], [INFO]: [notFound] })).toMatchObject({ said: null })
      expect(yield* told({ [ACTIVE]: [unavailable], [INFO]: [jane] })).toMatchObject({ said: "provider_error" })
      expect(yield* told({ [ACTIVE]: [active], [INFO]: [unavailable] })).toMatchObject({ said: "provider_error" })
      expect(yield* told({ [ACTIVE]: [answer(200, { result: "no" })], [INFO]: [jane] })).toMatchObject({ said: "provider_error" })
    })
  )

  it.effect("is asked for as far as the account is set to", () =>
    Effect.gen(function* () {
      expect(yield* told({ [ACTIVE]: [active], [INFO]: [jane] }, "active")).toStrictEqual({ said: null, asked: [ACTIVE] })
      expect(yield* told({}, "off")).toStrictEqual({ said: "not asked", asked: [] })
    })
  )

  // Issue 38, line 14: MTN refuses with HTTP 500, too, and then the code decides.
  it.effect.each(["NOT_ALLOWED", "NOT_ALLOWED_TARGET_ENVIRONMENT", "INVALID_CALLBACK_URL_HOST", "INVALID_CURRENCY"])(
    "is told by what the market has, where it refuses the other question with 500 %s",
    (code) =>
      Effect.gen(function* () {
        expect(yield* told({ [ACTIVE]: [refusedBy(code)], [INFO]: [jane] })).toMatchObject({ said: "JANE DOE" })
        expect(yield* told({ [ACTIVE]: [active], [INFO]: [refusedBy(code)] })).toMatchObject({ said: null })
      })
  )

  it.effect("cannot be read after a 401 or a 500 of a server that fails", () =>
    Effect.gen(function* () {
      for (const failed of [unauthorized, answer(401, { code: "NOT_ALLOWED" }), refusedBy("INTERNAL_PROCESSING_ERROR")])
        expect(yield* told({ [ACTIVE]: [failed], [INFO]: [jane] })).toMatchObject({ said: "provider_error", asked: [ACTIVE] })
    })
  )
})

/** MTN's account as a gateway has it: its pace, then its circuits, then what a payout asks. */
const guarded = Effect.fnUntraced(function* (behaviours: Wire, pace: Pace | null = null) {
  const server = yield* wire(behaviours)
  const account = pace && ({ provider: "mtn", mode: "live", turn: "current", pace } as const)
  const adapter = yield* mtn(settings(server.baseUrl), "live").pipe(
    Effect.provideService(PaceOf, account),
    Effect.provideService(PaceBuckets, countingHere())
  )
  const provider = { ...adapter, fingerprints: () => ["one"] }
  const registry = Layer.succeed(ProviderRegistry, {
    known: ["mtn"],
    find: () => Option.some(provider),
    accounts: () => [provider],
    claimed: () => [],
    byRouteKey: () => Option.none(),
    routeKey: () => "",
    keptRouteKeys: () => []
  })
  const node = yield* Layer.build(
    Layer.merge(BankAccounts.layer, Layer.provide(guardedProviders, registry)).pipe(
      Layer.provideMerge(Circuits.layer),
      Layer.provide([fakePolicy(), fakeSharedLateCalls])
    )
  )
  const { accounts, circuits, mtnNow } = yield* Effect.gen(function* () {
    const registered = yield* ProviderRegistry
    return {
      accounts: yield* BankAccounts,
      circuits: yield* Circuits,
      mtnNow: Option.getOrThrow(registered.find("mtn", "live"))
    }
  }).pipe(Effect.provideContext(node))
  const payouts = payoutsOf(mtnNow)
  const look = (to = recipient) => Effect.map(accounts.mobileHolder(payouts, to), (holder) => holder?.maskedName ?? null)
  const isOpen = (operation: "holder" | "reads" | "send") => circuits.isOpen({ provider: "mtn", mode: "live", operation })
  const asked = (beginning: string) => server.seen.filter(({ line }) => line.startsWith(beginning)).length
  return { server, mtnNow, payouts, look, isOpen, asked }
})

const times = <A, E, R>(count: number, look: Effect.Effect<A, E, R>) => Effect.forEach(Array.from({ length: count }), () => look)

/** The pace that an account of MTN's has where none is set. */
const standardPace = () => {
  const mistakes: Array<string> = []
  const account = {
    MTN_BASE_URL: "https://proxy.example",
    MTN_PAYOUT_FEES: "UGX:momo:1000",
    MTN_COLLECTION_FEE: "1%",
    MTN_LIVE_USER_ID: "UG:user",
    MTN_LIVE_API_KEY: "UG:key",
    MTN_LIVE_COLLECTION_KEY: "UG:collection",
    MTN_LIVE_DISBURSEMENT_KEY: "UG:disbursement"
  }
  const bounds = { timeoutMs: 10_000, refuseLoopback: false, refuseRemote: false }
  const accounts = mtnProvider.configured(reader(account, mistakes), mistakes, bounds)
  const pace = accounts && mtnProvider.accountsOf(accounts)[0]?.pace
  return pace ?? expect.fail(`no account: ${mistakes.join(", ")}`)
}

/** As many failures in a row as open a circuit, by the settings of the tests. */
const FAILURES = 20

// Issue 38, line 14.
describe("the question whose a number is, behind its circuit and the account's pace", () => {
  it.effect("has its answer at the pace that an account has where none is set, and what is turned away is no failure", () =>
    Effect.gen(function* () {
      const { asked, isOpen, look, mtnNow, payouts } = yield* guarded({ [ACTIVE]: [active], [INFO]: [jane] }, standardPace())
      expect(yield* look()).toBe("J••• D••")
      // Nobody waits for it, and it takes nothing of what money calls have.
      expect(yield* times(FAILURES + 5, look())).toStrictEqual(Array(FAILURES + 5).fill(null))
      expect([asked(ACTIVE), asked(INFO), yield* isOpen("holder")]).toStrictEqual([1, 1, false])
      expect(yield* mtnNow.moneyHeldMs?.("UG") ?? Effect.succeed(-1)).toBe(0)
      expect(yield* payouts.send(payout())).toMatchObject({ _tag: "Accepted" })
      yield* TestClock.adjust("4 seconds")
      expect(yield* look()).toBe("J••• D••")
    })
  )

  it.effect("is put once an hour to a market that refuses it, and to every other market", () =>
    Effect.gen(function* () {
      const inGhana = momoOf(payout({}, ghana))
      const ofProduct = answer(403, { code: "NOT_ALLOWED", message: "no" })
      for (const refused of [
        refusedBy("NOT_ALLOWED"),
        ofProduct,
        answer(404, { statusCode: 404 }),
        answer(405, { statusCode: 405 })
      ]) {
        const { asked, isOpen, look } = yield* guarded({ [ANYBODY]: [refused] })
        expect(yield* times(FAILURES + 5, look())).toStrictEqual(Array(FAILURES + 5).fill(null))
        expect([asked(ACTIVE), asked(INFO), yield* isOpen("holder")]).toStrictEqual([1, 1, false])
        yield* look(inGhana)
        expect(asked(ANYBODY)).toBe(4)
        yield* TestClock.adjust("59 minutes")
        yield* look()
        expect(asked(ANYBODY)).toBe(4)
        yield* TestClock.adjust("1 minute")
        yield* look()
        expect(asked(ANYBODY)).toBe(6)
      }
    })
  )

  it.effect("is put for other numbers after one was forbidden, and once an hour after several different ones were (38)", () =>
    Effect.gen(function* () {
      const forbidden = answer(403, { statusCode: 403, message: "Forbidden" })
      const others = ["256700001235", "256700001236", "256700001237"].map((digits) => ({
        ...recipient,
        msisdn: Redacted.make(`+${digits}`)
      }))
      const one = yield* guarded({ [ACTIVE]: [forbidden], [INFO]: [forbidden], [ANYBODY]: [active] })
      // However often it is the same number.
      expect(yield* times(FAILURES + 5, one.look())).toStrictEqual(Array(FAILURES + 5).fill(null))
      expect([one.asked(ACTIVE), yield* one.isOpen("holder")]).toStrictEqual([FAILURES + 5, false])
      const before = one.asked(ANYBODY)
      yield* Effect.forEach(others, one.look)
      expect(one.asked(ANYBODY)).toBe(before + 2 * others.length)
      // Three different ones in a row: nobody's number is asked for.
      const all = yield* guarded({ [ANYBODY]: [forbidden] })
      yield* Effect.forEach([recipient, ...others, recipient], all.look)
      expect([all.asked(ANYBODY), yield* all.isOpen("holder")]).toStrictEqual([6, false])
      yield* TestClock.adjust("1 hour")
      yield* all.look()
      expect(all.asked(ANYBODY)).toBe(8)
    })
  )

  it.effect("forgets forbidden numbers once another one is answered (38)", () =>
    Effect.gen(function* () {
      const forbidden = answer(403, { statusCode: 403 })
      const numbers = ["256700001231", "256700001232", "256700001233", "256700001234", "256700001235"]
      const path = (digits: string) => `GET /disbursement/v1_0/accountholder/msisdn/${digits}/active`
      const answers = numbers.map((digits, at) => [path(digits), [at === 2 ? active : forbidden]] as const)
      const { asked, look } = yield* guarded({ ...Object.fromEntries(answers), [ANYBODY]: [jane] })
      for (const digits of numbers) yield* look({ ...recipient, msisdn: Redacted.make(`+${digits}`) })
      expect(numbers.map((digits) => asked(path(digits)))).toStrictEqual([1, 1, 1, 1, 1])
    })
  )

  it.effect("is put again for every number where the refusal may be of a number", () =>
    Effect.gen(function* () {
      for (const refused of [notFound, answer(400, { code: "BAD_REQUEST" }), answer(403, "Request Rejected", "text/html")]) {
        const { asked, look } = yield* guarded({ [ACTIVE]: [refused], [INFO]: [jane] })
        expect(yield* times(2, look())).toStrictEqual(["J••• D••", "J••• D••"])
        expect(asked(ACTIVE)).toBe(2)
      }
    })
  )

  it.effect("keeps the token that money calls use, whatever it is answered, and holds back no other read when it fails", () =>
    Effect.gen(function* () {
      for (const failed of [unauthorized, unavailable]) {
        const { asked, isOpen, look, mtnNow, payouts } = yield* guarded({
          [ANYBODY]: [failed],
          [`GET /disbursement${BALANCE}`]: [balance],
          [`GET /collection${BALANCE}`]: [balance]
        })
        expect(yield* times(FAILURES + 5, look())).toStrictEqual(Array(FAILURES + 5).fill(null))
        expect(asked(ACTIVE)).toBe(FAILURES)
        expect([yield* isOpen("holder"), yield* isOpen("reads"), yield* isOpen("send")]).toStrictEqual([true, false, false])
        expect(yield* payouts.send(payout())).toMatchObject({ _tag: "Accepted" })
        expect([asked(PAY_TOKEN), asked(TRANSFER)]).toStrictEqual([1, 1])
        expect(yield* mtnNow.reference?.balances ?? Effect.succeed([])).toHaveLength(4)
      }
    })
  )

  it.effect("has failed where it hangs, so that not every payout waits for it", () =>
    Effect.gen(function* () {
      const { asked, isOpen, look, server } = yield* guarded({ [ANYBODY]: [silence] })
      const waiting = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: FAILURES }), () => look(), { concurrency: "unbounded" })
      )
      yield* server.arrived(ACTIVE)
      yield* TestClock.adjust("2500 millis")
      yield* Fiber.join(waiting)
      expect(yield* isOpen("holder")).toBe(true)
      const before = asked(ANYBODY)
      expect(yield* look()).toBeNull()
      expect(asked(ANYBODY)).toBe(before)
    })
  )
})
