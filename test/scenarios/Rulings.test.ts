import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../src/domain/Event.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../commands/Gateway.ts"
import { momoCharge } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn, verified, webhooksOf } from "../support/Stack.ts"
import { masterKey } from "../support/TestDatabase.ts"

const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const variables = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
  return { gateway, run: (...args: ReadonlyArray<string>) => command(variables, ...args) }
})

/** What the provider says of a transaction. */
const tell = Effect.fnUntraced(function* (reference: string, amount: bigint, fee: bigint | null) {
  const { gateway } = yield* Stack
  const fact: Fact = {
    _tag: "Succeeded",
    providerReference: null,
    amount: minor(amount),
    currency: "UGX",
    fee: fee === null ? null : minor(fee),
    note: "status successful"
  }
  yield* Context.get(gateway.context, Settlement).apply({ reference: Reference.make(reference), fact, actor: "callback" })
})

const resolve = Effect.fnUntraced(function* (reference: string, outcome: string, ...more: ReadonlyArray<string>) {
  const { run } = yield* given
  const flags = ["--outcome", outcome, "--evidence", "their statement", "--json", ...more]
  const { code, errors, output } = yield* run("review", "resolve", reference, ...flags)
  return code === 0 ? JSON.parse(output) : { code, errors }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("what a person's ruling books", (it) => {
  it.effect(
    "a collection of which another amount came in is credited net of the fee that the provider named, and told in order",
    () =>
      Effect.gen(function* () {
        const { gateway, run } = yield* given
        const [tenant, other] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
        const hook = yield* webhooksOf(gateway, tenant, EventType.literals)
        const [known, unknown] = [
          referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010"))),
          referenceOf(yield* other.post("/v1/collections", momoCharge("0010")))
        ]
        yield* tell(known, 19_000n, 285n)
        yield* tell(unknown, 19_000n, null)
        const { output } = yield* run("review", "list")
        expect(output).toContain(
          `review resolve ${known} --outcome successful --evidence "..." [--amount-minor N --fee-minor N] [--seen 3]`
        )
        expect(output).toContain("; without another amount the fee is 285")
        expect(output).toContain(
          `review resolve ${unknown} --outcome successful --evidence "..." [--amount-minor N] --fee-minor N [--seen 3]`
        )
        expect(yield* resolve(unknown, "successful")).toEqual({
          code: 1,
          errors: "the provider named no fee for 19000 minor UGX: say with --fee-minor what it took, 0 where it took nothing"
        })
        expect(yield* resolve(known, "successful")).toMatchObject({ observed_amount_minor: 19_000, fees_minor: 285 })
        expect(yield* tenant.float).toMatchObject({ available_minor: 18_715, collected_minor: 19_000, provider_fees_minor: 285 })
        const told = (yield* hook.count(4))
          .map(({ body }) => JSON.parse(body))
          .filter(({ data }) => data.reference === known)
          .sort((one, other) => one.data.version - other.data.version)
        expect(told.map(({ data, type }) => [data.version, type])).toEqual([
          [1, "collection.pending"],
          [2, "collection.updated"],
          [3, "collection.updated"],
          [4, "collection.successful"]
        ])
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        // What a node of the release before reads has words that it knows.
        expect(yield* sql`SELECT type FROM events WHERE reference = ${known} ORDER BY created_at, type`).toStrictEqual([
          { type: "collection.pending" },
          { type: "webhook.test" },
          { type: "webhook.test" },
          { type: "collection.successful" }
        ])
        const listed = (yield* tenant.get("/v1/webhooks/deliveries")).body.data["items"] ?? []
        expect(listed).toHaveLength(4)
        expect(JSON.stringify(listed)).not.toContain("webhook.test")
        expect(yield* verified(gateway)).toMatchObject({ ok: true })
      })
  )

  it.effect("no ruling makes a float that cannot be read, and one of a large amount takes two people, by command too", () =>
    Effect.gen(function* () {
      const { gateway } = yield* given
      const tenant = yield* tenantOn(gateway, 0n)
      const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010")))
      yield* tell(reference, 19_000n, 285n)
      const most = "9007199254740991"
      const rule = (...more: ReadonlyArray<string>) => resolve(reference, "successful", "--fee-minor", "0", ...more)
      expect(yield* rule("--amount-minor", most)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/a ruling books at most 40000/)
      })
      // What the provider says itself is no digit too many of a person's.
      yield* tell(reference, 9_007_199_254_740_991n, 0n)
      expect(yield* rule()).toMatchObject({ code: 1, errors: expect.stringMatching(/takes two people.*--no-second-person/) })
      expect(yield* rule("--no-second-person")).toMatchObject({ status: "successful" })
      expect(yield* tenant.float).toMatchObject({ available_minor: 9_007_199_254_740_991 })

      const next = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      const record = yield* tenant.until(`/v1/collections/${next}`, ({ needs_review }) => needs_review === true)
      expect(record).toMatchObject({ status: "pending" })
      expect(yield* resolve(next, "successful", "--fee-minor", "0")).toEqual({
        code: 1,
        errors: "the float cannot hold that much: its largest amount is 9007199254740991"
      })
      expect(yield* tenant.float).toMatchObject({ available_minor: 9_007_199_254_740_991 })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )
})
