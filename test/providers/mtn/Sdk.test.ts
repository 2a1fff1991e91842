import dns from "node:dns"
import { isDeepStrictEqual } from "node:util"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ApprovalRejectedError, create, PayerNotFoundError, PayerType, ResourceAlreadyExistError } from "mtn-momo"
import { vi } from "vitest"
import { sandboxOf } from "../../../src/providers/mtn/Networks.ts"
import { referenceIdOf } from "../../../src/providers/mtn/Wire.ts"
import { MtnBench } from "../../simulator/mtn/SimulatorFixture.ts"
import { eventually } from "../../support/SignedClient.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, momo, newReference } from "../contract/Orders.ts"
import { accountIn, charge, open, payout, settings, USER_ID } from "./Orders.ts"

// Somebody else's idea of MTN's wire drives the simulator, so that it and the adapter cannot share one misunderstanding. The SDK knows the
// sandbox.

/** No name is looked up any more: nothing but this machine can be reached. */
const offline = Layer.effectDiscard(
  Effect.acquireRelease(
    Effect.sync(() =>
      vi.spyOn(dns, "lookup").mockImplementation(() => {
        throw new Error("a name is looked up")
      })
    ),
    (lookups) =>
      Effect.sync(() => {
        const asked = [...lookups.mock.calls]
        lookups.mockRestore()
        expect(asked).toEqual([])
      })
  )
)

const sandbox = (baseUrl: string) => settings(baseUrl, { countries: [{ ...accountIn("UG", baseUrl), ...sandboxOf("UG") }] })
const uganda = momo("UG", "EUR", "MTN", "25670000")

const sdk = Effect.map(MtnBench, ({ baseUrl, executions }) => {
  const momoClient = create({ callbackHost: "127.0.0.1", baseUrl })
  const user = { userId: USER_ID, userSecret: "api-key" }
  return {
    baseUrl,
    executions,
    collections: momoClient.Collections({ ...user, primaryKey: "collection-key" }),
    disbursements: momoClient.Disbursements({ ...user, primaryKey: "disbursement-key" }),
    stranger: momoClient.Disbursements({ ...user, primaryKey: "collection-key" })
  }
})

const party = (ending: string) => ({ partyIdType: PayerType.MSISDN, partyId: `25670000${ending}` })
const ordered = (externalId: string) => ({
  amount: "123.45",
  currency: "EUR",
  externalId,
  payerMessage: "lunch",
  payeeNote: "lunch"
})
const tried = <A>(promise: () => Promise<A>) => Effect.tryPromise({ try: promise, catch: (error) => error })

