import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import type { Fact } from "../../src/domain/Fact.ts"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { defaultCapabilities } from "../../src/domain/Tenant.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { NOON } from "../support/SampleTransactions.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { creditOn, type Gateway, Stack, tenantOn, webhooksOf } from "../support/Stack.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { operatorOn } from "./ConsoleClient.ts"
import { originOf } from "./Person.ts"

/** A viewer whose browser runs no script. */
const viewerOn = Effect.fnUntraced(function* (gateway: Gateway, name: string) {
  const token = yield* operatorOn(name, "viewer").pipe(Effect.provide(SignIn.layer), Effect.provide(gateway.context))
  const origin = originOf(gateway)
  const own = { "sec-fetch-site": "same-origin", origin }
  const login = yield* Effect.promise(() =>
    fetch(`${origin}/login`, {
      method: "POST",
      redirect: "manual",
      headers: own,
      body: new URLSearchParams({ name, token, next: "/" })
    })
  )
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? ""
  const ask = (path: string, init: RequestInit = {}) =>
    Effect.promise(async () => {
      const answer = await fetch(`${origin}${path}`, { redirect: "manual", ...init, headers: { ...own, cookie } })
      return {
        status: answer.status,
        to: answer.headers.get("location") ?? "",
        headers: answer.headers,
        text: await answer.text()
      }
    })
  const post = Effect.fnUntraced(function* (path: string, fields: Readonly<Record<string, string>>) {
    const token = /name="form_token" value="([0-9a-f]+)"/.exec((yield* ask(path)).text)?.[1] ?? ""
    return yield* ask(path, { method: "POST", body: new URLSearchParams({ form_token: token, ...fields }) })
  })
  return { read: ask, post }
})

/** Its address, as a browser reads it from the page. */
const linkOf = (page: string, text: string) =>
  new RegExp(`href="([^"]+)">${text}<`).exec(page)?.[1]?.replaceAll("&amp;", "&") ?? null
const referencesIn = (page: string) =>
  [...page.matchAll(/href="\/(?:transactions|reviews)\/(\w{26})"/g)].map(([, found]) => found)
const linesOf = (csv: string) => csv.split("\r\n").slice(0, -1)

