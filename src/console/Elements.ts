import { type ComponentChild, type ComponentChildren, h } from "preact"
import type { Currency } from "../domain/Currency.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { toDecimal } from "../domain/Money.ts"
import { visibleText } from "../domain/VisibleText.ts"
import type { Visit } from "./Route.ts"

// The elements of pages. Every text is put on the page as text: preact escapes it, and invisible characters are made visible.

export type Tone = "good" | "bad" | "wait" | "quiet"

/** Text from outside, put on the page as text. */
export const said = (text: string): ComponentChild => h("span", { class: "said", dir: "auto" }, visibleText(text))

export const code = (text: string): ComponentChild => h("code", null, visibleText(text))

export const badge = (text: string, tone: Tone): ComponentChild => h("span", { class: `badge ${tone}` }, text)

export const link = (to: string, children: ComponentChildren): ComponentChild => h("a", { href: to }, children)

/** The mistakes as one alert; nothing where there are none. */
export const warning = (problem: string | null): ComponentChild =>
  problem === null ? null : h("p", { class: "warning", role: "alert" }, problem)
/** Shown once a person opens it. */
export const folded = (summary: string, content: ComponentChildren): ComponentChild =>
  h("details", null, h("summary", null, summary), content)

export const transactionLink = (reference: string): ComponentChild => link(`/transactions/${reference}`, code(reference))

/** "2026-01-31 12:00:00.123 UTC": for events that are compared with those of another system. */
export const time = (at: Instant | null): ComponentChild =>
  at === null ? "never" : h("time", { dateTime: iso(at) }, `${iso(at).slice(0, 23).replace("T", " ")} UTC`)

/** "2026-01-31 12:00 UTC": for a start or an end that a person or a schedule set. */
export const minute = (at: Instant): ComponentChild =>
  h("time", { dateTime: iso(at), title: iso(at) }, `${iso(at).slice(0, 16).replace("T", " ")} UTC`)

/** "in the hour from 2026-01-31 12:00 UTC": for what is recorded once an hour. */
export const within = (hour: Instant | null): ComponentChild => (hour === null ? "never" : ["in the hour from ", minute(hour)])

/** "UGX 1,234,567" or "KES -12.50". */
export const money = (amount: bigint | null, currency: Currency): ComponentChild =>
  amount === null ? "not known" : h("span", { class: "money" }, `${currency} ${amountText(amount, currency)}`)

/** "1,234,567" or "12.50", which a form also accepts. */
export const amountText = (amount: bigint, currency: Currency): string => {
  const [whole = "0", fraction] = toDecimal(amount, currency).split(".")
  return `${whole.replaceAll(/\B(?=(\d{3})+$)/g, ",")}${fraction === undefined ? "" : `.${fraction}`}`
}

/** Names and their values. A row with null is left out. */
export const facts = (rows: ReadonlyArray<readonly [string, ComponentChildren]>): ComponentChild =>
  h(
    "dl",
    { class: "facts" },
    rows.filter(([, value]) => value !== null).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))
  )

/** A table that stacks its rows on a narrow screen; each cell then shows its column. */
export const table = (
  caption: string,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<ComponentChildren>>,
  none = "None."
): ComponentChild =>
  rows.length === 0
    ? h("p", { class: "none" }, none)
    : h(
        "table",
        null,
        h("caption", null, caption),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            columns.map((column) => h("th", { scope: "col" }, column))
          )
        ),
        h(
          "tbody",
          null,
          rows.map((cells) =>
            h(
              "tr",
              null,
              cells.map((cell, at) => h("td", { "data-label": columns[at] ?? "" }, h("div", null, cell)))
            )
          )
        )
      )

export const section = (title: string, ...children: ReadonlyArray<ComponentChildren>): ComponentChild =>
  h("section", { "aria-labelledby": idOf(title) }, h("h2", { id: idOf(title) }, title), children)

/** The id of a heading or of a field. */
export const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")

export interface Form {
  readonly to: string
  readonly button: string
  readonly fields?: ReadonlyArray<ComponentChild>
  readonly hidden?: Readonly<Record<string, string>>
  readonly tone?: "plain" | "strong" | "danger"
  /** The subject of a row's button, for screen readers. */
  readonly about?: string
}

/** A form that changes something: it carries the token of the session that it was made for. */
export const form = (
  { visitor }: Visit,
  { about, button, fields = [], hidden: hiddenFields = {}, to, tone = "plain" }: Form
): ComponentChild =>
  h(
    "form",
    { method: "post", action: to, class: fields.length > 0 ? "stacked" : "inline" },
    hidden("form_token", visitor.formToken),
    Object.entries(hiddenFields).map(([name, value]) => hidden(name, value)),
    fields,
    h("button", { type: "submit", class: tone, ...(about === undefined ? {} : { "aria-label": `${button} ${about}` }) }, button)
  )

export interface Field {
  readonly name: string
  /** The id of a field that a page has several times; otherwise it is derived from the name. */
  readonly id?: string
  readonly label: string
  readonly value?: string
  readonly hint?: string
  readonly type?: "text" | "search" | "password" | "number" | "date" | "datetime-local"
  readonly isRequired?: boolean
  readonly maxLength?: number
}

export const field = ({
  hint,
  isRequired = false,
  label,
  maxLength = 200,
  name,
  id = `field-${name}`,
  type = "text",
  value = ""
}: Field): ComponentChild => {
  return h(
    "p",
    { class: "field" },
    h("label", { for: id }, label),
    h("input", {
      id,
      name,
      type,
      value,
      maxLength,
      required: isRequired,
      autocomplete: "off",
      ...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })
    }),
    hint === undefined ? null : h("small", { id: `${id}-hint` }, hint)
  )
}

export const words = ({ hint, isRequired = true, label, maxLength = 500, name, value = "" }: Field): ComponentChild => {
  const id = `field-${name}`
  return h(
    "p",
    { class: "field" },
    h("label", { for: id }, label),
    h(
      "textarea",
      {
        id,
        name,
        rows: 3,
        maxLength,
        required: isRequired,
        ...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })
      },
      value
    ),
    hint === undefined ? null : h("small", { id: `${id}-hint` }, hint)
  )
}

export const choice = (
  name: string,
  label: string,
  options: ReadonlyArray<readonly [string, string]>,
  chosen = ""
): ComponentChild =>
  h(
    "p",
    { class: "field" },
    h("label", { for: `field-${name}` }, label),
    h(
      "select",
      { id: `field-${name}`, name },
      options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))
    )
  )

/** The options of a choice without a default. */
export const toChoose = (words: ReadonlyArray<string>) => [["", "choose"], ...words.map((one) => [one, one] as const)] as const

export const hidden = (name: string, value: string): ComponentChild => h("input", { type: "hidden", name, value })
