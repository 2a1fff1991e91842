import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { isReference, Mode, type Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type FoundRecords, Transactions } from "../../services/ports/Transactions.ts"
import { badge, code, link, money, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { partyOf, statusBadge } from "../RecordText.ts"
import { page, redirect, type Visit } from "../Route.ts"
import { type Search, searchForm, searchOf } from "../Search.ts"

const ROWS_SHOWN = 50
const SEARCHES_WAIT = "Other searches are under way. Search again in a moment."

/** Finding transactions of every tenant: by a reference of either side, or by what is known of them. */
export const makeTransactions = Effect.gen(function* () {
  const transactions = yield* Transactions
  const registry = yield* ProviderRegistry

  /** A provider's own reference may be known to several, and in both modes. */
  const byProvider = Effect.fnUntraced(function* (text: string) {
    const accounts = registry.known.flatMap((provider) => Mode.literals.map((mode) => ({ provider, mode })))
    const found = yield* Effect.forEach(accounts, ({ mode, provider }) => transactions.byProviderReference(provider, mode, text))
    return found.flat().map(({ transaction }) => transaction)
  })

  const byWord = Effect.fnUntraced(function* (word: string): Effect.fn.Return<ReadonlyArray<LedgerRecord>> {
    const upper = word.toUpperCase()
    const own = isReference(upper) ? yield* transactions.byReference(upper) : Option.none()
    return Option.isSome(own) ? [own.value.transaction] : yield* byProvider(word)
  })

  const answer = Effect.fn("TransactionsPage.answer")(function* (visit: Visit) {
    const search = searchOf(visit.query)
    if (search.mistakes.length > 0) return page("Transactions", [searchForm(visit.query, search.mistakes)], { status: 422 })
    if (search.word !== null) {
      const found = yield* byWord(search.word)
      const [only] = found
      if (found.length === 1 && only !== undefined) return redirect(`/transactions/${only.reference}`)
      if (found.length > 1 || search.filter.partyEnd === null)
        return page("Transactions", [searchForm(visit.query, []), results({ items: found, olderThan: null }, search, visit)])
    }
    return yield* transactions.search(search.filter, ROWS_SHOWN).pipe(
      Effect.map((found) => page("Transactions", [searchForm(visit.query, []), results(found, search, visit)])),
      Effect.catchTag("rate_limited", () =>
        Effect.succeed(page("Transactions", [searchForm(visit.query, [SEARCHES_WAIT])], { status: 429 }))
      )
    )
  })

  return {
    place: { to: "/transactions", name: "Transactions" },
    routes: [{ method: "GET", path: "/transactions", permission: "look", answer }]
  } satisfies Room
})

const results = ({ items, olderThan }: FoundRecords, { word }: Search, { query }: Visit): ComponentChild =>
  section(
    "Found",
    recordTable(
      items,
      word === null
        ? "Nothing fits."
        : "Neither a reference of ours nor of a provider. For the end of a number, give four characters."
    ),
    olderThan === null ? null : h("p", { class: "pager" }, link(olderPage(query, olderThan), "Older ones"))
  )

const olderPage = (query: URLSearchParams, before: number): string => {
  const next = new URLSearchParams(query)
  next.set("to", iso(before))
  return `/transactions?${next}`
}

/** One line a record, the newest first. */
export const recordTable = (records: ReadonlyArray<LedgerRecord>, none: string): ComponentChild =>
  table(
    "The newest first",
    ["Reference", "Created", "Tenant", "What", "Status", "Amount", "Party", "Provider"],
    records.map((record) => [
      transactionLink(record.reference satisfies Reference),
      time(record.createdAt),
      record.appId,
      `${record.kind}, ${record.mode}`,
      [statusBadge(record), record.needsReview ? [" ", badge("review", "wait")] : null],
      money(record.amount, record.kind === "exchange" ? record.currency : record.amountCurrency),
      code(partyOf(record) ?? "none"),
      record.provider
    ]),
    none
  )
