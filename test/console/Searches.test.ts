import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { type ComponentChildren, h } from "preact"
import { renderToString } from "preact-render-to-string"
import { makeTransactions } from "../../src/console/pages/Transactions.ts"
import { RateLimited } from "../../src/domain/errors/Retriable.ts"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import type { AuditEntry } from "../../src/services/ports/AuditLog.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { fake, unexpected } from "../fakes/Fake.ts"
import { fakeProvider, fakeProviderRegistry } from "../fakes/FakeProvider.ts"
import { fakeVault } from "../fakes/FakeVault.ts"
import { collection, NOON } from "../support/SampleTransactions.ts"

const answered = Effect.fnUntraced(function* (method: "GET" | "POST", sent: string) {
  const { routes } = yield* makeTransactions
  const route = routes.find((one) => one.method === method) ?? unexpected("routes", [])
  const none = new URLSearchParams()
  return yield* route.answer({
    visitor: { name: OperatorName.make("jane"), role: "viewer", createdAt: NOON, session: Redacted.make(""), formToken: "" },
    at: NOON,
    path: "/transactions",
    params: {},
    query: method === "GET" ? new URLSearchParams(sent) : none,
    form: method === "POST" ? new URLSearchParams(sent) : none
  })
})
const opened = (method: "GET" | "POST", sent: string) =>
  Effect.flatMap(answered(method, sent), (answer) =>
    answer._tag === "Page" ? Effect.succeed(answer) : Effect.die(new Error(answer._tag))
  )
const shownOf = ({ body }: { readonly body: ComponentChildren }) => renderToString(h("main", null, body))

const refusing = fake(Transactions, {
  search: () => Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: 1 }))
})

it.effect(
  "a search beside too many others is answered with 429 and asked for again by the form, which is as it was filled in",
  () =>
    Effect.gen(function* () {
      const answer = yield* opened("GET", "app=shop-7")
      const shown = shownOf(answer)
      expect([answer.status, shown]).toEqual([429, expect.stringContaining("Other searches are under way.")])
      expect(shown).toContain('value="shop-7"')
    }).pipe(Effect.provide(Layer.mergeAll(refusing, fakeProviderRegistry([]), fakeVault)))
)

it.effect.each<readonly [string, string | null]>([
  ["+256772123456", "3456"],
  ["256772123456", "3456"],
  ["00256 772 123-456", "3456"],
  ["0772.123.456", "3456"],
  ["(0772) 123\u2011456", "3456"],
  ["\u200E+256 772 123 456\u00A0", "3456"],
  ["\uFF10\uFF17\uFF17\uFF12\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16", "3456"],
  ["9030/001.234", "1234"],
  ["3456", "3456"],
  ["A12b", "A12b"],
  // Neither a whole number nor the end of one.
  ["772123", null],
  ["2567721234567890", null],
  ["2567a2123456", null]
])(
  "a search for %s finds those whose number ends in %s, and a whole number is found however it is written (38.3)",
  ([word, end]) =>
    Effect.gen(function* () {
      const searched: Array<string | null> = []
      const transactions = fake(Transactions, {
        byReference: () => Effect.succeedNone,
        byProviderReference: () => Effect.succeed([]),
        noteSearch: () => Effect.void,
        soughtEverywhere: () => Effect.succeed({ items: [], olderThan: null, isWhole: true }),
        search: ({ partyEnd }) => Effect.sync(() => (searched.push(partyEnd), { items: [], next: null }))
      })
      const { status } = yield* opened("POST", new URLSearchParams({ q: word }).toString()).pipe(
        Effect.provide(Layer.mergeAll(transactions, fakeProviderRegistry([]), fakeVault))
      )
      expect([status ?? 200, searched]).toStrictEqual([200, end === null ? [] : [end]])
    })
)

