import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { asOwner, keyOn, Stack, tenantOn } from "../../support/Stack.ts"

interface Page {
  readonly items: ReadonlyArray<{ readonly reference: string; readonly kind: string; readonly created_at: string }>
  readonly next_cursor: string | null
}
const pageOf = ({ text }: { readonly text: string }): Page => JSON.parse(text).data
const referenceOf = ({ text }: { readonly text: string }): string => JSON.parse(text).data.reference

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

/** Every page from the first to the last. */
const walked = Effect.fnUntraced(function* (tenant: Tenant, query: string, between: Effect.Effect<unknown> = Effect.void) {
  const references: Array<string> = []
  for (let cursor: string | null = "", pages = 0; cursor !== null; pages++) {
    expect(pages).toBeLessThan(100)
    const page: Page = pageOf(yield* tenant.get(`/v1/transactions?${query}${cursor === "" ? "" : `&cursor=${cursor}`}`))
    references.push(...page.items.map(({ reference }) => reference))
    cursor = page.next_cursor
    yield* between
  }
  return references
})

layer(Stack.layer(), { excludeTestServices: true })("the list of transactions, over real HTTP", (it) => {
  it.effect("holds the key's own payouts and collections, the newest first, each as its own address shows it", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const other = yield* tenantOn(gateway)
      yield* other.post("/v1/payouts", momoPayout("3001"))
      const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("3002")))
      const collection = referenceOf(yield* tenant.post("/v1/collections", momoCharge("3003")))
      const { items, next_cursor } = pageOf(yield* tenant.get("/v1/transactions"))
      expect([items.map(({ kind, reference }) => [kind, reference]), next_cursor]).toStrictEqual([
        [
          ["collection", collection],
          ["payout", payout]
        ],
        null
      ])
      const settled = pageOf(yield* tenant.get("/v1/transactions?kind=payout"))
      expect(settled.items[0]).toStrictEqual(JSON.parse((yield* tenant.get(`/v1/transactions/${payout}`)).text).data)
      const test = yield* keyOn(gateway, tenant.appId, "test")
      expect(pageOf(yield* test.get("/v1/transactions")).items).toStrictEqual([])
    })
  )

  it.effect("is narrowed by kind, status, currency, moment, idempotency key and one member of metadata", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const failed = referenceOf(
        yield* tenant.post("/v1/payouts", { ...momoPayout("3001"), metadata: { order: "A-1", n: 5 } }, "key one")
      )
      const other = referenceOf(yield* tenant.post("/v1/payouts", { ...momoPayout("3002"), metadata: { order: "A-2", n: 7.5 } }))
      const collection = referenceOf(yield* tenant.post("/v1/collections", momoCharge("3003")))
      const found = Effect.fnUntraced(function* (query: string) {
        return pageOf(yield* tenant.get(`/v1/transactions?${query}`)).items.map(({ reference }) => reference)
      })
      const [, second] = pageOf(yield* tenant.get("/v1/transactions")).items
      const at = second?.created_at ?? ""
      expect({
        payouts: yield* found("kind=payout"),
        expired: yield* found("status=expired"),
        reviewed: yield* found("needs_review=true"),
        unreviewed: yield* found("needs_review=false&kind=collection"),
        dollars: yield* found("currency=USD"),
        shillings: yield* found("currency=UGX&kind=collection"),
        from: yield* found(`created_from=${at}`),
        to: yield* found(`created_to=${at}`),
        key: yield* found("idempotency_key=key%20one"),
        foreignKey: yield* found("idempotency_key=key"),
        order: yield* found("metadata.order=A-2"),
        number: yield* found("metadata.n=5"),
        noNumber: yield* found("metadata.n=7.5&kind=collection"),
        absent: yield* found("metadata.absent=")
      }).toStrictEqual({
        payouts: [other, failed],
        expired: [],
        reviewed: [],
        unreviewed: [collection],
        dollars: [],
        shillings: [collection],
        from: [collection, other],
        to: [failed],
        key: [failed],
        foreignKey: [],
        order: [other],
        number: [failed],
        noNumber: [],
        absent: []
      })
    })
  )

  it.effect("reads a query as it was signed: a plus is a plus, and a blank is written as %20", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const made = (ending: string, order: string) =>
        Effect.map(tenant.post("/v1/payouts", { ...momoPayout(ending), metadata: { order } }), referenceOf)
      const plus = yield* made("3001", "order+7")
      const blank = yield* made("3002", "order 7")
      // The first two have one signature.
      const asked = [
        "metadata.order=order%2B7",
        "metadata.order=order+7",
        "metadata.order=order%207",
        "meta%64ata.order=order%207"
      ]
      const found = yield* Effect.forEach(asked, (query) => tenant.get(`/v1/transactions?${query}`))
      expect(found.map((answer) => pageOf(answer).items.map(({ reference }) => reference))).toStrictEqual([
        [plus],
        [plus],
        [blank],
        [blank]
      ])
    })
  )

  const mistakes = [
    ["kind=exchange", "kind"],
    ["status=done", "status"],
    ["needs_review=yes", "needs_review"],
    ["currency=ugx", "currency"],
    ["created_from=yesterday", "created_from"],
    ["created_to=2026-02-30T00:00:00Z", "created_to"],
    ["idempotency_key=", "idempotency_key"],
    ["cursor=abc", "cursor"],
    ["limit=101", "limit"],
    ["statuss=failed", "statuss"],
    ["metadata=a", "metadata"],
    ["metadata.=a", "metadata."],
    ["metadata.a=%00", "metadata.a"],
    ["metadata.a=1&metadata.b=2", "metadata.b"],
    ["metadata.a=1&metadata.a=2", "metadata.a"],
    ["toString=1", "toString"]
  ] as const
  it.effect.each(mistakes)("refuses %s and names the parameter", ([query, path]) =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      expect(said(yield* tenant.get(`/v1/transactions?${query}`))).toMatchObject({
        status: 422,
        code: "validation_failed",
        details: { issues: [{ path }] }
      })
    })
  )

  it.effect("skips and repeats none while new ones arrive", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const before: Array<string> = []
      for (let at = 0; at < 7; at++) before.unshift(referenceOf(yield* tenant.post("/v1/payouts", momoPayout(`30${10 + at}`))))
      const arriving = Effect.forEach(["3091", "3092"], (ending) => tenant.post("/v1/payouts", momoPayout(ending)), {
        concurrency: 2
      })
      expect(yield* walked(tenant, "limit=2", arriving)).toStrictEqual(before)
    })
  )

  it.effect("goes on behind records that cannot be read, however many they are", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const [oldest, ...broken] = yield* Effect.forEach(["3001", "3002", "3003", "3004"], (ending) =>
        Effect.map(tenant.post("/v1/payouts", momoPayout(ending)), referenceOf)
      )
      const newest = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("3005")))
      yield* Effect.flatMap(
        asOwner(database),
        // The revision, too: a step that is under way was decided against the sound record, and would write it back.
        (sql) =>
          sql`UPDATE transactions SET record = '{"kind":"payout"}', revision = revision + 1 WHERE reference = ANY (${broken})`
      ).pipe(Effect.scoped)
      expect(yield* walked(tenant, "limit=1")).toStrictEqual([newest, oldest])
    })
  )

  it.effect("refuses a cursor of a moment that no record can have", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const cursor = Buffer.from(JSON.stringify([8_640_000_000_000_000, "AAA688MG9KT6BQ76F4NM4BJRH5"])).toString("base64url")
      const asked = ["/v1/transactions", "/v1/beneficiaries", "/v1/webhooks/deliveries"]
      const answers = yield* Effect.forEach(asked, (path) => tenant.get(`${path}?cursor=${cursor}`))
      expect(answers.map(({ status }) => status)).toStrictEqual([422, 422, 422])
    })
  )

  it.effect("finds the last of many by a filter, a bounded number of records at once, also where all came at one moment", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const member = { metadata: { order: "the one" } }
      const charge = referenceOf(yield* tenant.post("/v1/collections", { ...momoCharge("3003"), ...member }))
      const first = referenceOf(yield* tenant.post("/v1/payouts", { ...momoPayout("3001"), ...member }))
      const second = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("3002")))
      const sql = yield* asOwner(database)
      yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
        SELECT app_id, 'Z' || lpad(n::text, 25, '0'), mode, kind, 'successful', needs_review, provider, 1,
          replace(record::text, ${second}, 'Z' || lpad(n::text, 25, '0'))::json, created_at
        FROM transactions, generate_series(1, 10500) n WHERE reference = ${second}`
      const asked = "/v1/transactions?kind=collection"
      const none = pageOf(yield* tenant.get(asked))
      expect([none.items, none.next_cursor === null]).toStrictEqual([[], false])
      expect(yield* walked(tenant, "kind=collection")).toStrictEqual([charge])
      // A member finds its own records at once, however many others there are.
      const found = pageOf(yield* tenant.get("/v1/transactions?metadata.order=the%20one"))
      expect([found.items.map(({ reference }) => reference), found.next_cursor]).toStrictEqual([[first, charge], null])
      // What has the member's hash and not the member is held against it, a bounded number at once.
      yield* sql`INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
        SELECT app_id, mode, metadata_member('order', 'the one'), created_at, reference FROM transactions
        WHERE app_id = ${tenant.appId} AND reference > 'Z' AND reference <= 'Z' || lpad('2500', 25, '0')`
      const collided = pageOf(yield* tenant.get("/v1/transactions?metadata.order=the%20one"))
      expect([collided.items, collided.next_cursor === null]).toStrictEqual([[], false])
      expect(yield* walked(tenant, "metadata.order=the%20one")).toStrictEqual([first, charge])
    }).pipe(Effect.scoped)
  )

  it.effect("finds a record by the first twenty members of its metadata that are a text, a number or a boolean", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const many = Object.fromEntries(Array.from({ length: 22 }, (_, at) => [`m${at}`, at]))
      const metadata = { text: "", list: [1], object: {}, none: null, yes: true, exact: 1, ...many }
      const made = referenceOf(yield* tenant.post("/v1/payouts", { ...momoPayout("3001"), metadata }))
      const found = Effect.fnUntraced(function* (...queries: ReadonlyArray<string>) {
        const pages = yield* Effect.forEach(queries, (query) => tenant.get(`/v1/transactions?metadata.${query}`))
        return pages.map((answer) => pageOf(answer).items.map(({ reference }) => reference))
      })
      expect(yield* found("text=", "yes=true", "exact=1", "m0=0", "m16=16")).toStrictEqual(
        Array.from({ length: 5 }, () => [made])
      )
      expect(yield* found("exact=1.0", "yes=TRUE", "m17=17", "list=[1]", "object={}", "none=", "none=null")).toStrictEqual(
        Array.from({ length: 7 }, () => [])
      )
    })
  )
})
