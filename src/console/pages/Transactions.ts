import { Effect, Option, Redacted, Result, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import { Currency, isCurrency } from "../../domain/Currency.ts"
import { ExchangeStatus } from "../../domain/Exchange.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import { AppId, isReference, Mode, type Reference } from "../../domain/Ids.ts"
import { type Instant, instantOf, iso } from "../../domain/Instant.ts"
import { maskedNumber } from "../../domain/Masking.ts"
import { fromDecimal } from "../../domain/Money.ts"
import { msisdnAsWritten } from "../../domain/Msisdn.ts"
import { plainText } from "../../domain/PartyIdentity.ts"
import { CollectionStatus, PayoutStatus } from "../../domain/Payment.ts"
import { receiptIdentity } from "../../domain/ProviderReceipt.ts"
import { type Transaction } from "../../domain/Transaction.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type FoundRecords, type RecordFilter, Transactions } from "../../services/ports/Transactions.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type SearchTerm, soughtBy } from "../../services/RecordSearch.ts"
import { badge, choice, code, field, form, hidden, link, money, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { partyOf, statusBadge } from "../RecordText.ts"
import { auditOf, page, redirect, type Visit } from "../Route.ts"

const ROWS_SHOWN = 50
const SEARCHES_WAIT = "Other searches are under way. Search again in a moment."

/** Finding transactions of every tenant: by a reference of either side, or by what is known of them. */
export const makeTransactions = Effect.gen(function* () {
  const transactions = yield* Transactions
  const registry = yield* ProviderRegistry
  const vault = yield* Vault

  /** A provider's own reference may be known to several, and in both modes. */
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

  /** The same of every tenant. */
  const everywhere = Effect.fnUntraced(function* (terms: ReadonlyArray<SearchTerm>, { createdTo, mode }: RecordFilter) {
    const page = { mode, before: createdTo, limit: ROWS_SHOWN }
    const found = yield* Effect.forEach(terms, (term) => transactions.soughtEverywhere(soughtBy(term, vault), page))
    const answers = found.filter((one) => one !== null)
    if (answers.length < found.length) return noneFound
    const ends = answers.flatMap(({ olderThan }) => (olderThan === null ? [] : [olderThan]))
    return {
      items: newestFirst(answers),
      olderThan: ends.length === 0 ? null : Math.max(...ends),
      reach: answers.every(({ isWhole }) => isWhole) ? "every tenant" : "some tenants"
    } satisfies Said
  })

  /** Records by the whole of what a customer says, whatever it is: one of the terms finds something, or none does. */
  const bySaying = Effect.fnUntraced(function* (
    word: string,
    country: string | null,
    filter: RecordFilter
  ): Effect.fn.Return<Said, RateLimited> {
    const { appId, createdTo, mode } = filter
    const terms = termsOf(word, country)
    if (appId === null) return yield* everywhere(terms, filter)
    const page = { limit: ROWS_SHOWN, from: createdTo === null ? null : { at: createdTo, id: "" } }
    const modes = mode === null ? Mode.literals : [mode]
    const found = yield* Effect.forEach(
      terms.flatMap((term) => modes.map((one) => ({ term, mode: one }))),
      ({ mode: one, term }) => transactions.sought({ appId, mode: one }, soughtBy(term, vault), page)
    )
    const ends = found.flatMap(({ next }) => (next === null ? [] : [next.at + 1]))
    return { items: newestFirst(found), olderThan: ends.length === 0 ? null : Math.max(...ends), reach: "the tenant" }
  })

  const narrowed = Effect.fnUntraced(function* (visit: Visit, search: Search) {
    const shown = (found: FoundRecords, reach: Reach = "none") =>
      page("Transactions", [searchForm(visit, []), results({ ...found, reach }, search, visit)])
    if (search.mistakes.length > 0) return page("Transactions", [searchForm(visit, search.mistakes)], { status: 422 })
    if (search.word !== null) {
      const found = yield* byWord(search.word)
      const [only] = found
      if (found.length === 1 && only !== undefined) return redirect(`/transactions/${only.reference}`)
      const said = found.length > 1 || !search.isNoted ? noneFound : yield* bySaying(search.word, search.country, search.filter)
      if (said.items.length > 0) return shown({ ...said, items: said.items.filter(isWithin(search.filter)) }, said.reach)
      if (found.length > 1 || search.filter.partyEnd === null) return shown({ items: found, olderThan: null }, said.reach)
    }
    return shown(yield* transactions.search(search.filter, ROWS_SHOWN))
  })

  const answered = (visit: Visit, search: Search) =>
    narrowed(visit, search).pipe(
      Effect.catchTag("rate_limited", () =>
        Effect.succeed(page("Transactions", [searchForm(visit, [SEARCHES_WAIT])], { status: 429 }))
      )
    )

  /** By the address: references, and the end of a number. Other words of a customer stand in no address, and a search for them is noted. */
  const read = Effect.fn("TransactionsPage.read")((visit: Visit) => {
    const search = searchOf(visit.query)
    return answered(visit, search.isWhole ? { ...search, mistakes: [...search.mistakes, NOT_BY_ADDRESS] } : search)
  })

  /** By the form. A search without a word is read by its address, so that it can be passed on. */
  const search = Effect.fn("TransactionsPage.search")(function* (visit: Visit) {
    const terms = searchOf(visit.form)
    if (terms.word === null && terms.filter.partyEnd === null) return redirect(`/transactions?${addressOf(visit.form)}`)
    const said = maskedNumber(plainText(visit.form.get("q") ?? "").replace(/[^\p{L}\p{N}]/gu, ""))
    yield* transactions.noteSearch(auditOf(visit, "transaction search", terms.filter.appId ?? "every tenant", { for: said }))
    return yield* answered(visit, { ...terms, isNoted: true })
  })

  return {
    place: { to: "/transactions", name: "Transactions" },
    routes: [
      { method: "GET", path: "/transactions", permission: "look", answer: read },
      { method: "POST", path: "/transactions", permission: "look", answer: search }
    ]
  } satisfies Room
})

/** Of whom the words of a customer were looked for: of none by an address, and where the storage cannot look at all tenants. */
type Reach = "the tenant" | "every tenant" | "some tenants" | "none"
type Said = FoundRecords & { readonly reach: Reach }

const noneFound: Said = { items: [], olderThan: null, reach: "none" }
const WORDS = "a whole number or account of the last 90 days, a receipt, or metadata as order=C-1041"
const NO_REFERENCE = "Neither a reference of ours nor of a provider."
const nothingOf: Readonly<Record<Reach, string>> = {
  "the tenant": `${NO_REFERENCE} And no payment of this tenant has it as ${WORDS}.`,
  "every tenant": `${NO_REFERENCE} And no payment of any tenant has it as ${WORDS}.`,
  "some tenants": `${NO_REFERENCE} And no payment of the tenants that could be looked at in time has it as ${WORDS}.`,
  none: `${NO_REFERENCE} With its tenant, ${WORDS}, is found by the form; without one, give the last four characters of a number.`
}
const NOT_EVERY_TENANT = "There was no time to look at every tenant: name the tenant for a whole answer."

const newestFirst = (found: ReadonlyArray<{ readonly items: ReadonlyArray<Transaction> }>): ReadonlyArray<Transaction> =>
  [...new Map(found.flatMap(({ items }) => items).map((one) => [one.reference, one])).values()].toSorted(
    (one, other) => other.createdAt - one.createdAt
  )

const NOT_BY_ADDRESS = "A whole number stands in no address: type it into the form."

/** The terms that a word may be: a member of metadata as order=C-1041, else a number, an account and a receipt alike. */
const termsOf = (word: string, country: string | null): ReadonlyArray<SearchTerm> => {
  const [, key = "", value = ""] = /^([^=]+)=(.+)$/s.exec(word) ?? []
  if (key !== "") return [{ _tag: "metadata", members: [{ key: key.trim(), value: value.trim() }] }]
  if (receiptIdentity(word) === "") return []
  const number = Option.map(
    msisdnAsWritten(word, country),
    (msisdn) => ({ _tag: "number", msisdn: Redacted.make(msisdn) }) as const
  )
  return [...Option.toArray(number), { _tag: "account", number: Redacted.make(word) }, { _tag: "receipt", text: word }]
}

/** The rest of the filter, of records that were found by what a customer said. */
const isWithin =
  ({ amount, createdFrom, currency, kind, needsReview, status }: RecordFilter) =>
  (record: Transaction): boolean =>
    (kind === null || record.kind === kind) &&
    (status === null || record.status === status) &&
    (currency === null || record.currency === currency) &&
    (amount === null || record.amount === amount) &&
    (createdFrom === null || record.createdAt >= createdFrom) &&
    (!needsReview || record.needsReview)

const results = ({ items, olderThan, reach }: Said, { word }: Search, visit: Visit): ComponentChild =>
  section(
    "Found",
    recordTable(items, word === null ? "Nothing fits." : nothingOf[reach]),
    reach === "some tenants" ? h("p", { class: "warning" }, NOT_EVERY_TENANT) : null,
    olderThan === null ? null : h("p", { class: "pager" }, olderOnes(visit, olderThan))
  )

/** Of a search by the form they are asked for by a form again. */
const olderOnes = (visit: Visit, before: number): ComponentChild => {
  const asked = new URLSearchParams(askedOf(visit))
  asked.set("to", iso(before))
  asked.delete("form_token")
  return visit.form.has("q")
    ? form(visit, { to: "/transactions", button: "Older ones", hidden: Object.fromEntries(asked) })
    : link(`/transactions?${asked}`, "Older ones")
}

const askedOf = ({ form: sent, query }: Visit): URLSearchParams => (sent.has("q") ? sent : query)

/** Without the word and the token of the form. */
const addressOf = (sent: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...sent].filter(([name, value]) => name !== "q" && name !== "form_token" && value !== ""))

