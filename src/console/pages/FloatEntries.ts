import { Effect, Redacted, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import { isCurrency } from "../../domain/Currency.ts"
import { AppId, isReference, Mode } from "../../domain/Ids.ts"
import { type EntryPosition, FloatEntries, type FloatName } from "../../services/ports/FloatEntries.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { link, section } from "../Elements.ts"
import { entriesPath, entryTable } from "../EntryTable.ts"
import type { Room } from "../Handler.ts"
import { type Answer, page, redirect, type Visit } from "../Route.ts"

const ENTRIES_SHOWN = 50

/** All that ever moved one float, a page at a time. */
export const makeFloatEntries = Effect.gen(function* () {
  const floatEntries = yield* FloatEntries
  const { hash } = yield* Vault

  /** A position holds the balance at that entry: the mark proves that this gateway wrote it, and not the author of a link. */
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
      section("Entries", entryTable(float, items, none), older)
    ])
  })

  return {
    place: null,
    routes: [{ method: "GET", path: "/floats/:app/:mode/:currency", permission: "look", answer: show }]
  } satisfies Room
})

const pager = (to: string): ComponentChild => h("p", { class: "pager" }, link(to, "Older ones"))

const isTenant = Schema.is(AppId)

const floatOf = ({ app, currency, mode: wanted }: Visit["params"]): FloatName | null => {
  const mode = Mode.literals.find((one) => one === wanted)
  return isTenant(app) && mode !== undefined && isCurrency(currency) ? { appId: app, mode, currency } : null
}

const placeText = ({ at, balance: { available, reserved }, reference, revision }: EntryPosition): string =>
  [at, reference, revision, available, reserved].join(".")

const PLACE = /^((\d{1,15})\.(\w*)\.(\d{1,19})\.(-?\d{1,19})\.(-?\d{1,19}))\.[0-9a-f]{64}$/

/** A place as this gateway wrote it; undefined where it did not. */
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

const noFloat = page("There is no such float", h("p", null, link("/floats", "All floats")), { status: 404 })