it.effect("records of several accounts that one reference of a provider names are narrowed by the other filters", () => {
  const ours = (reference: string, appId: string) => ({
    transaction: collection({ reference: Reference.make(reference.padEnd(26, "0")), appId: AppId.make(appId) }),
    revision: 1n
  })
  const transactions = fake(Transactions, {
    byProviderReference: (_, mode) =>
      Effect.succeed(mode === "live" ? [ours("A", "shop-1"), ours("B", "shop-2"), ours("C", "shop-2")] : [])
  })
  return Effect.gen(function* () {
    const shown = shownOf(yield* opened("GET", "q=PR-1&app=shop-2"))
    expect([...shown.matchAll(/href="\/transactions\/(\w)0+"/g)].map(([, first]) => first)).toStrictEqual(["B", "C"])
  }).pipe(Effect.provide(Layer.mergeAll(transactions, fakeProviderRegistry([fakeProvider("one")]), fakeVault)))
})

/** The console's search of a tenant that has one collection, with what was asked for and what was written down. */
const searched = Effect.fnUntraced(function* (
  method: "GET" | "POST",
  sent: Readonly<Record<string, string>>,
  everywhere: { readonly isWhole: boolean } | null = { isWhole: true }
) {
  const asked: Array<object> = []
  const audit: Array<AuditEntry> = []
  const transactions = fake(Transactions, {
    byReference: () => Effect.succeedNone,
    byProviderReference: () => Effect.succeed([]),
    noteSearch: (entry) => Effect.sync(() => void audit.push(entry)),
    sought: ({ appId, mode }, sought) =>
      Effect.sync(() => {
        asked.push({ appId, mode, by: sought._tag })
        const items = mode === "live" && sought._tag === "party" ? [collection({ appId })] : []
        return { items, next: items.length === 0 ? null : { at: NOON, id: "" } }
      }),
    soughtEverywhere: (terms, { mode }) =>
      Effect.sync(() => {
        asked.push(...terms.map(({ _tag }) => ({ appId: null, mode, by: _tag })))
        return everywhere === null
          ? null
          : { items: terms.some(({ _tag }) => _tag === "receipt") ? [collection()] : [], olderThan: null, ...everywhere }
      }),
    search: () => Effect.succeed({ items: [], next: null })
  })
  const answer = yield* answered(method, new URLSearchParams(sent).toString()).pipe(
    Effect.provide(Layer.mergeAll(transactions, fakeProviderRegistry([]), fakeVault))
  )
  return { answer, asked, audit }
})
const NUMBER = "+256 772 123 456"