/** One line a record, the newest first. */
const recordTable = (records: ReadonlyArray<Transaction>, none: string): ComponentChild =>
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

/**
 * The terms of a search. A `word` names one record. Without it the filter narrows all of them; so it does where the word names no record
 * but is a number, because only the end of a person's number is known.
 */
interface Search {
  readonly word: string | null
  /** The word is a whole number. */
  readonly isWhole: boolean
  /** The audit log has who asked for it: only then is the word looked for among all that a customer may say. */
  readonly isNoted: boolean
  /** Of a number that is written without its prefix. */
  readonly country: string | null
  readonly filter: RecordFilter
  readonly mistakes: ReadonlyArray<string>
}

const kinds = ["payout", "collection", "exchange"] as const
const statuses = [...new Set([...CollectionStatus.literals, ...PayoutStatus.literals, ...ExchangeStatus.literals])]
const isTenant = Schema.is(AppId)
const LONGEST_WORD = 200
const narrowing = ["country", "mode", "kind", "status", "currency", "amount", "from", "to"]

/** Reads the address of the page. Four characters are the end of a number; anything longer is a reference, or a whole number in any spelling. */
const searchOf = (query: URLSearchParams): Search => {
  const mistakes: Array<string> = []
  const given = (name: string) => query.get(name)?.trim() || null
  const word = given("q")
  const isEnd = word !== null && /^[0-9A-Za-z]{4}$/.test(word)
  const app = given("app")
  if (app !== null && !isTenant(app)) mistakes.push("A tenant has 1 to 40 characters of a-z, 0-9, _ and -.")
  const [currency, amountText] = [given("currency"), given("amount")]
  const known = isCurrency(currency) ? currency : null
  const amount =
    amountText === null || known === null ? null : Result.getOrNull(fromDecimal(amountText.replaceAll(",", ""), known))
  if (amountText !== null && amount === null)
    mistakes.push(known === null ? "An amount needs its currency." : "The amount is not one of that currency, as 1,000 or 12.50.")
  const moment = (name: string): Instant | null => {
    const text = given(name)
    const at = text === null ? null : Option.getOrNull(Option.filter(instantOf(momentText(text)), isSince1970))
    if (text !== null && at === null)
      mistakes.push(`${name === "from" ? "From" : "Before"}: a day and a time, as 2026-01-31T12:00.`)
    return at
  }
  const filter: RecordFilter = {
    appId: app !== null && isTenant(app) ? app : null,
    mode: oneOf(Mode.literals, given("mode")),
    kind: oneOf(kinds, given("kind")),
    status: oneOf(statuses, given("status")),
    provider: given("provider"),
    amount,
    currency: known,
    partyEnd: isEnd ? word : word === null ? null : endOfNumber(word),
    needsReview: given("review") === "yes",
    createdFrom: moment("from"),
    createdTo: moment("to")
  }
  return {
    word: isEnd ? null : (word?.slice(0, LONGEST_WORD) ?? null),
    isWhole: word !== null && endOfNumber(word) !== null,
    isNoted: false,
    country: given("country")?.toUpperCase() ?? null,
    filter,
    mistakes
  }
}

