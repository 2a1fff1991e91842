import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { bankPayout, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { asOwner, keyOn, Stack, tenantOn } from "../../support/Stack.ts"

const itemsOf = ({
  text
}: {
  readonly text: string
}): { items: ReadonlyArray<Record<string, string>>; next_cursor: string | null } => JSON.parse(text).data

layer(Stack.layer(), { excludeTestServices: true })("beneficiaries, over real HTTP", (it) => {
  it.effect("are saved masked when a payout is accepted, one for each recipient", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* tenant.post("/v1/payouts", bankPayout("3001"))
      yield* tenant.post("/v1/payouts", momoPayout("3002"))
      yield* tenant.post("/v1/payouts", momoPayout("3002"))
      yield* tenant.post("/v1/payouts", momoPayout("0001"))
      const { items, next_cursor } = itemsOf(yield* tenant.get("/v1/beneficiaries"))
      expect(next_cursor).toBeNull()
      expect(items).toMatchObject([
        { type: "momo", masked_destination: "••••3002", network: "MTN", account_name: null, is_test_mode: false },
        {
          type: "bank",
          masked_destination: "••••3001",
          bank_code: "01",
          account_name: "J••• D••",
          country: "UG",
          currency: "UGX"
        }
      ])
      const one = yield* tenant.get(`/v1/beneficiaries/${items[0]?.["id"]}`)
      expect(JSON.parse(one.text).data).toStrictEqual(items[0])
    })
  )

  it.effect("are listed in pages, newest first", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      for (const ending of ["3101", "3102", "3103"]) yield* tenant.post("/v1/payouts", momoPayout(ending))
      const first = itemsOf(yield* tenant.get("/v1/beneficiaries?limit=2"))
      const second = itemsOf(yield* tenant.get(`/v1/beneficiaries?limit=2&cursor=${first.next_cursor}`))
      expect([...first.items, ...second.items].map(({ masked_destination }) => masked_destination)).toStrictEqual([
        "••••3103",
        "••••3102",
        "••••3101"
      ])
      expect(second.next_cursor).toBeNull()
    })
  )

  const oddPages = ["limit=0", "limit=101", "limit=x", "limit=1e1", "limit=%2B5", "limit=1&limit=2", "cursor=%20", "cursor=abc"]
  it.effect.each(oddPages)("refuses ?%s and names the parameter", (query) =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const path = query.slice(0, query.indexOf("="))
      expect(said(yield* tenant.get(`/v1/beneficiaries?${query}`))).toMatchObject({
        status: 422,
        code: "validation_failed",
        details: { issues: [{ path, message: expect.stringMatching(/^must /) }] }
      })
    })
  )

  it.effect("belong to one tenant and mode; any other tenant or mode gets the same 404", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* tenant.post("/v1/payouts", momoPayout("3201"))
      const [mine] = itemsOf(yield* tenant.get("/v1/beneficiaries")).items
      const stranger = yield* tenantOn(gateway)
      const tested = yield* keyOn(gateway, tenant.appId, "test")
      const absent = yield* tenant.get("/v1/beneficiaries/00000000000000000000000000")
      expect(absent.status).toBe(404)
      expect((yield* stranger.get(`/v1/beneficiaries/${mine?.["id"]}`)).text).toBe(absent.text)
      expect((yield* tested.get(`/v1/beneficiaries/${mine?.["id"]}`)).text).toBe(absent.text)
    })
  )

  it.effect("are purged in both modes, only when the caller confirms with its own app id", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const other = yield* tenantOn(gateway)
      yield* tenant.post("/v1/payouts", momoPayout("3301"))
      yield* other.post("/v1/payouts", momoPayout("3302"))
      const refused = { status: 422, code: "validation_failed" }
      expect(said(yield* tenant.call("DELETE", "/v1/beneficiaries"))).toMatchObject(refused)
      expect(
        said(yield* tenant.call("DELETE", "/v1/beneficiaries", undefined, { "x-confirm-purge": other.appId }))
      ).toMatchObject(refused)
      const purged = yield* tenant.call("DELETE", "/v1/beneficiaries", undefined, { "x-confirm-purge": tenant.appId })
      expect(JSON.parse(purged.text).data).toStrictEqual({ purged: 1 })
      expect(itemsOf(yield* tenant.get("/v1/beneficiaries")).items).toHaveLength(0)
      expect(itemsOf(yield* other.get("/v1/beneficiaries")).items).toHaveLength(1)
    })
  )

  it.effect("keep no number that a payout could be sent to, and are no destination of one", () =>
    Effect.gen(function* () {
      const { gateway, database } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const { destination, ...terms } = momoPayout("3401")
      const reference = referenceOf(yield* tenant.post("/v1/payouts", { ...terms, destination }))
      yield* eventually(tenant.get(`/v1/payouts/${reference}`), ({ body }) => body.data["status"] === "successful")
      const [saved] = itemsOf(yield* tenant.get("/v1/beneficiaries")).items
      const owner = yield* asOwner(database)
      const [{ stored, sealed } = { stored: {}, sealed: {} }] = yield* owner<{ stored: object; sealed: object }>`
        SELECT to_jsonb(b) AS stored, (SELECT to_jsonb(w) FROM open_work w WHERE w.reference = ${reference}) AS sealed
        FROM beneficiaries b WHERE b.app_id = ${tenant.appId}`
      expect(JSON.stringify([stored, sealed])).not.toContain(String(destination["msisdn"]).slice(-9))
      expect(Object.entries(stored).flatMap(([name, value]) => (String(value).startsWith("\\x") ? [name] : []))).toStrictEqual([
        "party_hash"
      ])
      const named = yield* tenant.post("/v1/payouts", { ...terms, beneficiary_id: saved?.["id"] })
      expect(said(named)).toMatchObject({
        status: 422,
        code: "validation_failed",
        details: { issues: [{ path: "destination", message: "is required" }] }
      })
      const both = yield* tenant.post("/v1/payouts", { ...momoPayout("3402"), beneficiary_id: saved?.["id"] })
      expect(said(both)).toMatchObject({ status: 201 })
      expect([both.headers.get("x-gateway-ignored"), both.body.data["masked_destination"]]).toStrictEqual([
        "beneficiary_id",
        "••••3402"
      ])
    })
  )
})
