import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { bankPayout, walletPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { asOwner, Stack, tenantOn } from "../../support/Stack.ts"

const itemsOf = ({ text }: { readonly text: string }): ReadonlyArray<Record<string, string>> => JSON.parse(text).data.items

layer(Stack.layer(), { excludeTestServices: true })("characters of more than one unit of UTF-16", (it) => {
  it.effect("in names and tags of recipients are never cut in two by a mask", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const bank = bankPayout("3091").destination
      const named = (account_name: string, account_number: string) =>
        bankPayout("3091", { destination: { ...bank, account_name, account_number } })
      const wallet = (tag: string) => walletPayout("3094", { destination: { ...walletPayout("3094").destination, tag } })
      const orders = [named("😀lex Doe", "0012003091"), named("Jane 😀", "0012003092"), wallet("😀😀a"), wallet("a😀😀😀")]
      const references = (yield* Effect.forEach(orders, (order) => tenant.post("/v1/payouts", order))).map(referenceOf)
      for (const reference of references) yield* tenant.until(`/v1/payouts/${reference}`, ({ status }) => status === "successful")
      const items = itemsOf(yield* tenant.get("/v1/beneficiaries"))
      expect(items.map(({ account_name, masked_destination }) => account_name ?? masked_destination)).toStrictEqual([
        "••••😀😀",
        "••••a",
        "J••• 😀•",
        "😀••• D••"
      ])
      expect(itemsOf(yield* tenant.get("/v1/transactions?currency=UGX"))).toHaveLength(4)
    })
  )

  it.effect("that an earlier release cut in two stop no list and no search", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const metadata = { order: "😀 \\ud83d" }
      const made = referenceOf(yield* tenant.post("/v1/payouts", { ...walletPayout("3001"), metadata }))
      yield* tenant.until(`/v1/payouts/${made}`, ({ status }) => status === "successful")
      const sql = yield* asOwner(database)
      const halves = "••••\\ude00 \\ud83d"
      yield* sql`UPDATE transactions SET record = replace(record::text, '••••3001', ${halves})::json WHERE reference = ${made}`
      const [read] =
        yield* sql`SELECT well_formed(record) ->> 'maskedDestination' AS mask, well_formed(record) ->> 'metadata' AS metadata,
        ARRAY(SELECT metadata_members_of(record)) = ARRAY[metadata_member('order', ${metadata.order})] AS found
        FROM transactions WHERE reference = ${made}`
      expect(read).toStrictEqual({ mask: "••••\ufffd \ufffd", metadata: JSON.stringify(metadata), found: true })
      const listed = yield* tenant.get("/v1/transactions?currency=UGX")
      expect(itemsOf(listed).map(({ reference }) => reference)).toStrictEqual([made])
    }).pipe(Effect.scoped)
  )
})