it.effect("a whole number finds a tenant's records by the form, and stands in no address; the audit log has its end", () =>
  Effect.gen(function* () {
    const { answer, asked, audit } = yield* searched("POST", { q: NUMBER, app: "shop-7" })
    expect(asked).toContainEqual({ appId: "shop-7", mode: "live", by: "party" })
    expect(audit).toStrictEqual([
      {
        at: NOON,
        actor: expect.stringContaining("jane"),
        action: "transaction search",
        subject: "shop-7",
        details: { for: "••••3456" }
      }
    ])
    if (answer._tag !== "Page") return yield* Effect.die(new Error("no page"))
    const shown = shownOf(answer)
    expect(shown).toContain(collection().reference)
    expect([...shown.matchAll(/(?:href|action)="([^"]*)"/g)].map(([, to]) => to).join(" ")).not.toMatch(/772|3456/)
    expect(shown).toContain("Older ones")
  })
)

it.effect.each([NUMBER, "2567721234567890", "4111 1111 1111 1111", "5555-5555-5555-4444-001"])(
  "the whole number %s in an address is refused, stands in no link of the page, and nothing is looked for",
  (word) =>
    Effect.gen(function* () {
      const { answer, asked, audit } = yield* searched("GET", { q: word, app: "shop-7" })
      if (answer._tag !== "Page") return yield* Effect.die(new Error("no page"))
      expect([answer.status, asked, audit]).toStrictEqual([422, [], []])
      const links = [...shownOf(answer).matchAll(/(?:href|action)="([^"]*)"/g)].map(([, to]) => decodeURIComponent(to ?? ""))
      expect(links.join(" ").replaceAll(/[^0-9]/g, "")).toBe("")
    })
)

it.effect.each(["email=jane@x.example", "phone=+256772123456", "GB33BUKB20201555555555", "MP251129.1404.A12345"])(
  "%s in an address is looked for as a reference alone: a search for what a customer says is written down",
  (word) =>
    Effect.gen(function* () {
      const { answer, asked, audit } = yield* searched("GET", { q: word, app: "shop-7" })
      expect([asked, audit]).toStrictEqual([[], []])
      if (answer._tag !== "Page") return yield* Effect.die(new Error("no page"))
      expect(shownOf(answer)).toContain("Neither a reference of ours nor of a provider.")
      const byForm = yield* searched("POST", { q: word, app: "shop-7" })
      expect([byForm.asked.length > 0, byForm.audit.length]).toStrictEqual([true, 1])
    })
)

it.effect(
  "a national number needs its country; an account, a receipt, the tenant's own id and a member of metadata are found in the same field",
  () =>
    Effect.gen(function* () {
      const kinds = (sent: Readonly<Record<string, string>>) =>
        Effect.map(searched("POST", { app: "shop-7", mode: "live", ...sent }), ({ asked }) => asked.map((one) => Object(one).by))
      expect(yield* kinds({ q: "0772 123 456" })).toStrictEqual(["account", "receipt", "value", "key"])
      expect(yield* kinds({ q: "0772 123 456", country: "ug" })).toStrictEqual(["party", "account", "receipt", "value", "key"])
      expect(yield* kinds({ q: "tks4 1q7zpd" })).toStrictEqual(["account", "receipt", "value", "key"])
      expect(yield* kinds({ q: "заказ" })).toStrictEqual(["value", "key"])
      expect(yield* kinds({ q: "order=C-1041" })).toStrictEqual(["metadata"])
    })
)

it.effect(
  "without a tenant a receipt, a number and metadata are looked for in all of them, and the page says where that was not done",
  () =>
    Effect.gen(function* () {
      const shown = Effect.fnUntraced(function* (q: string, everywhere: { readonly isWhole: boolean } | null) {
        const { answer, asked } = yield* searched("POST", { q }, everywhere)
        if (answer._tag !== "Page") return yield* Effect.die(new Error("no page"))
        expect(asked.every((one) => Object(one).appId === null)).toBe(true)
        return { asked: asked.map((one) => Object(one).by), text: shownOf(answer) }
      })
      const receipt = yield* shown("tks4 1q7zpd", { isWhole: true })
      expect(receipt.asked).toStrictEqual(["account", "receipt", "value", "key"])
      expect(receipt.text).toContain(collection().reference)
      expect(receipt.text).not.toContain("name the tenant")
      expect(receipt.text).toContain("only where nothing else has it")
      expect((yield* shown("tks4 1q7zpd", { isWhole: false })).text).toContain(
        "There was no time to look at every tenant: name the tenant"
      )
      const nothing = yield* shown("order=C-1041", { isWhole: true })
      expect([nothing.asked, nothing.text]).toStrictEqual([
        ["metadata"],
        expect.stringContaining("no payment of any tenant has it")
      ])
      expect((yield* shown("order=C-1041", null)).text).toContain("With its tenant,")
    })
)

it.effect("a search without a word goes to its address, without the token of the form", () =>
  Effect.gen(function* () {
    const { answer, audit } = yield* searched("POST", { q: " ", app: "shop-7", kind: "", form_token: "f" })
    expect(answer).toStrictEqual({ _tag: "Redirect", to: "/transactions?app=shop-7" })
    expect(audit).toStrictEqual([])
  })
)
