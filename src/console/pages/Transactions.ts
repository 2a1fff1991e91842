import { Effect, Option, Redacted } from "effect"
import { type ComponentChild, h } from "preact"
import type { CsvValue } from "../../domain/CsvText.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import { isReference, Mode, type Reference } from "../../domain/Ids.ts"
import { type Instant, iso, isoOrNull } from "../../domain/Instant.ts"
import { maskedNumber } from "../../domain/Masking.ts"
import { msisdnAsWritten } from "../../domain/Msisdn.ts"
import { plainText } from "../../domain/PartyIdentity.ts"
import { receiptIdentity } from "../../domain/ProviderReceipt.ts"
import { type Transaction } from "../../domain/Transaction.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type TransactionPage, Transactions } from "../../services/ports/Transactions.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type SearchTerm, soughtBy } from "../../services/RecordSearch.ts"
import { badge, code, field, form, hidden, link, money, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import {
  corridorText,
  inputsOf,
  keptOf,
  listEnd,
  mistakesOf,
  type Place,
  placeText,
  ROWS_SHOWN,
  tenantFilter
} from "../ListFilters.ts"
import { amountCurrencyOf, partyOf, statusBadge } from "../RecordText.ts"
import { type Answer, auditOf, page, redirect, type Visit } from "../Route.ts"
import { filtersOf, isWithin, type PageFilters, type Search, searchOf, wordFilter } from "../SearchTerms.ts"

const TITLE = "Transactions"
const SEARCHES_WAIT = "Other searches are under way. Search again in a moment."

/** Finds transactions of every tenant: by a reference of either side, or by what is known about them. */
export const makeTransactions = Effect.gen(function* () {
  const transactions = yield* Transactions
  const registry = yield* ProviderRegistry
  const vault = yield* Vault
  const filters = filtersOf(registry.known)

  /** Several providers, in both modes, may have the same reference. */
  const byProvider = Effect.fnUntraced(function* (text: string) {
    const accounts = registry.known.flatMap((provider) => Mode.literals.map((mode) => ({ provider, mode })))
    const found = yield* Effect.forEach(accounts, ({ mode, provider }) => transactions.byProviderReference(provider, mode, text))
    return found.flat().map(({ transaction }) => transaction)
  })

  const byWord = Effect.fnUntraced(function* (word: string): Effect.fn.Return<ReadonlyArray<Transaction>> {
    const upper = word.toUpperCase()
    const own = isReference(upper) ? yield* transactions.byReference(upper) : Option.none()
    return Option.isSome(own) ? [own.value.transaction] : yield* byProvider(word)
  })

  /** The same for every tenant. */
  const everywhere = Effect.fnUntraced(function* (terms: ReadonlyArray<SearchTerm>, before: Instant | null, mode: Mode | null) {
    const page = { mode, before, limit: ROWS_SHOWN }
    const sought = terms.map((term) => soughtBy(term, vault))
    const found = yield* transactions.soughtEverywhere(sought, page)
    if (found === null) return noneFound
    return {
      items: newestFirst([found]),
      next: found.olderThan === null ? null : { at: found.olderThan, id: "" },
      reach: found.isWhole ? "every tenant" : "some tenants"
    } satisfies Said
  })

  /** Finds records by the whole text that a customer quotes, as every kind of term that it may be. */
  const bySaying = Effect.fnUntraced(function* (
    word: string,
    { after, country, filter: { appId, createdTo, mode } }: Search
  ): Effect.fn.Return<Said, RateLimited> {
    const ends = [createdTo, after?.at ?? null].flatMap((end) => (end === null ? [] : [end]))
    const before = ends.length === 0 ? null : Math.min(...ends)
    const terms = termsOf(word, country)
    if (appId === null) return yield* everywhere(terms, before, mode)
    const page = { limit: ROWS_SHOWN, from: before === null ? null : { at: before, id: "" } }
    const modes = mode === null ? Mode.literals : [mode]
    const found = yield* Effect.forEach(
      terms.flatMap((term) => modes.map((one) => ({ term, mode: one }))),
      ({ mode: one, term }) => transactions.sought({ appId, mode: one }, soughtBy(term, vault), page)
    )
    const older = found.flatMap(({ next }) => (next === null ? [] : [next.at + 1]))
    const next = older.length === 0 ? null : { at: Math.max(...older), id: "" }
    return { items: newestFirst(found), next, reach: "the tenant" }
  })

  const isUnknown = ({ reference }: Transaction) =>
    Effect.map(transactions.history(reference), (lines) => ["Unknown", "NotFound"].includes(lines.at(-1)?.fact ?? ""))

  /** The records that the word found and that match the other filters. */
  const fitting = Effect.fnUntraced(function* (items: ReadonlyArray<Transaction>, { filter }: Search) {
    const within = items.filter(isWithin(filter))
    return filter.isUnknown ? yield* Effect.filter(within, isUnknown) : within
  })

  /** One page of results. `only`: the word names one record, and no list. */
  const foundBy = Effect.fnUntraced(function* (
    search: Search,
    limit: number
  ): Effect.fn.Return<Said & { readonly only?: Transaction }, RateLimited> {
    const { after, filter, isNoted, word } = search
    if (word !== null) {
      const found = after === null ? yield* byWord(word) : []
      const [only] = found
      if (found.length === 1 && only !== undefined) return { items: found, next: null, reach: "none", only }
      const said = found.length > 1 || !isNoted ? noneFound : yield* bySaying(word, search)
      if (said.items.length > 0) return { ...said, items: yield* fitting(said.items, search) }
      if (found.length > 1 || filter.partyEnd === null)
        return { items: yield* fitting(found, search), next: null, reach: said.reach }
    }
    return { ...(yield* transactions.search(filter, { limit, from: after })), reach: "none" }
  })

  const answered = (visit: Visit, search: Search) => {
    const form = (mistakes: Iterable<string>) => searchForm(visit, mistakes, filters)
    if (search.mistakes.size > 0) return Effect.succeed(page(TITLE, form(search.mistakes), { status: 422 }))
    return foundBy(search, ROWS_SHOWN).pipe(
      Effect.map(({ only, ...said }) =>
        only === undefined
          ? page(TITLE, [form([]), results(said, search, visit, filters)])
          : redirect(`/transactions/${only.reference}`)
      ),
      Effect.catchTag("rate_limited", () => Effect.succeed(page(TITLE, form([SEARCHES_WAIT]), { status: 429 })))
    )
  }

  const file = (search: Search) => {
    // If a page ended within a millisecond, the next one begins with that millisecond again.
    const written = new Set<string>()
    return listFile({
      name: "transactions",
      columns: recordColumns,
      read: ({ after, limit }: { readonly after: Place | null; readonly limit: number }) =>
        Effect.map(foundBy({ ...search, after }, limit), ({ items, next }) => {
          const rows = items.filter(({ reference }) => !written.has(reference))
          for (const { reference } of rows) written.add(reference)
          return { rows, next }
        })
    })
  }

  /** By address: references and last digits only. Other texts must not be in an address, and a search for them is recorded. */
  const read = Effect.fn("TransactionsPage.read")((visit: Visit) => answered(visit, addressed(visit)))

  const addressed = (visit: Visit): Search => {
    const search = searchOf(visit.query, filters)
    return search.isWhole ? { ...search, mistakes: new Set([...search.mistakes, NOT_BY_ADDRESS]) } : search
  }

  const readFile = Effect.fn("TransactionsPage.readFile")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const search = addressed(visit)
    return search.mistakes.size > 0 ? yield* answered(visit, search) : file(search)
  })

  /** A search by form. Without a word it redirects to an address, so that it can be shared. */
  const search = Effect.fn("TransactionsPage.search")(function* (visit: Visit) {
    const terms = searchOf(visit.form, filters)
    if (terms.word === null && terms.filter.partyEnd === null) return redirect(`/transactions?${keptOf(filters.all, visit.form)}`)
    const said = maskedNumber(plainText(visit.form.get("q") ?? "").replace(/[^\p{L}\p{N}]/gu, ""))
    yield* transactions.noteSearch(auditOf(visit, "transaction search", terms.filter.appId ?? "every tenant", { for: said }))
    const noted = { ...terms, isNoted: true }
    return visit.form.get("as") === "csv" && noted.mistakes.size === 0 ? file(noted) : yield* answered(visit, noted)
  })

  return {
    place: { to: "/transactions", name: TITLE },
    routes: [
      { method: "GET", path: "/transactions", permission: "look", answer: read },
      { method: "GET", path: "/transactions.csv", permission: "look", answer: readFile },
      { method: "POST", path: "/transactions", permission: "look", answer: search }
    ]
  } satisfies Room
})

