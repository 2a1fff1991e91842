import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { PartyHashRetention } from "../../../src/services/ports/PartyHashRetention.ts"
import { charge, everyProvider, finished, inGhana, payout, pinned, routed } from "../../support/EveryProvider.ts"
import { bankPayout, momoCharge, momoPayout, walletPayout } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { asOwner, creditOn, keyOn, Stack, tenantOn } from "../../support/Stack.ts"

const SEARCH = "/v1/transactions/search"

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>
interface Page {
  readonly items: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly next_cursor: string | null
}
const pageOf = ({ text }: Answer): Page => JSON.parse(text).data
const search = (tenant: Pick<Tenant, "call">, body: unknown) => tenant.call("POST", SEARCH, body)
const found = (tenant: Pick<Tenant, "call">, body: unknown) =>
  Effect.map(search(tenant, body), (answer) => pageOf(answer).items.map(({ reference }) => reference))
const issues = (tenant: Tenant, body: unknown) =>
  Effect.map(
    search(tenant, body),
    (answer) => (said(answer) as { readonly details?: { readonly issues?: unknown } }).details?.issues
  )
const none: ReadonlyArray<unknown> = []

layer(Stack.layer(), { excludeTestServices: true })("support searches what a customer says", (it) => {
  it.effect("+256 772 123 456 says he paid twice, in the spellings that people type", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const source = { type: "momo", msisdn: "256772123456", network: "MTN" }
      const destination = { ...source, country: "UG" }
      const first = referenceOf(yield* tenant.post("/v1/collections", momoCharge("3001", { source })))
      yield* tenant.until(`/v1/collections/${first}`, ({ status }) => status === "successful")
      // Fifteen minutes later: until then the guard refuses a second charge.
      yield* (yield* asOwner(database))`DELETE FROM payer_locks WHERE app_id = ${tenant.appId}`
      const second = referenceOf(yield* tenant.post("/v1/collections", momoCharge("3001", { source, amount_minor: 7_000 })))
      const paid = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("3001", { destination })))
      const wallet = referenceOf(
        yield* tenant.post(
          "/v1/payouts",
          walletPayout("1", { destination: { type: "wallet", country: "UG", msisdn: "256772123456" } })
        )
      )
      yield* tenant.post("/v1/payouts", momoPayout("3457"))
      const all = [wallet, paid, second, first]
      const spellings = [
        "+256 772 123 456",
        "256772123456",
        "00256 772-123-456",
        "+256 (0) 772.123.456",
        "\u202a+256 772 123 456\u202c"
      ]
      for (const msisdn of spellings) expect(yield* found(tenant, { msisdn }), msisdn).toStrictEqual(all)
      for (const msisdn of ["0772 123 456", "772123456", "+256772123456"])
        expect(yield* found(tenant, { msisdn, country: "UG" }), msisdn).toStrictEqual(all)

      const page = pageOf(yield* search(tenant, { msisdn: "+256 772 123 456" }))
      expect(page.next_cursor).toBeNull()
      expect(page.items[1]).toStrictEqual((yield* tenant.get(`/v1/payouts/${paid}`)).body.data)
      expect(page.items[3]).toMatchObject({ masked_source: "••••3456", kind: "collection" })
      expect(JSON.stringify(page)).not.toContain("772123456")
      // In the next country the same digits are another number.
      expect(yield* found(tenant, { msisdn: "0772 123 456", country: "KE" })).toStrictEqual(none)
    })
  )

  it.effect("page by page, the newest first, each once while new ones arrive", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const made: Array<string> = []
      for (let at = 0; at < 5; at++)
        made.unshift(referenceOf(yield* tenant.post("/v1/payouts", momoPayout("3021", { amount_minor: 1_000 + at }))))
      const walked: Array<unknown> = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const body = { msisdn: "25677212 3021", limit: 2, ...(cursor === undefined ? {} : { cursor }) }
        const page = pageOf(yield* search(tenant, body))
        expect(page.items.length).toBeLessThanOrEqual(2)
        walked.push(...page.items.map(({ reference }) => reference))
        cursor = page.next_cursor
        yield* tenant.post("/v1/payouts", momoPayout("3021", { amount_minor: 500 }))
      }
      expect(walked).toStrictEqual(made)
    })
  )

  it.effect("an account number finds its payouts at every bank, whatever stands between its digits", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const at = (bank_code: string) => ({ ...bankPayout("3031").destination, bank_code })
      const first = referenceOf(yield* tenant.post("/v1/payouts", bankPayout("3031")))
      const other = referenceOf(yield* tenant.post("/v1/payouts", bankPayout("3031", { destination: at("16") })))
      yield* tenant.post("/v1/payouts", bankPayout("3032"))
      for (const account_number of ["903000123031", "9030-0012 3031", " 9030.0012.3031 "])
        expect(yield* found(tenant, { account_number }), account_number).toStrictEqual([other, first])
      expect(yield* found(tenant, { account_number: "90300012" })).toStrictEqual(none)
      // The provider never accepted it, so that no recipient was saved.
      const refused = referenceOf(yield* tenant.post("/v1/payouts", bankPayout("0001")))
      expect(yield* found(tenant, { account_number: "903000120001" })).toStrictEqual([refused])
    })
  )

  it.effect("members of metadata together, to the digit", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const made = (ending: string, metadata: string) => {
        const body = JSON.stringify({ ...momoPayout(ending), metadata: 0 }).replace('"metadata":0', `"metadata":${metadata}`)
        return Effect.map(tenant.post("/v1/payouts", body), referenceOf)
      }
      const one = yield* made("3041", '{"order":12345678901234567890,"shop":"Kampala","gift":true}')
      const two = yield* made("3042", '{"order":12345678901234567890,"shop":"Jinja","gift":false}')
      const asked = (metadata: string) => found(tenant, `{"metadata":${metadata}}`)
      expect(yield* asked('{"order":12345678901234567890}')).toStrictEqual([two, one])
      expect(yield* asked('{"order":"12345678901234567890","shop":"Jinja"}')).toStrictEqual([two])
      expect(yield* asked('{"shop":"Kampala","gift":true}')).toStrictEqual([one])
      expect(yield* asked('{"shop":"Kampala","gift":false}')).toStrictEqual(none)
      expect(yield* asked('{"order":12345678901234567891}')).toStrictEqual(none)
      expect(yield* asked('{"toString":"x"}')).toStrictEqual(none)
    })
  )

  it.effect("what says nothing, or two things, is refused without repeating it", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const one = [{ path: "msisdn", message: "is required, or one of account_number, metadata and provider_receipt" }]
      const prefix = [
        {
          path: "msisdn",
          message: "must be a phone number with its country's prefix, or a national one with `country` beside it"
        }
      ]
      expect(yield* issues(tenant, {})).toStrictEqual(one)
      expect(yield* issues(tenant, { limit: 3 })).toStrictEqual(one)
      expect(yield* issues(tenant, { msisdn: "+256772123456", provider_receipt: "A1" })).toStrictEqual([
        { path: "provider_receipt", message: "must not be beside msisdn" }
      ])
      expect(yield* issues(tenant, { msisdn: "0772 123 456" })).toStrictEqual(prefix)
      expect(yield* issues(tenant, { msisdn: "call me" })).toStrictEqual(prefix)
      expect(yield* issues(tenant, { provider_receipt: "A1", country: "UG" })).toMatchObject([{ path: "country" }])
      expect(yield* issues(tenant, { provider_receipt: "--" })).toMatchObject([{ path: "provider_receipt" }])
      expect(yield* issues(tenant, { account_number: "..." })).toMatchObject([{ path: "account_number" }])
      expect(yield* issues(tenant, { metadata: {} })).toMatchObject([{ path: "metadata" }])
      expect(yield* issues(tenant, { metadata: { order: null } })).toMatchObject([{ path: "metadata.order" }])
      expect(yield* issues(tenant, { metadata: { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 } })).toMatchObject([{ path: "metadata" }])
      expect(yield* issues(tenant, { msisdn: "+256772123456", cursor: "abc" })).toMatchObject([{ path: "cursor" }])
      expect(yield* issues(tenant, { msisdn: "+256772123456", limit: 101 })).toMatchObject([{ path: "limit" }])
    })
  )

  it.effect("one tenant finds nothing of another, one mode nothing of the other, and a reader what its tenant does", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const owner = yield* tenantOn(gateway)
      const stranger = yield* tenantOn(gateway)
      const metadata = { order: "X-1" }
      const own = referenceOf(yield* owner.post("/v1/payouts", bankPayout("3051", { metadata })))
      const charged = referenceOf(yield* owner.post("/v1/collections", momoCharge("3051", { metadata })))
      const testKey = yield* keyOn(gateway, owner.appId, "test")
      const reader = yield* keyOn(gateway, owner.appId, "live", { role: "reader" })
      const terms = [{ account_number: "903000123051" }, { msisdn: "+256773343051" }, { metadata }]
      const held = [[own], [charged], [charged, own]]
      expect(yield* Effect.forEach(terms, (term) => found(owner, term))).toStrictEqual(held)
      expect(yield* Effect.forEach(terms, (term) => found(reader, term))).toStrictEqual(held)
      for (const other of [stranger, testKey]) {
        const answers = yield* Effect.forEach(terms, (term) => search(other, term))
        // To the byte the answer to what nobody has.
        const absent = yield* search(other, { msisdn: "+256772999999" })
        expect(answers.map(({ text }) => text)).toStrictEqual(terms.map(() => absent.text))
      }
    })
  )

  it.effect("numbers cannot be walked through: of 200 searches a key gets 30, and its reads go on", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const walk = Array.from({ length: 200 }, (_, at) => ({ msisdn: `+256772${String(at).padStart(6, "0")}` }))
      const answers = yield* Effect.forEach(walk, (term) => search(tenant, term))
      const refused = answers.filter(({ status }) => status === 429)
      // A slow machine has some back meanwhile.
      expect(refused.length).toBeGreaterThan(100)
      expect(answers.length - refused.length).toBeGreaterThanOrEqual(30)
      expect(refused.map(said)[0]).toMatchObject({
        code: "rate_limited",
        class: "retriable",
        details: { scope: "key" }
      })
      expect((yield* tenant.get("/v1/transactions")).status).toBe(200)
    })
  )

  it.effect("by a number for 90 days; then by what else is known", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const metadata = { order: "OLD-1" }
      const own = referenceOf(yield* tenant.post("/v1/payouts", bankPayout("3061", { metadata })))
      const term = { account_number: "903000123061" }
      expect(yield* found(tenant, term)).toStrictEqual([own])
      const sql = yield* asOwner(database)
      yield* sql`UPDATE transactions SET created_at = created_at - interval '91 days' WHERE reference = ${own}`
      yield* sql`UPDATE metadata_members SET created_at = created_at - interval '91 days' WHERE reference = ${own}`
      yield* sql`UPDATE kept_since SET since = '-infinity' WHERE what = 'numbers'`
      yield* Context.get(gateway.context, PartyHashRetention).prune(Date.now() - 90 * 86_400_000, 100)
      expect(yield* found(tenant, term)).toStrictEqual(none)
      expect(yield* found(tenant, { metadata })).toStrictEqual([own])
      expect(yield* sql`SELECT party_hash, account_hash FROM transactions WHERE reference = ${own}`).toStrictEqual([
        { party_hash: null, account_hash: null }
      ])
    })
  )
})

