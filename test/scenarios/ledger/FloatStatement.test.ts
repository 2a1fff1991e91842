import { layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { expect } from "vitest"
import { credit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { referenceOf, said, signingHeaders } from "../../support/SignedClient.ts"
import { creditOn, Stack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

interface Item {
  readonly type: string
  readonly reference: string
  readonly external_id: string | null
  readonly available_change_minor: number
  readonly reserved_change_minor: number
  readonly available_after_minor: number
  readonly fee_minor: number
  readonly metadata: unknown
}
interface Balance {
  readonly available_minor: number
  readonly reserved_minor: number
}
interface Statement {
  readonly opening: Balance
  readonly closing: Balance
  readonly items: ReadonlyArray<Item>
  readonly next_cursor: string | null
}
const statementOf = ({ text }: { readonly text: string }): Statement => JSON.parse(text).data
const ENTRIES = "/v1/float/entries"

layer(Stack.layer(), { excludeTestServices: true })("the statement of a float, over real HTTP", (it) => {
  it.effect("ends in the position of GET /v1/float, whose figures add up, and shows no operator's note", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* creditOn(gateway, { appId: tenant.appId, mode: "live" }, 5_000n)
      const payout = referenceOf(
        yield* tenant.post("/v1/payouts", { ...momoPayout("3002"), metadata: { salary: "May", n: 1.5 } })
      )
      yield* tenant.until(`/v1/payouts/${payout}`, ({ status }) => status === "successful")
      const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0008")))
      yield* tenant.until(`/v1/collections/${charge}`, ({ status }) => status === "successful")

      const answer = yield* tenant.get(`${ENTRIES}?currency=UGX`)
      expect(answer.status).toBe(200)
      expect(answer.text).not.toContain("note")
      const { closing, items, next_cursor, opening } = statementOf(answer)
      expect(Object.keys(JSON.parse(answer.text).data).join(" ")).toBe("currency from to opening closing items next_cursor")
      expect([opening, next_cursor]).toStrictEqual([{ available_minor: 0, reserved_minor: 0 }, null])
      expect(Object.keys(items[0] ?? {}).join(" ")).toBe(
        "id at type reference external_id available_change_minor reserved_change_minor fee_minor available_after_minor reserved_after_minor metadata"
      )
      const own = items.filter(({ reference }) => reference === payout)
      expect(own.map(({ metadata, type }) => [type, metadata])).toStrictEqual([
        ["reserve", { salary: "May", n: 1.5 }],
        ["settle", { salary: "May", n: 1.5 }]
      ])
      expect(items.filter(({ reference }) => reference === charge).map(({ type }) => type)).toStrictEqual(["collect"])
      const credits = items.filter(({ type }) => type === "credit")
      expect(credits.every(({ external_id, metadata }) => external_id !== null && metadata === null)).toBe(true)

      const [float] = JSON.parse((yield* tenant.get("/v1/float")).text).data.filter(
        ({ currency }: { currency: string }) => currency === "UGX"
      )
      expect(closing).toStrictEqual({ available_minor: float.available_minor, reserved_minor: float.reserved_minor })
      const cameIn = float.collected_minor + float.credited_minor + float.fx_in_minor + float.returned_minor
      const wentOut = float.fx_out_minor + float.paid_out_minor + float.debited_minor + float.provider_fees_minor
      expect(float.available_minor + float.reserved_minor - float.owed_minor).toBe(cameIn - wentOut)
      expect(items.reduce((total, { fee_minor }) => total + fee_minor, 0)).toBe(float.provider_fees_minor)

      const paged: Array<Item> = []
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = statementOf(yield* tenant.get(`${ENTRIES}?currency=UGX&limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`))
        paged.push(...page.items)
        cursor = page.next_cursor
      }
      expect(paged).toStrictEqual(items)
      const settled = statementOf(yield* tenant.get(`${ENTRIES}?currency=UGX&type=settle&reference=${payout}`))
      expect(settled.items.map(({ type }) => type)).toStrictEqual(["settle"])
      expect(settled.closing).toStrictEqual(closing)
    })
  )

  it.effect("gives the same rows as CSV, in which a formula is harmless", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* Context.get(gateway.context, FloatLedger).adjust({
        appId: tenant.appId,
        mode: "live",
        currency: "UGX",
        direction: "credit",
        amount: minor(3n),
        externalId: '=HYPERLINK("x"),1',
        note: "not for the tenant",
        at: NOON + 1,
        entry: credit("UGX", minor(3n)),
        audit: auditEntry()
      })
      const csvOf = (target: string) =>
        Effect.promise(async () => {
          const headers = signingHeaders(gateway.host, tenant.key, { method: "GET", target, body: "" })
          const answer = await fetch(`${gateway.url}${target}`, { headers: { ...headers, accept: "text/csv" } })
          return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() }
        })
      const { status, text, type } = yield* csvOf(`${ENTRIES}?currency=UGX`)
      expect([status, type]).toStrictEqual([200, "text/csv; charset=utf-8; header=present"])
      const lines = text.split("\r\n")
      expect(lines[0]).toBe(
        "id,at,type,reference,external_id,available_change_minor,reserved_change_minor,fee_minor,available_after_minor,reserved_after_minor,metadata"
      )
      expect(lines[2]).toContain(`,"'=HYPERLINK(""x""),1",3,0,0,`)
      const { items } = statementOf(yield* tenant.get(`${ENTRIES}?currency=UGX`))
      expect([lines.length, lines.at(-1)]).toStrictEqual([1 + items.length + 1, ""])
      expect(text).not.toContain("not for the tenant")
      const refused = yield* csvOf(`${ENTRIES}?currency=UGX&limit=5`)
      expect([refused.status, JSON.parse(refused.text).error.code]).toStrictEqual([422, "validation_failed"])
    })
  )

  it.effect("refuses what it does not know, and shows nothing of another tenant", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const other = yield* tenantOn(gateway)
      yield* creditOn(gateway, { appId: other.appId, mode: "test" }, 5_000n)
      for (const query of [
        "",
        "currency=UGX&kind=payout",
        "currency=UGX&from=May",
        "currency=UGX&cursor=abc",
        "currency=UGX&type=gift"
      ])
        expect(said(yield* tenant.get(`${ENTRIES}?${query}`))).toMatchObject({ status: 422, code: "validation_failed" })
      const empty = statementOf(yield* tenant.get(`${ENTRIES}?currency=RWF&from=2026-01-01T00:00:00.000Z`))
      expect([empty.items, empty.closing]).toStrictEqual([[], { available_minor: 0, reserved_minor: 0 }])
    })
  )
})