/** Whose records a customer's words were compared with: none for a search by address, or where storage cannot search all. */
type Reach = "the tenant" | "every tenant" | "some tenants" | "none"
type Said = TransactionPage<Transaction> & { readonly reach: Reach }

const noneFound: Said = { items: [], next: null, reach: "none" }
const WORDS =
  "a whole number, account or idempotency key of the last 90 days, a receipt, a value of metadata by a name in recent use, or metadata as order=C-1041"
const NO_REFERENCE = "Neither a reference of ours nor of a provider."
const nothingOf: Readonly<Record<Reach, string>> = {
  "the tenant": `${NO_REFERENCE} And no payment of this tenant has it as ${WORDS}.`,
  "every tenant": `${NO_REFERENCE} And no payment of any tenant has it as ${WORDS}.`,
  "some tenants": `${NO_REFERENCE} And no payment of the tenants that could be looked at in time has it as ${WORDS}.`,
  none: `${NO_REFERENCE} With its tenant, ${WORDS}, is found by the form; without one, give the last four characters of a number.`
}
const NOT_EVERY_TENANT = "There was no time to look at every tenant: name the tenant for a whole answer."
const VALUES_LAST =
  "As the value of any member of metadata it is looked for only where nothing else has it, or where the tenant is named."

const newestFirst = (found: ReadonlyArray<{ readonly items: ReadonlyArray<Transaction> }>): ReadonlyArray<Transaction> =>
  [...new Map(found.flatMap(({ items }) => items).map((one) => [one.reference, one])).values()].toSorted(
    (one, other) => other.createdAt - one.createdAt
  )

