import { createPublicKey, generateKeyPairSync } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { pawapayProvider } from "../../../src/providers/pawapay/Settings.ts"
import { simulatedFees } from "../../../src/simulator/Fees.ts"
import { isSigned } from "../../../src/simulator/pawapay/Signature.ts"
import { simulatedPawapay } from "../../../src/simulator/pawapay/Simulator.ts"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { answer, stub } from "../ProviderStub.ts"
import { chargeOrder, open, payoutOrder } from "./Orders.ts"

const keyPair = () => generateKeyPairSync("ec", { namedCurve: "prime256v1" })
const { privateKey: key, publicKey } = keyPair()
const signingKey = { id: "KEY_7", key }
const apiToken = Redacted.make("the-token")

/** pawaPay for a merchant whose requests have to be signed. */
const demanding: KnownSimulator = {
  ...simulatedPawapay,
  accounts: (reach) =>
    pawapayProvider.with((mode) => ({
      ...reach,
      apiToken: mode === "live" ? apiToken : Redacted.make("the-test-token"),
      signingKey,
      callbackKey: null,
      callbackHosts: [],
      statementHosts: [],
      fees: simulatedFees
    }))
}

// Issue 38, line 14. The simulator reads signatures by itself, and shares nothing with who makes them.
layer(ContractBench.layer(demanding), { excludeTestServices: true })("a request that moves money at pawaPay", (it) => {
  it.effect("is signed with the merchant's key where one is set; without it, or with another, nothing is moved", () =>
    Effect.gen(function* () {
      const { baseUrl, executions, live } = yield* ContractBench
      expect(yield* payoutsOf(live).send(payoutOrder())).toMatchObject({ _tag: "Accepted" })
      expect(yield* collectionsOf(live).charge(chargeOrder())).toMatchObject({ _tag: "Accepted" })
      const others = [null, { ...signingKey, id: "KEY_8" }, { id: "KEY_7", key: keyPair().privateKey }]
      for (const other of others) {
        const { payouts } = yield* open(baseUrl, { apiToken, signingKey: other })
        const order = payoutOrder()
        expect(yield* payouts.send(order)).toMatchObject({ _tag: "Refused", kind: "config" })
        expect(yield* executions(order.reference)).toStrictEqual([])
      }
    })
  )

  it.effect("is signed over its bytes, its address and its time, and over nothing where it has no body", () =>
    Effect.gen(function* () {
      const accepted = answer(200, { payoutId: "x", status: "ACCEPTED" })
      const { baseUrl, seen } = yield* stub({
        "GET /public-key/http": [answer(200, [])],
        "GET /active-conf": [answer(200, { countries: [] })],
        "POST /payouts": [accepted]
      })
      const { payouts, provider } = yield* open(baseUrl, { signingKey })
      yield* Effect.ignore(provider.reference?.countries ?? Effect.void)
      yield* payouts.send(payoutOrder())
      const now = yield* Clock.currentTimeMillis
      expect(
        seen.filter(({ line }) => line.startsWith("GET")).flatMap(({ headers }) => headers["signature"] ?? [])
      ).toStrictEqual([])
      const sent = seen.find(({ line }) => line === "POST /payouts")
      if (sent === undefined) return yield* Effect.die(new Error("nothing was sent"))
      const request = (change: Readonly<Record<string, string>> = {}, body = sent.body) => ({
        method: "POST",
        path: "/payouts",
        query: new URLSearchParams(),
        header: (name: string) => change[name] ?? sent.headers[name]?.toString(),
        body
      })
      const merchant = { id: "KEY_7", key: createPublicKey(key) }
      const genuine = request()
      expect(isSigned(genuine, merchant, now)).toBe(true)
      const forged = [
        isSigned(request({}, `${sent.body} `), merchant, now),
        isSigned(request({ host: "elsewhere.example" }), merchant, now),
        isSigned({ ...genuine, path: "/deposits" }, merchant, now),
        isSigned({ ...genuine, method: "PUT" }, merchant, now),
        isSigned(request({ "signature-date": "2026-01-01T00:00:00Z" }), merchant, now),
        isSigned(request({ "content-type": "text/plain" }), merchant, now),
        isSigned(genuine, { id: "KEY_7", key: keyPair().publicKey }, now),
        isSigned(genuine, merchant, now + 120_000)
      ]
      expect(forged).toStrictEqual(forged.map(() => false))
      // Our clock may be a few seconds ahead of pawaPay's, where a signature from the future is refused.
      const onTheirClock = [-4000, 0, 50_000].map((ahead) => isSigned(genuine, merchant, now + ahead))
      expect(onTheirClock).toStrictEqual([true, true, true])
      expect(isSigned(genuine, merchant, now - 60_000)).toBe(false)
      expect(publicKey.equals(merchant.key)).toBe(true)
    })
  )
})