const COUNT = 27
const unanswered: Fact = { _tag: "Unknown", reason: "timeout", note: "=no answer, in time" }
const doubtful: Fact = {
  _tag: "Succeeded",
  providerReference: null,
  currency: "UGX",
  amount: minor(9_999n),
  fee: null,
  note: "another amount"
}

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "the console's lists",
  (it) => {
    const given = Effect.fnUntraced(function* (ending: string) {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 11_000n * BigInt(COUNT))
      const pay = (_: unknown, at: number) => {
        const { destination, ...payout } = momoPayout(ending)
        return tenant.post("/v1/payouts", { ...payout, destination: { ...destination, msisdn: `25677${200 + at}${ending}` } })
      }
      const answers = yield* Effect.forEach(Array.from({ length: COUNT }), pay, { concurrency: 8 })
      return { gateway, tenant, references: answers.map(referenceOf) }
    })

    it.effect("go on from page to page with their filters, and give all that fits as CSV, with numbers masked", () =>
      Effect.gen(function* () {
        const { gateway, references, tenant } = yield* given("0008")
        const { apply } = Context.get(gateway.context, Settlement)
        for (const reference of references)
          yield* apply({ reference: Reference.make(reference), fact: unanswered, actor: "reconciler" })
        const { read } = yield* viewerOn(gateway, "walker")
        const query = `app=${tenant.appId}&kind=payout&provider=eversend&corridor=UG%2FUGX&currency=UGX&least=10%2C000&most=10%2C000`
        for (const list of ["transactions", "unknown"]) {
          const first = yield* read(`/${list}?${query}&state=unknown`)
          expect(referencesIn(first.text)).toHaveLength(25)
          const way = linkOf(first.text, list === "unknown" ? "Younger ones" : "Older ones") ?? ""
          const second = yield* read(way)
          expect(new URLSearchParams(way.split("?")[1]).get("least")).toBe("10,000")
          expect([...referencesIn(first.text), ...referencesIn(second.text)].toSorted()).toStrictEqual(references.toSorted())
          expect(second.text).toMatch(list === "unknown" ? /Results/ : /Narrow the list down/)
          expect(linkOf(second.text, "Older ones") ?? linkOf(second.text, "Younger ones")).toBeNull()

          const file = yield* read(linkOf(second.text, "What fits, as CSV") ?? "")
          expect(file.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present")
          expect(linesOf(file.text)).toHaveLength(COUNT + 1)
          expect(file.text).not.toMatch(/25677\d{4}/)
          expect(file.text).toContain(list === "unknown" ? `,"'=no answer, in time"` : "••••0008")
        }
      })
    )

    it.effect("of reviews has the same filters, the oldest first", () =>
      Effect.gen(function* () {
        const { gateway, references, tenant } = yield* given("0008")
        const { apply } = Context.get(gateway.context, Settlement)
        for (const reference of references.slice(0, 2))
          yield* apply({ reference: Reference.make(reference), fact: doubtful, actor: "callback" })
        const { read } = yield* viewerOn(gateway, "reviewer")
        const found = (query: string) =>
          Effect.map(read(`/reviews?app=${tenant.appId}&${query}`), ({ text }) => new Set(referencesIn(text)).size)
        expect(yield* Effect.forEach(["", "kind=payout", "kind=exchange", "corridor=KE", "provider=mtn"], found)).toStrictEqual([
          2, 2, 0, 0, 0
        ])
        expect(linesOf((yield* read(`/reviews.csv?app=${tenant.appId}`)).text)).toHaveLength(3)
      })
    )

    it.effect("say what is wrong with a filter, keep what was typed, and look for nothing", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 0n)
        const { read } = yield* viewerOn(gateway, "typist")
        const wrong: ReadonlyArray<readonly [string, string, string]> = [
          ["transactions?status=lost", "Status: one of requires_action, pending", `value="lost" selected`],
          ["transactions?least=1", "An amount needs its currency.", `value="1"`],
          ["transactions?currency=UGX&most=1.50", "An amount of UGX is written as 1,000", `value="1.50"`],
          ["transactions?corridor=uganda", "A corridor is written as UG", `value="uganda"`],
          ["transactions.csv?from=yesterday", "Created from (UTC): a day and a time of UTC", `value="yesterday"`],
          ["unknown?provider=nobody", "Provider: one of", `value="nobody" selected`],
          ["unknown/rulings.csv?app=BAD%21", "A tenant has 1 to 40 characters", `value="BAD!"`],
          ["unknown.csv?age=9y", "Open for longer than: one of 1m, 1h, 24h.", `value="9y" selected`],
          ["reviews?app=A%20B", "A tenant has 1 to 40 characters", `value="A B"`],
          ["callbacks?status=new", "Status: one of due, done, parked.", `value="new" selected`],
          ["callbacks.csv?to=1", "Received before (UTC): a day and a time", `value="1"`],
          ["floats/shop/live/UGX/statement.csv?from=May", "From: a day, as 2026-01-31.", `value="May"`],
          ["floats/shop/live/UGX/statement.csv?from=0000-01-01", "From: a day, as 2026-01-31.", `value="0000-01-01"`],
          ["floats/shop/live/UGX/statement.csv?to=9999-12-31", "Up to and with: a day", `value="9999-12-31"`],
          ["floats/shop/live/UGX/statement.csv?type=gift", "Type: one of ", `value="gift" selected`],
          ["floats/shop/live/UGX/statement.csv?reference=R1", "A reference has 26 letters", `value="R1"`],
          ["webhooks?app=shop&endpoint=A%21", "An endpoint's name has", `value="A!"`],
          ["webhooks.csv?app=shop&status=lost", "Status: one of due, delivered, parked.", `value="lost" selected`],
          ["proposals?status=lost", "Status: one of open, approved", `value="lost" selected`],
          ["proposals.csv?by=Jane", "An operator's name has", `value="Jane"`],
          ["keys?status=lost", "Status: one of active, frozen.", `value="lost" selected`],
          ["keys.csv?begins=A%21", "A tenant has 1 to 40 characters", `value="A!"`],
          [`keys/${tenant.appId}?key_role=owner`, "Role: one of tenant, reader, admin.", `value="owner" selected`],
          [`keys/${tenant.appId}/keys.csv?state=old`, "State: one of active, revoked.", `value="old" selected`],
          ["senders?state=lost", "Sender: one of nobody, set, does not open.", `value="lost" selected`],
          ["senders.csv?status=lost", "Status: one of active, frozen.", `value="lost" selected`],
          ["floats?begins=A%21", "A tenant has 1 to 40 characters", `value="A!"`],
          ["audit?action=Float%21", "An action is small letters", `value="Float!"`],
          ["audit?subject=%2B256772123456", "those stand in no address", `value="+256772123456"`]
        ]
        for (const [path, message, kept] of wrong) {
          const { status, text } = yield* read(`/${path}`)
          expect([path, status]).toStrictEqual([path, 422])
          expect(text).toContain(message)
          expect(text).toContain(kept)
        }
      })
    )

    it.effect("begin at the beginning where the place in the address is a moment of no year with four digits", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { read } = yield* viewerOn(gateway, "stranger")
        for (const list of ["transactions?", "callbacks?", "unknown?", "reviews?", "webhooks?app=shop&"]) {
          const { status } = yield* read(`/${list}after=999999999999999.${"0".repeat(26)}`)
          expect([list, status]).toStrictEqual([list, 200])
        }
      })
    )

    it.effect("of callbacks and of the audit log go on from page to page and have their filters", () =>
      Effect.gen(function* () {
        const { gateway, references } = yield* given("1234")
        const { post, read } = yield* viewerOn(gateway, "auditor")
        for (let n = 0; n < 27; n++) yield* post("/transactions", { q: references[n]?.slice(0, 25) ?? "" })
        const query = "actor=console%2Fauditor&action=transaction&subject=every%20tenant"
        const first = yield* read(`/audit?${query}`)
        const rows = (page: string) => [...page.matchAll(/data-label="Row"><div>(\d+)</g)].map(([, row]) => Number(row))
        const second = yield* read(linkOf(first.text, "Older ones") ?? "")
        expect([rows(first.text).length, rows(second.text).length]).toStrictEqual([25, 2])
        expect(Math.min(...rows(first.text))).toBeGreaterThan(Math.max(...rows(second.text)))
        expect(linesOf((yield* read(`/audit.csv?${query}`)).text)).toHaveLength(28)
        expect(rows((yield* read("/audit?actor=console%2Fabsent")).text)).toStrictEqual([])

        const counted = (path: string) => Effect.map(read(path), ({ text }) => linesOf(text).length - 1)
        const all = yield* counted("/callbacks.csv")
        expect(all).toBeGreaterThan(25)
        const parts = yield* Effect.forEach(["live", "test"], (mode) => counted(`/callbacks.csv?provider=eversend&mode=${mode}`))
        expect(parts[0]).toBeGreaterThan(0)
        expect(yield* counted("/callbacks.csv?to=2020-01-01")).toBe(0)
        expect((yield* read("/callbacks")).text).toMatch(/Received within an hour[^]*Results/)
        expect(linkOf((yield* read("/callbacks?mode=live")).text, "Older ones")).toContain("mode=live&after=")
      })
    )

    it.effect("of a tenant's deliveries, of tenants and of approvals go on from page to page as well", () =>
      Effect.gen(function* () {
        const { gateway, references, tenant } = yield* given("1234")
        yield* webhooksOf(gateway, tenant, ["payout.pending"])
        const pay = (_: unknown, at: number) => {
          const { destination, ...payout } = momoPayout("1234")
          return tenant.post("/v1/payouts", { ...payout, destination: { ...destination, msisdn: `25677${400 + at}1234` } })
        }
        yield* creditOn(gateway, tenant, 11_000n * BigInt(COUNT), "UGX")
        yield* Effect.forEach(Array.from({ length: COUNT }), pay, { concurrency: 8 })
        const { read } = yield* viewerOn(gateway, "sender")
        const rows = (page: string) => [...page.matchAll(/data-label="Event"><div>[^<]*<code>(\w{26})</g)].map(([, id]) => id)
        const path = `/webhooks?app=${tenant.appId}&mode=live`
        const pages = []
        for (let way: string | null = path; way !== null && pages.length < 9; ) {
          const { text }: { readonly text: string } = yield* read(way)
          pages.push(rows(text))
          way = linkOf(text, "Older ones")
        }
        const all = linesOf((yield* read(path.replace("webhooks", "webhooks.csv"))).text).length - 1
        expect(all).toBeGreaterThanOrEqual(COUNT)
        expect([pages[0]?.length, new Set(pages.flat()).size]).toStrictEqual([25, all])
        expect(rows((yield* read(`${path}&to=2020-01-01`)).text)).toStrictEqual([])

        const named = Array.from({ length: COUNT }, (_, at) => AppId.make(`zz-${10 + at}`))
        for (const appId of named)
          yield* Context.get(gateway.context, Tenants).create(
            { appId, status: "active", capabilities: defaultCapabilities, createdAt: NOON },
            auditEntry()
          )
        const tenants = (page: string) => [...page.matchAll(/href="\/keys\/([^"]+)">/g)].map(([, name]) => name)
        const first = (yield* read("/keys?begins=zz-")).text
        const second = (yield* read(linkOf(first, "Next ones") ?? "")).text
        expect([tenants(first).length, ...tenants(second)]).toStrictEqual([25, "zz-35", "zz-36"])
        const statement = `/floats/${tenant.appId}/live/UGX/statement.csv`
        const [reference = ""] = references
        const [whole, one, credits] = yield* Effect.forEach(["", `?reference=${reference}`, "?type=credit"], (query) =>
          Effect.map(read(`${statement}${query}`), ({ text }) => linesOf(text).length - 1)
        )
        expect([Number(whole) > 2 * COUNT, Number(one) >= 1 && Number(one) < 4, credits]).toStrictEqual([true, true, 2])
        expect(linesOf((yield* read("/proposals.csv?kind=key%20issue")).text)[0]).toMatch(/^id,change,subject,status/)
      })
    )

    it.effect("of keys and of senders have their filters, go on from page to page, and give what fits as CSV", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenants = Context.get(gateway.context, Tenants)
        const named = Array.from({ length: COUNT }, (_, at) => AppId.make(`yy-${10 + at}`))
        for (const appId of named)
          yield* tenants.create({ appId, status: "active", capabilities: defaultCapabilities, createdAt: NOON }, auditEntry())
        const [one = AppId.make("yy-10"), two = one] = named
        const sender = {
          name: Redacted.make("Jane Doe"),
          country: "UG",
          msisdn: Redacted.make("+256772123456"),
          address: Redacted.make("Plot 1, Kampala")
        }
        yield* tenants.setSender(two, sender, auditEntry())
        for (let n = 0; n < COUNT; n++) {
          const caller = {
            appId: one,
            keyId: `k${10 + n}`,
            mode: n < 2 ? "test" : "live",
            role: n === 3 ? "reader" : "tenant"
          } as const
          const key = { caller, label: "", addresses: [], createdAt: NOON + n, apiKeyHash: new Uint8Array(32).fill(n) }
          yield* tenants.issueKey({ ...key, signingSecret: Redacted.make("x") }, auditEntry())
        }
        yield* tenants.revokeKey(one, "k15", NOON + 100, auditEntry())

        const { read } = yield* viewerOn(gateway, "keeper")
        const keysIn = (page: string) => [...page.matchAll(/data-label="Key"><div><code>([^<]+)</g)].map(([, key]) => key)
        const found = (query: string) => Effect.map(read(`/keys/${one}?${query}`), ({ text }) => keysIn(text))
        const first = (yield* read(`/keys/${one}?key_role=tenant&state=active`)).text
        expect(keysIn(first)).toHaveLength(25)
        expect([yield* found("key_mode=test"), yield* found("key_role=reader"), yield* found("state=revoked")]).toStrictEqual([
          ["k11", "k10"],
          ["k13"],
          ["k15"]
        ])
        const whole = (yield* read(`/keys/${one}`)).text
        expect(keysIn((yield* read(linkOf(whole, "Older ones") ?? "")).text)).toStrictEqual(["k11", "k10"])
        const keyLines = linesOf((yield* read(linkOf(first, "What fits, as CSV") ?? "")).text)
        expect(keyLines).toHaveLength(26)
        expect(keyLines[1]).toMatch(new RegExp(`^${one},k36,,live,tenant,,2`))
        expect(linesOf((yield* read("/keys.csv?begins=yy-")).text)).toHaveLength(COUNT + 1)

        const tenantsIn = (page: string) => [...page.matchAll(/href="\/senders\/([^"]+)">/g)].map(([, name]) => name)
        const senders = (yield* read("/senders?begins=yy-")).text
        expect(tenantsIn(senders)).toHaveLength(25)
        expect(tenantsIn((yield* read(linkOf(senders, "Next ones") ?? "")).text)).toStrictEqual(["yy-35", "yy-36"])
        expect(tenantsIn((yield* read("/senders?begins=yy-&state=set")).text)).toStrictEqual([two])
        const senderFile = (yield* read("/senders.csv?begins=yy-")).text
        expect(linesOf(senderFile)).toHaveLength(COUNT + 1)
        expect(senderFile).toMatch(new RegExp(`\r\n${two},active,set,J[^,]+,UG,••••3456,`))
        expect(senderFile).not.toMatch(/Jane|772123|Kampala/)
        expect(linesOf((yield* read("/senders.csv?begins=yy-&state=nobody")).text)).toHaveLength(COUNT)
      })
    )

    it.effect("a search by the end of a number gives its CSV by the form, and no address has it", () =>
      Effect.gen(function* () {
        const { gateway, tenant } = yield* given("4321")
        const { post } = yield* viewerOn(gateway, "seeker")
        const shown = yield* post("/transactions", { q: "4321", app: tenant.appId })
        expect(referencesIn(shown.text)).toHaveLength(25)
        expect(shown.text).not.toMatch(/(?:href|action)="[^"]*4321/)
        const file = yield* post("/transactions", { q: "4321", app: tenant.appId, as: "csv" })
        expect(linesOf(file.text)).toHaveLength(COUNT + 1)
      })
    )
  }
)