const NOT_BY_ADDRESS = "A whole number stands in no address: type it into the form."

/**
 * The terms that a word may stand for: a metadata pair such as order=C-1041; otherwise equally a number, an account, a receipt,
 * or the tenant's own id, which is a metadata value under an unknown name or the idempotency key.
 */
const termsOf = (word: string, country: string | null): ReadonlyArray<SearchTerm> => {
  const [, key = "", value = ""] = /^([^=]+)=(.+)$/s.exec(word) ?? []
  if (key !== "") return [{ _tag: "metadata", members: [{ key: key.trim(), value: value.trim() }] }]
  const number = Option.map(
    msisdnAsWritten(word, country),
    (msisdn) => ({ _tag: "number", msisdn: Redacted.make(msisdn) }) as const
  )
  const own = [
    { _tag: "value", text: word },
    { _tag: "key", text: word }
  ] as const
  if (receiptIdentity(word) === "") return own
  return [...Option.toArray(number), { _tag: "account", number: Redacted.make(word) }, { _tag: "receipt", text: word }, ...own]
}

const results = ({ items, next, reach }: Said, { word }: Search, visit: Visit, { all }: PageFilters): ComponentChild => {
  const asked = askedOf(visit)
  const place = next === null ? null : placeText(next)
  return section(
    "Results",
    recordTable(items, word === null ? (next === null ? "Nothing fits." : "Nothing yet: look further back.") : nothingOf[reach]),
    reach === "some tenants" ? h("p", { class: "warning" }, NOT_EVERY_TENANT) : null,
    reach === "every tenant" && items.length > 0 ? h("p", { class: "soft" }, VALUES_LAST) : null,
    visit.form.has("q")
      ? postedEnd(visit, place)
      : listEnd({ to: "/transactions", kept: keptOf([wordFilter, ...all], asked), next: place })
  )
}

