import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { Stack, tenantOn, verified } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

const SOURCE = 50_000
const refused: Fact = {
  _tag: "Refused",
  providerReference: null,
  kind: "other",
  failure: { code: "provider_rejected", message: "no" },
  note: ""
}
/** The provider's word that the exchange was made, and what it brought. */
const brought = (amount: bigint): Fact => ({
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(BigInt(SOURCE)),
  currency: "UGX",
  fee: null,
  exchanged: { amount: minor(amount), currency: "KES", raw: `${amount / 100n}` },
  note: ""
})

/** A tenant's exchange that was executed, and whose answer did not arrive. */
const given = Effect.gen(function* () {
  const { database, gateway, simulator } = yield* Stack
  const tenant = yield* tenantOn(gateway, 100_000n)
  const terms = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: SOURCE }
  const { body } = yield* tenant.post("/v1/fx/quote", terms)
  const next = { provider: "eversend", operation: "exchange", ending: "0004" }
  yield* Effect.promise(() => simulator.control("POST", "/next", next))
  const reference = referenceOf(yield* tenant.post("/v1/fx/exchange", { quote_id: body.data["quote_id"] }))
  const settings = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
  return {
    gateway,
    reference,
    quoted: Number(body.data["destination_amount_minor"]),
    tell: (fact: Fact) =>
      Context.get(gateway.context, Settlement).apply({ reference: Reference.make(reference), fact, actor: "callback" }),
    resolve: (...more: ReadonlyArray<string>) =>
      command(settings, "review", "resolve", reference, "--outcome", "successful", "--evidence", "their statement", ...more),
    kenya: Effect.map(tenant.get("/v1/float"), ({ text }): number | undefined => {
      const positions: ReadonlyArray<{ currency: string; available_minor: number }> = JSON.parse(text).data
      return positions.find(({ currency }) => currency === "KES")?.available_minor
    })
  }
})

layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "500", RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })(
  "a review of an exchange",
  (it) => {
    it.effect("does not book the quoted amount where the provider named another one, until a person says how much came in", () =>
      Effect.gen(function* () {
        const { gateway, kenya, quoted, resolve, tell } = yield* given
        const half = BigInt(quoted) / 2n
        yield* tell(brought(half))
        expect(yield* resolve()).toMatchObject({ code: 1, errors: expect.stringContaining(`brought ${half} KES`) })
        expect(yield* kenya).toBeUndefined()
        expect(yield* resolve("--amount-minor", `${half}`)).toMatchObject({ code: 0 })
        expect(yield* kenya).toBe(Number(half))
        expect(yield* verified(gateway)).toMatchObject({ ok: true })
      })
    )

    it.effect("does so for one that had failed and was made after all, also where only a little is missing", () =>
      Effect.gen(function* () {
        const { kenya, quoted, resolve, tell } = yield* given
        const less = BigInt(quoted) - 7n
        yield* tell(refused)
        yield* tell(brought(less))
        expect(yield* resolve()).toMatchObject({ code: 1, errors: expect.stringContaining(`brought ${less} KES`) })
        expect(yield* resolve("--amount-minor", `${less}`)).toMatchObject({ code: 0 })
        expect(yield* kenya).toBe(Number(less))
      })
    )

    it.effect("books the quoted amount without one where that is what the provider named", () =>
      Effect.gen(function* () {
        const { kenya, quoted, resolve, tell } = yield* given
        yield* tell(refused)
        yield* tell(brought(BigInt(quoted)))
        expect(yield* resolve()).toMatchObject({ code: 0 })
        expect(yield* kenya).toBe(quoted)
      })
    )
  }
)
