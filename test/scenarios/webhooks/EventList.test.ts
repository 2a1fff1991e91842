import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { EventType } from "../../../src/domain/Event.ts"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"

const EVENTS = "/v1/events"
type Told = Record<string, unknown> & {
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly reference: string }
}
const pageOf = ({
  text
}: {
  readonly text: string
}): { readonly items: ReadonlyArray<Told>; readonly next_cursor: string | null } => JSON.parse(text).data
/** Those of records: the float that a test gives has events, too. */
const typesOf = (answer: { readonly text: string }) =>
  pageOf(answer)
    .items.map(({ type }) => type)
    .filter((type) => !type.startsWith("float."))

layer(Stack.layer(), { excludeTestServices: true })("the list of events", (it) => {
  it.effect(
    "has every event without an endpoint, byte for byte as a recovery delivers it, by time, type and record, page after page",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 100_000n)
        const payout = referenceOf(yield* tenant.post("/v1/payouts", { ...momoPayout("3101"), metadata: { n: 1.5 } }))
        yield* tenant.until(`/v1/payouts/${payout}`, ({ status }) => status === "successful")
        const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010")))
        const fact: Fact = { _tag: "Mismatched", note: "they name another payer" }
        yield* Context.get(gateway.context, Settlement).apply({ reference: Reference.make(charge), fact, actor: "callback" })

        const all = yield* tenant.get(EVENTS)
        expect(all.status).toBe(200)
        expect(typesOf(all)).toEqual([
          "payout.pending",
          "payout.successful",
          "collection.pending",
          "collection.updated",
          "collection.updated"
        ])
        expect(typesOf(yield* tenant.get(`${EVENTS}?reference=${payout}`))).toEqual(["payout.pending", "payout.successful"])
        expect(typesOf(yield* tenant.get(`${EVENTS}?reference=${charge}&type=collection.updated`))).toEqual([
          "collection.updated",
          "collection.updated"
        ])
        expect(typesOf(yield* tenant.get(`${EVENTS}?type=payout.successful`))).toEqual(["payout.successful"])
        const [first, second] = pageOf(all).items.filter(({ type }) => !type.startsWith("float."))
        expect(typesOf(yield* tenant.get(`${EVENTS}?to=${second?.timestamp}`))).toEqual(["payout.pending"])
        expect(typesOf(yield* tenant.get(`${EVENTS}?from=${second?.timestamp}`))).toHaveLength(4)
        expect(typesOf(yield* tenant.get(`${EVENTS}?from=2000-01-01T00:00:00.000Z&to=${first?.timestamp}`))).toEqual([])

        const walked: Array<string> = []
        let cursor: string | null = ""
        while (cursor !== null) {
          const page: ReturnType<typeof pageOf> = pageOf(
            yield* tenant.get(`${EVENTS}?limit=1&type=payout.pending${cursor === "" ? "" : `&cursor=${cursor}`}`)
          )
          walked.push(...page.items.map(({ type }) => type))
          cursor = page.next_cursor
        }
        expect(walked).toEqual(["payout.pending"])

        const hook = yield* webhooksOf(gateway, tenant, EventType.literals)
        yield* tenant.post("/v1/webhooks/recover", { since: first?.timestamp })
        for (const { body } of yield* hook.count(5)) expect(all.text).toContain(body)
      })
  )

  it.effect("refuses what it does not know, and shows nothing of another tenant or mode", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 100_000n)
      const other = yield* tenantOn(gateway, 100_000n)
      const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("3102")))
      expect(typesOf(yield* other.get(EVENTS))).toEqual([])
      expect(pageOf(yield* other.get(`${EVENTS}?reference=${payout}`)).items).toEqual([])
      for (const [query, path] of [
        ["from=yesterday", "from"],
        ["to=2026-13-01T00:00:00.000Z", "to"],
        ["type=payout.paid", "type"],
        ["reference=x", "reference"],
        ["cursor=abc", "cursor"],
        ["limit=0", "limit"],
        ["status=due", "status"]
      ] as const)
        expect(said(yield* tenant.get(`${EVENTS}?${query}`))).toMatchObject({
          status: 422,
          code: "validation_failed",
          details: { issues: [{ path }] }
        })
    })
  )
})