/** The next page of a search by form is requested by a form again. */
const postedEnd = (visit: Visit, place: string | null): ComponentChild => {
  const { after: _, form_token: __, ...again } = Object.fromEntries(visit.form)
  const button = (text: string, more: Readonly<Record<string, string>>) =>
    form(visit, { to: "/transactions", button: text, hidden: { ...again, ...more } })
  return h("div", { class: "pager" }, [
    button("What fits, as CSV", { as: "csv" }),
    place === null ? null : button("Older ones", { after: place })
  ])
}

const askedOf = ({ form: sent, query }: Visit): URLSearchParams => (sent.has("q") ? sent : query)

const recordTable = (records: ReadonlyArray<Transaction>, none: string): ComponentChild =>
  table(
    "The newest first",
    ["Reference", "Created", "Tenant", "Kind", "Status", "Amount", "Recipient or payer", "Provider"],
    records.map((record) => [
      transactionLink(record.reference satisfies Reference),
      time(record.createdAt),
      record.appId,
      `${record.kind}, ${record.mode}`,
      [statusBadge(record), record.needsReview ? [" ", badge("needs review", "wait")] : null],
      money(record.amount, amountCurrencyOf(record)),
      code(partyOf(record) ?? "none"),
      record.provider
    ]),
    none
  )

/** A record as a row of a file: numbers are masked, as on the page. */
const recordColumns: ReadonlyArray<readonly [string, (record: Transaction) => CsvValue]> = [
  ["reference", ({ reference }) => reference],
  ["created_at", ({ createdAt }) => iso(createdAt)],
  ["completed_at", ({ completedAt }) => isoOrNull(completedAt)],
  ["app_id", ({ appId }) => appId],
  ["mode", ({ mode }) => mode],
  ["kind", ({ kind }) => kind],
  ["status", ({ status }) => status],
  ["needs_review", ({ needsReview }) => String(needsReview)],
  ["failure", ({ failure }) => failure?.code ?? null],
  ["amount_minor", ({ amount }) => amount],
  ["amount_currency", amountCurrencyOf],
  ["recipient_or_payer", (record) => partyOf(record)],
  ["corridor", (record) => (record.kind === "exchange" ? null : corridorText(record.corridor))],
  ["provider", ({ provider }) => provider],
  ["provider_reference", ({ providerReference }) => providerReference]
]

const searchForm = (visit: Visit, mistakes: Iterable<string>, { all, narrowing }: PageFilters): ComponentChild => {
  const asked = askedOf(visit)
  return section(
    "Search",
    mistakesOf(mistakes),
    h(
      "form",
      { method: "post", action: "/transactions", class: "filters" },
      hidden("form_token", visit.visitor.formToken),
      field({
        name: "q",
        label:
          "Reference, ours or the provider's; number, account, receipt, the tenant's own order id, metadata as order=C-1041; last four digits",
        value: asked.get("q") ?? "",
        type: "search"
      }),
      inputsOf([tenantFilter], asked),
      h("button", { type: "submit", class: "strong" }, "Search"),
      h(
        "details",
        { open: keptOf(narrowing, asked).size > 0 },
        h("summary", null, "Narrow the list down"),
        h("div", { class: "filters" }, inputsOf(narrowing, asked)),
        keptOf(all, asked).size > 0 ? h("p", null, link("/transactions", "Without filters")) : null
      )
    )
  )
}