layer(Layer.provideMerge(offline, MtnBench.layer(sandbox(""))), { excludeTestServices: true })("the SDK mtn-momo", (it) => {
  it.effect("charges and reads the status, and finds nothing for an unknown id", () =>
    Effect.gen(function* () {
      const { collections, executions } = yield* sdk
      const id = yield* tried(() => collections.requestToPay({ ...ordered("sdk-1"), payer: party("1234") }))
      const read = tried(() => collections.getTransaction(id))
      expect(yield* eventually(read, ({ status }) => status === "SUCCESSFUL")).toMatchObject({
        ...ordered("sdk-1"),
        payer: party("1234")
      })
      expect(yield* executions("sdk-1")).toMatchObject([{ direction: "collection", reference: id, amount_minor: 12_345 }])
      expect(yield* Effect.flip(tried(() => collections.getTransaction(newReference())))).toBeInstanceOf(Error)
    })
  )

  it.effect("gets the reason why a payer did not pay", () =>
    Effect.gen(function* () {
      const { collections } = yield* sdk
      const failures = [
        ["0002", ApprovalRejectedError],
        ["0016", PayerNotFoundError]
      ] as const
      for (const [ending, failure] of failures) {
        const id = yield* tried(() => collections.requestToPay({ ...ordered(`sdk-${ending}`), payer: party(ending) }))
        const heard = Effect.matchEffect(
          tried(() => collections.getTransaction(id)),
          { onFailure: Effect.succeed, onSuccess: Effect.succeed }
        )
        expect(yield* eventually(heard, (one) => one instanceof Error)).toBeInstanceOf(failure)
      }
    })
  )

  it.effect("makes a payout by our X-Reference-Id that the adapter finds, and neither can repeat it", () =>
    Effect.gen(function* () {
      const { baseUrl, disbursements, executions } = yield* sdk
      const order = payout({}, uganda)
      const { reference } = order
      const referenceId = referenceIdOf(reference)
      const transfer = tried(() => disbursements.transfer({ ...ordered(reference), referenceId, payee: party("1234") }))
      expect(yield* transfer).toBe(referenceId)
      const payouts = payoutsOf(yield* open(baseUrl, sandbox(baseUrl)))
      const ask = Effect.flatMap(askOrder(uganda, reference), payouts.fetchStatus)
      expect(yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")).toMatchObject({ amount: 12_345n, currency: "EUR" })
      expect(yield* Effect.flip(transfer)).toBeInstanceOf(ResourceAlreadyExistError)
      expect(yield* payouts.send(order)).toMatchObject({ _tag: "Succeeded", amount: 12_345n, currency: "EUR" })
      expect(yield* executions(reference)).toHaveLength(1)
    })
  )

  it.effect("reads the payouts and charges of the adapter", () =>
    Effect.gen(function* () {
      const { baseUrl, collections, disbursements } = yield* sdk
      const provider = yield* open(baseUrl, sandbox(baseUrl))
      const [sent, charged] = [payout({ narration: "It's lunch" }, uganda), charge({}, uganda)]
      expect(yield* payoutsOf(provider).send(sent)).toMatchObject({ _tag: "Accepted" })
      expect(yield* collectionsOf(provider).charge(charged)).toMatchObject({ _tag: "Accepted" })
      expect(yield* tried(() => disbursements.getTransaction(referenceIdOf(sent.reference)))).toMatchObject({
        amount: "123.45",
        currency: "EUR",
        externalId: sent.reference,
        payee: party("1234"),
        payeeNote: "It s lunch"
      })
      expect(yield* tried(() => collections.getTransaction(referenceIdOf(charged.reference)))).toMatchObject({
        amount: "123.45",
        externalId: charged.reference,
        payer: party("1234")
      })
    })
  )

  it.effect("reads the same balances as the adapter, and whether an account exists", () =>
    Effect.gen(function* () {
      const { baseUrl, collections, disbursements } = yield* sdk
      const { reference } = yield* open(baseUrl, sandbox(baseUrl))
      const both = Effect.gen(function* () {
        const own = yield* reference?.balances ?? Effect.die("absent")
        const read = [yield* tried(() => disbursements.getBalance()), yield* tried(() => collections.getBalance())]
        const theirs = read.map(({ availableBalance, currency }) => [BigInt(availableBalance.replace(".", "")), currency])
        return { ours: own.map(({ available }) => [available, "EUR"]), theirs }
      })
      // A charge of a test before may arrive between the two.
      const { ours, theirs } = yield* eventually(both, (read) => isDeepStrictEqual(read.ours, read.theirs))
      expect(theirs).toStrictEqual(ours)
      expect(ours).toHaveLength(2)
      expect(yield* tried(() => disbursements.isPayerActive("256700001234"))).toBe(true)
      expect(yield* tried(() => disbursements.isPayerActive("256700000016"))).toBe(false)
      expect(yield* tried(() => collections.isPayerActive("256700001234"))).toEqual({ result: true })
    })
  )

  it.effect("is refused with another product's subscription", () =>
    Effect.gen(function* () {
      const { stranger } = yield* sdk
      expect(yield* Effect.flip(tried(() => stranger.getBalance()))).toBeInstanceOf(Error)
    })
  )
})