const endOfNumber = (text: string): string | null => {
  const digits = plainText(text).replace(/[\s\p{Pd}.()/+]/gu, "")
  return /^[0-9]{7,15}$/.test(digits) ? digits.slice(-4) : null
}

/** Nothing is older, and the database's calendar has no year 0. */
const isSince1970 = (at: Instant): boolean => at >= 0

/** A browser's field for a time says neither seconds nor a zone; it is UTC here, as on every page. */
const momentText = (text: string): string => {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(text) ? `${text}:00Z` : text.endsWith("Z") ? text : `${text}Z`
}

const oneOf = <A extends string>(all: ReadonlyArray<A>, given: string | null): A | null =>
  all.find((one) => one === given) ?? null

const searchForm = (visit: Visit, mistakes: ReadonlyArray<string>): ComponentChild => {
  const asked = askedOf(visit)
  const value = (name: string) => asked.get(name) ?? ""
  const any = (name: string, label: string, all: ReadonlyArray<string>) =>
    choice(name, label, [["", "any"], ...all.map((one) => [one, one.replace("_", " ")] as const)], value(name))
  return section(
    "Search",
    mistakes.map((mistake) => h("p", { class: "warning", role: "alert" }, mistake)),
    h(
      "form",
      { method: "post", action: "/transactions", class: "filters" },
      hidden("form_token", visit.visitor.formToken),
      field({
        name: "q",
        label: "Reference, ours or the provider's; number, account, receipt, metadata as order=C-1041; last four digits",
        value: value("q"),
        type: "search"
      }),
      field({ name: "app", label: "Tenant", value: value("app"), maxLength: 40 }),
      h("button", { type: "submit", class: "strong" }, "Search"),
      h(
        "details",
        { open: narrowing.some((name) => value(name) !== "") },
        h("summary", null, "Narrow it down"),
        h(
          "div",
          { class: "filters" },
          field({ name: "country", label: "Country of a national number", value: value("country"), maxLength: 2 }),
          any("mode", "Mode", Mode.literals),
          any("kind", "Kind", kinds),
          any("status", "Status", statuses),
          any("currency", "Currency", Currency.literals),
          field({ name: "amount", label: "Amount", value: value("amount"), maxLength: 30 }),
          field({ name: "from", label: "Created from (UTC)", value: value("from").slice(0, 16), type: "datetime-local" }),
          field({ name: "to", label: "Created before (UTC)", value: value("to").slice(0, 16), type: "datetime-local" })
        )
      )
    )
  )
}
