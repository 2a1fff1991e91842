import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"

interface Item {
  readonly reference: string
  readonly created_at: string
  readonly updated_at: string
  readonly completed_at: string | null
}
interface Page {
  readonly items: ReadonlyArray<Item>
  readonly next_cursor: string | null
}
const pageOf = ({ text }: Answer): Page => JSON.parse(text).data

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

const found = (tenant: Tenant, target: string) =>
  Effect.map(tenant.get(target), (answer) => pageOf(answer).items.map(({ reference }) => reference))

/** Every item of a list, two a page. */
const walked = Effect.fnUntraced(function* (tenant: Tenant, target: string) {
  const items: Array<Item> = []
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Page = pageOf(yield* tenant.get(`${target}&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`))
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
})

const exchanged = Effect.fnUntraced(function* (tenant: Tenant, amount: number, metadata: object, key?: string) {
  const wish = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: amount }
  const { body } = yield* tenant.post("/v1/fx/quote", wish)
  return referenceOf(yield* tenant.post("/v1/fx/exchange", { quote_id: body.data["quote_id"], metadata }, key))
})

/** A payout under way (0004 is never answered), one that was paid, one that was refused, a charge under way, and one that was paid. */
const givenRecords = Effect.fnUntraced(function* (tenant: Tenant) {
  const paidLater = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
  const paid = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
  yield* tenant.until(`/v1/payouts/${paid}`, ({ status }) => status === "successful")
  const charged = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0008")))
  yield* tenant.until(`/v1/collections/${charged}`, ({ status }) => status === "successful")
  return { paidLater, paid, charged }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "300ms,600ms,1s,2s,4s,8s,16s,30s,1h" }), { excludeTestServices: true })(
  "lists of records",
  (it) => {
    it.effect("by the time of their completion have those that were completed then, the last one first", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { charged, paid, paidLater } = yield* givenRecords(tenant)
        const [last, first] = pageOf(yield* tenant.get("/v1/transactions?completed_from=2026-01-01T00:00:00.000Z")).items
        const [at, before] = [last?.completed_at ?? "", first?.completed_at ?? ""]
        expect({
          from: [last?.reference, first?.reference],
          isOrdered: before < at,
          after: yield* found(tenant, `/v1/transactions?completed_from=${at}`),
          until: yield* found(tenant, `/v1/transactions?completed_to=${at}`),
          between: yield* found(tenant, `/v1/transactions?completed_from=${before}&completed_to=${at}`),
          payouts: yield* found(tenant, `/v1/transactions?completed_from=${before}&kind=payout`),
          created: yield* found(tenant, `/v1/transactions?completed_from=${before}&created_from=${last?.created_at}`),
          changed: yield* found(tenant, `/v1/transactions?completed_to=${at}&updated_from=${before}`),
          open: yield* found(tenant, "/v1/transactions?status=pending"),
          walked: (yield* walked(tenant, `/v1/transactions?completed_from=${before}`)).map(({ reference }) => reference)
        }).toStrictEqual({
          from: [charged, paid],
          isOrdered: true,
          after: [charged],
          until: [paid],
          between: [paid],
          payouts: [paid],
          created: [charged],
          changed: [paid],
          open: [paidLater],
          walked: [charged, paid]
        })
      })
    )

    it.effect("by the time of their change have each record once, where it last changed, the last one last", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { charged, paid, paidLater } = yield* givenRecords(tenant)
        const all = yield* walked(tenant, "/v1/transactions?updated_from=2026-01-01T00:00:00.000Z")
        expect(all.map(({ reference }) => reference).toSorted()).toStrictEqual([charged, paid, paidLater].toSorted())
        expect(all.map(({ updated_at }) => updated_at)).toStrictEqual(all.map(({ updated_at }) => updated_at).toSorted())
        for (const item of all)
          expect(item).toStrictEqual(JSON.parse((yield* tenant.get(`/v1/transactions/${item.reference}`)).text).data)
        const second = all[1]?.updated_at ?? ""
        const rest = all.filter(({ updated_at }) => updated_at >= second)
        expect(yield* walked(tenant, `/v1/transactions?updated_from=${second}`)).toStrictEqual(rest)
        const test = yield* keyOn(gateway, tenant.appId, "test")
        expect(yield* found(test, "/v1/transactions?updated_from=2026-01-01T00:00:00.000Z")).toStrictEqual([])
      })
    )

    it.effect("refuse a cursor of another order, and every filter that they cannot read", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        yield* tenant.post("/v1/payouts", momoPayout("1234"))
        yield* tenant.post("/v1/payouts", momoPayout("1235"))
        const cursorFrom = (query: string) =>
          Effect.map(tenant.get(`/v1/transactions?limit=1&${query}`), (answer) => pageOf(answer).next_cursor ?? "none")
        const created = yield* cursorFrom("")
        const updated = yield* cursorFrom("updated_from=2026-01-01T00:00:00Z")
        const wrong = [
          [`/v1/transactions?updated_from=2026-01-01T00:00:00Z&cursor=${created}`, "cursor"],
          [`/v1/transactions?cursor=${updated}`, "cursor"],
          [`/v1/fx/exchanges?completed_from=2026-01-01T00:00:00Z&cursor=${updated}`, "cursor"],
          ["/v1/transactions?completed_from=yesterday", "completed_from"],
          ["/v1/transactions?completed_to=2026-02-30T00:00:00Z", "completed_to"],
          ["/v1/transactions?updated_from=1763712345", "updated_from"],
          ["/v1/transactions?updated_to=2026-01-01T00:00:00Z", "updated_to"],
          ["/v1/fx/exchanges?kind=payout", "kind"],
          ["/v1/fx/exchanges?status=expired", "status"],
          ["/v1/fx/exchanges?metadata.a=1&metadata.b=2", "metadata.b"],
          ["/v1/fx/exchanges?metadata.a=%00", "metadata.a"]
        ] as const
        for (const [target, path] of wrong)
          expect([target, said(yield* tenant.get(target))]).toMatchObject([
            target,
            { status: 422, code: "validation_failed", details: { issues: [{ path }] } }
          ])
      })
    )

    it.effect("are of exchanges alone at their own address, each as its own address shows it", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 1_000_000n)
        yield* tenant.post("/v1/payouts", momoPayout("1234"))
        const one = yield* exchanged(tenant, 50_000, { order: "A-1" }, "exchange one")
        const other = yield* exchanged(tenant, 40_000, { order: "A-2" })
        const list = "/v1/fx/exchanges"
        const items = pageOf(yield* tenant.get(list)).items
        for (const item of items)
          expect(item).toStrictEqual(JSON.parse((yield* tenant.get(`${list}/${item.reference}`)).text).data)
        const [last, first] = items
        const foreign = yield* tenantOn(gateway, 0n)
        const test = yield* keyOn(gateway, tenant.appId, "test")
        expect({
          all: items.map(({ reference }) => reference),
          walked: (yield* walked(tenant, `${list}?currency=KES`)).map(({ reference }) => reference),
          source: yield* found(tenant, `${list}?currency=UGX`),
          dollars: yield* found(tenant, `${list}?currency=USD`),
          successful: yield* found(tenant, `${list}?status=successful`),
          pending: yield* found(tenant, `${list}?status=pending`),
          reviewed: yield* found(tenant, `${list}?needs_review=true`),
          from: yield* found(tenant, `${list}?created_from=${last?.created_at}`),
          to: yield* found(tenant, `${list}?created_to=${last?.created_at}`),
          completed: yield* found(tenant, `${list}?completed_from=${first?.completed_at}`),
          completedBefore: yield* found(tenant, `${list}?completed_to=${last?.completed_at}`),
          updated: yield* found(tenant, `${list}?updated_from=${first?.updated_at}`),
          key: yield* found(tenant, `${list}?idempotency_key=exchange%20one`),
          order: yield* found(tenant, `${list}?metadata.order=A-2`),
          payments: (yield* found(tenant, "/v1/transactions")).includes(one),
          foreign: yield* found(foreign, list),
          test: yield* found(test, list)
        }).toStrictEqual({
          all: [other, one],
          walked: [other, one],
          source: [other, one],
          dollars: [],
          successful: [other, one],
          pending: [],
          reviewed: [],
          from: [other],
          to: [one],
          completed: [other, one],
          completedBefore: [one],
          updated: [one, other],
          key: [one],
          order: [other],
          payments: false,
          foreign: [],
          test: []
        })
      })
    )
  }
)
