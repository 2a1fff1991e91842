import { Effect, Option, Redacted, Result, Schema, Stream } from "effect"
import { type ComponentChild, h } from "preact"
import { csvText } from "../../domain/CsvText.ts"
import { isCurrency } from "../../domain/Currency.ts"
import { AppId, isReference, Mode, type Reference } from "../../domain/Ids.ts"
import { type Instant, instantOf, LAST_INSTANT } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { StatementType } from "../../domain/Statement.ts"
import { statementLines } from "../../services/FloatStatement.ts"
import {
  type EntryPosition,
  FloatEntries,
  type FloatName,
  type StatementPage,
  type StatementRange
} from "../../services/ports/FloatEntries.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { field, link, section } from "../Elements.ts"
import { entriesPath, entryTable } from "../EntryTable.ts"
import type { Room } from "../Handler.ts"
import { type Filter, inputsOf, mistakesOf, oneOf, readingOf } from "../ListFilters.ts"
import { type Answer, missing, page, redirect, type Visit } from "../Route.ts"

const ENTRIES_SHOWN = 50

/** Every entry that moved one float, a page at a time. */
export const makeFloatEntries = Effect.gen(function* () {
  const floatEntries = yield* FloatEntries
  const { hash } = yield* Vault

  /** A position contains the balance at that entry. The mark proves that this gateway wrote it, and not the author of a link. */
  const marked = (path: string, place: string): string =>
    `${place}.${Buffer.from(hash("console_float_place", Redacted.make(`${path} ${place}`))).toString("hex")}`

  const show = Effect.fn("FloatEntriesPage.show")(function* ({ params, query }: Visit): Effect.fn.Return<Answer> {
    const float = floatOf(params)
    if (float === null) return noFloat
    const path = entriesPath(float)
    const given = query.get("before")
    const before = given === null ? null : placeOf(given, (place) => marked(path, place))
    if (before === undefined) return redirect(path)
    const { items, next } = yield* floatEntries.list(float, before, ENTRIES_SHOWN)
    const { appId, currency, mode } = float
    const none = next === null ? "There are none." : "None was found so far: look further back."
    const older = next === null ? null : pager(`${path}?before=${marked(path, placeText(next))}`)
    return page(`${currency} float of ${appId}, ${mode}`, [
      h("p", null, link(`/floats/${appId}`, `Floats of ${appId}`)),
      statementForm(path, new URLSearchParams(), []),
      section("Entries", entryTable(float, items, none), older)
    ])
  })

  /** As the tenant reads it, without operators' notes. The tenant's metadata is masked, as on every page here. */
  const statement = Effect.fn("FloatEntriesPage.statement")(
    function* ({ params, query }: Visit) {
      const float = floatOf(params)
      if (float === null) return noFloat
      const { mistakes, range } = rangeOf(query)
      if (mistakes.size > 0) return page("The statement", statementForm(entriesPath(float), query, mistakes), { status: 422 })
      const lines = yield* statementLines((each) => Effect.map(floatEntries.statement(float, range, each), masked))
      const { appId, currency, mode } = float
      return { _tag: "CsvFile" as const, name: `statement-${appId}-${mode}-${currency}.csv`, text: Stream.map(lines, csvText) }
    },
    Effect.catch(() => Effect.succeed(tooBusy))
  )

  return {
    place: null,
    routes: [
      { method: "GET", path: "/floats/:app/:mode/:currency", permission: "look", answer: show },
      { method: "GET", path: "/floats/:app/:mode/:currency/statement.csv", permission: "look", answer: statement }
    ]
  } satisfies Room
})

const DAY_MS = 86_400_000

/** A UTC day, by its start. The user may also type the start of the next day. */
const day = (name: string, label: string): Filter<Instant> => ({
  name,
  read: (text) =>
    Result.fromOption(
      Option.filter(instantOf(`${text}T00:00:00.000Z`), (at) => at >= 0 && at + DAY_MS <= LAST_INSTANT),
      () => `${label}: a day, as 2026-01-31.`
    ),
  // The browser's own field shows nothing for a text that is no day.
  input: (text) => field({ name, label, value: text, type: text === "" || /^\d{4}-\d{2}-\d{2}$/.test(text) ? "date" : "text" })
})
const reference: Filter<Reference> = {
  name: "reference",
  read: (text) => (isReference(text) ? Result.succeed(text) : Result.fail("A reference has 26 letters and digits.")),
  input: (text) => field({ name: "reference", label: "Reference", value: text, maxLength: 26 })
}
const [from, to] = [day("from", "From"), day("to", "Up to and with")]
const type = oneOf("type", "Type", StatementType.literals)

/** From the start of the first day to the end of the last one. */
const rangeOf = (asked: URLSearchParams): { readonly range: StatementRange; readonly mistakes: ReadonlySet<string> } => {
  const { mistakes, value } = readingOf(asked)
  const last = value(to)
  const range = { from: value(from), to: last === null ? null : last + DAY_MS, type: value(type), reference: value(reference) }
  return { range, mistakes }
}

const statementForm = (path: string, asked: URLSearchParams, mistakes: Iterable<string>): ComponentChild =>
  section(
    "Statement",
    mistakesOf(mistakes),
    h(
      "p",
      { class: "soft" },
      "What the tenant can read of this float, the oldest first, as CSV: ",
      link(`${path}/statement.csv`, "all of it"),
      ", or some days of UTC, entries of one type or of one transaction."
    ),
    h(
      "form",
      { method: "get", action: `${path}/statement.csv`, class: "filters" },
      inputsOf([from, to, type, reference], asked),
      h("button", { type: "submit" }, "Get the CSV")
    )
  )

const pager = (to: string): ComponentChild => h("p", { class: "pager" }, link(to, "Older ones"))

const isTenant = Schema.is(AppId)

const floatOf = ({ app, currency, mode: wanted }: Visit["params"]): FloatName | null => {
  const mode = Mode.literals.find((one) => one === wanted)
  return isTenant(app) && mode !== undefined && isCurrency(currency) ? { appId: app, mode, currency } : null
}

const placeText = ({ at, balance: { available, reserved }, reference, revision }: EntryPosition): string =>
  [at, reference, revision, available, reserved].join(".")

const PLACE = /^((\d{1,15})\.(\w*)\.(\d{1,19})\.(-?\d{1,19})\.(-?\d{1,19}))\.[0-9a-f]{64}$/

/** A place that this gateway wrote; undefined where it did not. */
const placeOf = (text: string, marked: (place: string) => string): EntryPosition | undefined => {
  const [, place, at, reference = "", revision, available, reserved] = PLACE.exec(text) ?? []
  if (place === undefined || marked(place) !== text || !(reference === "" || isReference(reference))) return undefined
  return {
    at: Number(at),
    reference,
    revision: BigInt(revision ?? 0),
    balance: { available: BigInt(available ?? 0), reserved: BigInt(reserved ?? 0) }
  }
}

const noFloat = missing("float", "/floats", "All floats")

const tooBusy = page("The statement could not be read", h("p", null, "The database is busy. Ask again in a moment."), {
  status: 503
})

const masked = (page: StatementPage): StatementPage => ({
  ...page,
  items: page.items.map((item) => (item.metadata === null ? item : { ...item, metadata: maskedText(item.metadata) }))
})
