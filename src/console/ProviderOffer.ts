import { type ComponentChild, h } from "preact"
import type { Corridor } from "../domain/Corridor.ts"
import { type DoubtsOf, notNamed, openRowsOf } from "../services/ports/CorridorDoubts.ts"

/** The providers that a form offers, and why it does not offer the others. */
export interface ProviderOffer {
  readonly able: ReadonlyArray<string>
  readonly doubts: ReadonlyArray<string>
}

/** For a corridor: the providers that would serve it. */
export const corridorOffer = (row: Corridor, known: ReadonlyArray<string>, doubtsOf: DoubtsOf): ProviderOffer =>
  offerOf([...new Set([...row.providers, ...known])], (name) => doubtsOf(row, name))

/** For the pin of a tenant: the providers that would serve at least one open corridor that names them. */
export const pinOffer = (rows: ReadonlyArray<Corridor>, known: ReadonlyArray<string>, doubtsOf: DoubtsOf): ProviderOffer =>
  offerOf(known, (name) => {
    const named = openRowsOf(rows, name)
    if (named.length === 0) return [notNamed(name)]
    const doubts = named.map((row) => doubtsOf(row, name))
    return doubts.some((one) => one.length === 0) ? [] : [...new Set(doubts.flat())]
  })

export const notOffered = ({ doubts }: ProviderOffer): ComponentChild =>
  doubts.length === 0
    ? null
    : [
        h("p", { class: "soft" }, "Not offered, by the settings here:"),
        h(
          "ul",
          { class: "soft" },
          doubts.map((doubt) => h("li", null, doubt))
        )
      ]

const offerOf = (names: ReadonlyArray<string>, why: (name: string) => ReadonlyArray<string>): ProviderOffer => {
  const all = names.map((name) => ({ name, doubts: why(name) }))
  return {
    able: all.filter(({ doubts }) => doubts.length === 0).map(({ name }) => name),
    doubts: all.flatMap(({ doubts }) => doubts)
  }
}