layer(everyProvider, { excludeTestServices: true })("the number in the operator's SMS", (it) => {
  it.effect("is in the record, in its event and in the search, in small letters and with a blank, too", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      yield* routed(gateway, inGhana)
      for (const provider of ["mtn", "pawapay"]) {
        const tenant = yield* pinned(gateway, provider)
        yield* creditOn(gateway, tenant, 50_000n, "GHS")
        const collected = yield* tenant.post("/v1/collections", charge("1234"))
        yield* finished(collected)
        const paid = yield* tenant.post("/v1/payouts", payout("1234"))
        for (const made of [collected, paid]) {
          const reference = referenceOf(made)
          const record = yield* tenant.until(`/v1/transactions/${reference}`, ({ status }) => status === "successful")
          const receipt = String(record["provider_receipt"])
          expect(receipt, provider).toMatch(/^\d{4,}$/)
          const spelled = ` ${receipt.slice(0, 3)} ${receipt.slice(3).toLowerCase()}`
          expect(yield* found(tenant, { provider_receipt: spelled })).toContain(reference)
          const events = pageOf(yield* tenant.get(`/v1/events?reference=${reference}`)).items
          expect(JSON.stringify(events)).toContain(`"provider_receipt":"${receipt}"`)
          expect(yield* found(yield* tenantOn(gateway), { provider_receipt: receipt })).toStrictEqual(none)
        }
      }
    })
  )

  it.effect("is null where the provider tells none", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* pinned(gateway, "eversend")
      const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      const record = yield* tenant.until(`/v1/transactions/${reference}`, ({ status }) => status === "successful")
      expect(record).toMatchObject({ provider_receipt: null })
    })
  )
})
