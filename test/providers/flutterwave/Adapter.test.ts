import { expect, layer } from "@effect/vitest"
import { Clock, DateTime, Effect, Layer, Redacted } from "effect"
import { reader } from "../../../src/ConfigRules.ts"
import { flutterwaveProvider } from "../../../src/providers/flutterwave/Settings.ts"
import { withCapturedCall } from "../../../src/runtime/CapturedCall.ts"
import type { PayoutOperations } from "../../../src/services/ports/Provider.ts"
import { BankAccounts } from "../../../src/services/reference/BankAccounts.ts"
import { simulatedFlutterwave } from "../../../src/simulator/flutterwave/Simulator.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, bank, chargeOrder, momo, newReference, payoutOrder, through, type Way } from "../contract/Orders.ts"

const world = Layer.merge(ContractBench.layer(simulatedFlutterwave), BankAccounts.layer)

const uganda = momo("UG", "UGX", "MTN", "25670000")
const ghanaBank = through("GH190101", bank("GH", "GHS", "GH190100", "001200"))

const send = Effect.fnUntraced(function* (payouts: PayoutOperations, way: Way) {
  const order = yield* payoutOrder(payouts, way, "1234")
  return { order, outcome: yield* payouts.send(order) }
})

layer(world, { excludeTestServices: true })("Flutterwave", (it) => {
  it.effect("adopts the first transfer when the repeated reference is refused", () =>
    Effect.gen(function* () {
      const { executions, live } = yield* ContractBench
      const { order, outcome } = yield* send(payoutsOf(live), uganda)
      expect(outcome).toMatchObject({ _tag: "Accepted", observedAmount: 20_000n })
      const ask = Effect.flatMap(askOrder(uganda, order.reference), payoutsOf(live).fetchStatus)
      const succeeded = yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
      expect(yield* payoutsOf(live).send(order)).toStrictEqual(succeeded)
      expect(yield* executions(order.reference)).toHaveLength(1)
    })
  )

  // Issue 38, line 14.
  it.effect("pays a bank through the branch that the tenant chose of its list, and sends nothing without one", () =>
    Effect.gen(function* () {
      const { control, executions, live } = yield* ContractBench
      const branches = (code: string) => live.reference?.branches?.("GH", code) ?? Effect.die("no branches")
      expect(yield* branches("GH190100")).toStrictEqual([
        { code: "GH190101", name: "STANBIC BANK GHANA GH190101" },
        { code: "GH190102", name: "STANBIC BANK GHANA GH190102" }
      ])
      expect(yield* branches("nobody")).toStrictEqual([])
      yield* control("next", { provider: "flutterwave", operation: "branches", ending: "0017" })
      expect(yield* Effect.flip(branches("GH190100"))).toMatchObject({ _tag: "provider_error" })
      const chosen = yield* send(payoutsOf(live), through("GH190102", ghanaBank))
      expect(chosen.outcome).toMatchObject({ _tag: "Accepted" })
      const unchosen = {
        ...chosen.order,
        destination: bank("GH", "GHS", "GH190100", "001200").party("1234"),
        reference: newReference()
      }
      expect(yield* payoutsOf(live).send(unchosen)).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(yield* executions(unchosen.reference)).toStrictEqual([])
    })
  )

  it.effect("stores what was sent and answered without personal data", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const names = {
        firstName: Redacted.make("Akinyi"),
        lastName: Redacted.make("Kimwei"),
        email: Redacted.make("akinyi@example.org")
      }
      const payer = { ...names, phone: null, externalId: null }
      const charge = { ...chargeOrder(momo("KE", "KES", "MPESA", "25470000"), "5678"), payer }
      const charged = yield* withCapturedCall(collectionsOf(live).charge(charge))
      const paid = yield* withCapturedCall(payoutsOf(live).send(yield* payoutOrder(payoutsOf(live), ghanaBank, "5678")))
      const kept = JSON.stringify([charged.raw, paid.raw])
      expect([charged.outcome._tag, paid.outcome._tag]).toStrictEqual(["Accepted", "Accepted"])
      expect(kept).toContain("••••5678")
      for (const person of ["254700005678", "0012005678", "Akinyi", "akinyi", "Kimwei", "Jane Mary", "FLWSECK"])
        expect(kept).not.toContain(person)
    })
  )

  it.effect("refuses what Flutterwave does not support before anything is sent", () =>
    Effect.gen(function* () {
      const { executions, live } = yield* ContractBench
      const order = chargeOrder(momo("BF", "XOF", "MOOV", "22670000"), "1234")
      expect(yield* collectionsOf(live).charge(order)).toMatchObject({ _tag: "Refused", kind: "config", providerReference: null })
      expect(yield* executions(order.reference)).toStrictEqual([])
    })
  )

  it.effect("reports a refused key, and executes nothing", () =>
    Effect.gen(function* () {
      const { baseUrl, executions, live } = yield* ContractBench
      const mistakes: Array<string> = []
      const accounts = configured({ ...variables, FLUTTERWAVE_BASE_URL: baseUrl }, mistakes)
      const [stranger] = (yield* accounts?.open ?? Effect.succeed([])).map(({ adapter }) => adapter)
      expect(mistakes).toStrictEqual([])
      if (stranger === undefined) return yield* Effect.die(new Error("no account"))
      const order = yield* payoutOrder(payoutsOf(live), uganda, "1234")
      expect(yield* payoutsOf(stranger).send(order)).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(yield* executions(order.reference)).toStrictEqual([])
    })
  )

  it.effect("reads a statement of several pages to its end", () =>
    Effect.gen(function* () {
      const { test } = yield* ContractBench
      const sent = yield* Effect.forEach(Array.from({ length: 45 }), () => send(payoutsOf(test), uganda))
      const references = sent.map(({ order }) => order.reference)
      const last = references.at(-1) ?? newReference()
      yield* eventually(Effect.flatMap(askOrder(uganda, last), payoutsOf(test).fetchStatus), ({ _tag }) => _tag === "Succeeded")
      const day = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
      const statement = yield* test.statement?.(day) ?? Effect.die(new Error("there is a statement"))
      const lines = statement.lines.filter(({ direction }) => direction === "payout")
      expect(new Set(lines.map(({ reference }) => reference))).toStrictEqual(new Set(references))
      expect(lines.find(({ reference }) => reference === last)).toMatchObject({
        amount: 20_000n,
        currency: "UGX",
        fee: 1000n,
        status: "successful"
      })
    })
  )

  it.effect("resolves holders of Nigerian accounts only; other payouts are sent without it", () =>
    Effect.gen(function* () {
      const live = { ...(yield* ContractBench).live, fingerprints: () => [] }
      const accounts = yield* BankAccounts
      const nigeria = bank("NG", "NGN", "058", "001200")
      expect(yield* accounts.bankHolder(live, nigeria.party("1234"))).toStrictEqual({ maskedName: "J••• D••", isNamed: false })
      expect(yield* accounts.bankHolder(live, ghanaBank.party("1234"))).toBeNull()
      expect(yield* Effect.flip(accounts.requireAccountNameMatch(live, ghanaBank.party("1234")))).toMatchObject({
        _tag: "provider_error"
      })
    })
  )

  it.effect("reads its accounts from the environment, and names every mistake", () =>
    Effect.gen(function* () {
      const mistakes: Array<string> = []
      expect(configured({}, mistakes)).toBeUndefined()
      expect(mistakes).toStrictEqual([])
      const accounts = configured(variables, mistakes)
      expect((yield* accounts?.open ?? Effect.succeed([])).map(({ adapter: { mode, name } }) => `${name} ${mode}`)).toStrictEqual(
        ["flutterwave live"]
      )
      expect(mistakes).toStrictEqual([])
      configured({ ...variables, FLUTTERWAVE_LIVE_WEBHOOK_SECRET_HASH: "", FLUTTERWAVE_SENDER: "Acme" }, mistakes)
      expect(mistakes).toStrictEqual([
        "FLUTTERWAVE_LIVE_WEBHOOK_SECRET_HASH is required together with the other FLUTTERWAVE_LIVE credentials",
        'FLUTTERWAVE_SENDER must be a name, its country and its phone number such as Acme Ltd:KE:254700000000, not "Acme"'
      ])
    })
  )

  it.effect("accepts a callback by its secret, as a hint at the transaction that it names", () =>
    Effect.gen(function* () {
      const { live, test } = yield* ContractBench
      const reference = newReference()
      const verified = (body: unknown, hash: string | undefined, provider = live) =>
        provider.callbacks.verify({
          method: "POST",
          path: "/",
          headers: { "verif-hash": hash },
          body: Buffer.from(JSON.stringify(body))
        })
      const secret = "simulated-live-secret-hash"
      const charge = { event: "charge.completed", data: { id: 285959875, tx_ref: reference, status: "successful" } }
      const transfer = { event: "transfer.completed", data: { id: 33286, reference, status: "FAILED" } }
      expect(verified(charge, secret)).toMatchObject({ value: { reference, providerReference: "285959875", says: "successful" } })
      expect(verified(transfer, secret)).toMatchObject({ value: { reference, providerReference: "33286", says: "failed" } })
      expect(verified({ data: { id: 1, reference: "theirs" } }, secret)).toMatchObject({
        value: { reference: null, providerReference: "1" }
      })
      expect(verified("what?", secret)).toMatchObject({ value: { reference: null, providerReference: null } })
      for (const forged of [undefined, "", "s", `${secret} `, secret.toUpperCase(), secret.slice(0, -1)])
        expect(verified(charge, forged)).toMatchObject({ _tag: "None" })
      expect(verified(charge, secret, test)).toMatchObject({ _tag: "None" })
    })
  )
})

const variables = {
  FLUTTERWAVE_BASE_URL: "https://api.flutterwave.example/v3",
  FLUTTERWAVE_LIVE_SECRET_KEY: "FLWSECK-stranger",
  FLUTTERWAVE_LIVE_WEBHOOK_SECRET_HASH: "hash",
  FLUTTERWAVE_SENDER: "Acme Ltd:KE:254700000000"
}

const configured = (given: Readonly<Record<string, string>>, mistakes: Array<string>) =>
  flutterwaveProvider.configured(reader(given, mistakes), mistakes, {
    timeoutMs: 5000,
    refuseLoopback: false,
    refuseRemote: false
  })
