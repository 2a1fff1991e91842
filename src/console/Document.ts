import { type ComponentChild, type ComponentChildren, h } from "preact"
import { renderToString } from "preact-render-to-string"
import type { Visitor } from "../services/SignIn.ts"
import { facts, hidden } from "./Elements.ts"
import type { Page } from "./Route.ts"

export interface NavigationLink {
  readonly to: string
  readonly name: string
}

interface Frame {
  readonly path: string
  readonly links: ReadonlyArray<NavigationLink>
  readonly visitor: Visitor
  /** The name of a notice; an unknown name shows nothing. */
  readonly notice: string | null
}

/** A whole document: the `page`, in the frame for the person who is signed in. */
export const framed = ({ body, refreshSeconds, title }: Page, { notice, path, links, visitor }: Frame): string => {
  const sentence = notice !== null && Object.hasOwn(notices, notice) ? notices[notice] : undefined
  return documentOf(title, [
    h("a", { class: "skip", href: "#content" }, "Skip to the content"),
    h(
      "header",
      null,
      h("a", { class: "brand", href: "/" }, "Payment gateway"),
      quickSearch(visitor),
      h(
        "form",
        { method: "post", action: "/logout", class: "inline person" },
        hidden("form_token", visitor.formToken),
        h("span", null, `${visitor.name}, ${visitor.role}`),
        h("button", { type: "submit" }, "Log out")
      )
    ),
    h(
      "nav",
      { "aria-label": "Console" },
      links.map(({ name, to }) => h("a", { href: to, ...(isAt(to, path) ? { "aria-current": "page" as const } : {}) }, name))
    ),
    h(
      "main",
      { id: "content", tabIndex: -1, ...(refreshSeconds === null ? {} : { "data-refresh": String(refreshSeconds) }) },
      sentence === undefined ? null : h("p", { class: "notice", role: "status" }, sentence),
      h("h1", null, title),
      body
    ),
    h(
      "footer",
      null,
      "All times are UTC. Numbers of people are shown by their last four digits. ",
      h("button", { type: "button", id: "keyboard-show", hidden: true }, "Keyboard")
    ),
    keyboard
  ])
}

const keyMeanings: ReadonlyArray<readonly [string, string]> = [
  ["/", "to the search field"],
  ["j", "to the next row"],
  ["k", "to the row before"],
  ["Enter", "opens the row"],
  ["?", "shows this"]
]

/** The shortcuts of ConsoleScript; without scripts the dialog stays closed. */
const keyboard: ComponentChild = h(
  "dialog",
  { id: "keyboard", "aria-labelledby": "keyboard-title" },
  h("h2", { id: "keyboard-title" }, "Keyboard"),
  facts(keyMeanings.map(([key, meaning]) => [key, meaning])),
  h(
    "form",
    { method: "dialog", class: "inline" },
    h("button", { type: "submit" }, "Close"),
    h("button", { type: "button", id: "keyboard-on" }, "Turn these keys off")
  )
)

/** A document without the frame: the login page, and messages for people who are not signed in. */
export const plainDocument = (title: string, body: ComponentChildren): string =>
  documentOf(title, h("main", { id: "content", class: "alone" }, h("h1", null, title), body))

const documentOf = (title: string, children: ComponentChildren): string =>
  `<!doctype html>\n${renderToString(
    h(
      "html",
      { lang: "en" },
      h(
        "head",
        null,
        h("meta", { charset: "utf-8" }),
        h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
        h("title", null, `${title} · Payment gateway console`),
        h("link", { rel: "icon", href: "data:," }),
        h("link", { rel: "stylesheet", href: "/console.css" }),
        h("script", { src: "/console.js", defer: true })
      ),
      h("body", null, children)
    )
  )}\n`

/** Sent by POST, because the text may be a phone number, which must not be in an address. */
const quickSearch = ({ formToken }: Visitor): ComponentChild =>
  h(
    "form",
    { method: "post", action: "/transactions", role: "search", class: "inline quick" },
    hidden("form_token", formToken),
    h("label", { for: "quick", class: "unseen" }, "Search for a transaction"),
    h("input", {
      id: "quick",
      name: "q",
      type: "search",
      maxLength: 200,
      placeholder: "Reference, last four digits",
      autocomplete: "off"
    }),
    h("button", { type: "submit" }, "Search")
  )

const isAt = (to: string, path: string): boolean => (to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`))

/** The sentence on a page after a change. The address has only the name of a sentence, so a link cannot put words on a page. */
const notices: Readonly<Record<string, string>> = {
  "logged-out": "You are logged out.",
  asked: "The provider was asked. What it said is in the timeline.",
  acknowledged: "Its alerts rest until then, or until it goes into review or out of it. Nothing else changed.",
  "not-open": "Nothing was done: it is neither open nor in review any more.",
  "hours-wrong": "Nothing was done: alerts rest for 1 to 72 hours.",
  resolved: "The case is resolved.",
  proposed: "Proposed. Another person has to approve it before anything is done.",
  approved: "Approved, and carried out.",
  "key-approved": "Approved. The key is made when its proposer asks for it.",
  dismissed: "The proposal is over. Nothing was done.",
  redelivered: "They are sent again: the same bytes under the same ids.",
  "no-endpoint": "Nothing was sent: the tenant has no enabled endpoint in this mode.",
  "none-ticked": "Nothing was done: none was selected.",
  "none-chosen": "Nothing was sent: none was selected.",
  replayed: "It is looked into again.",
  closed: "It is closed. Nothing was asked and nothing was booked.",
  "no-callback": "There is no such callback any more, or it is not parked.",
  changed: "It is changed. Every node follows within a second.",
  "sender-set": "It is kept. Every node tells it from within a second on.",
  "sender-removed": "Nobody is named as the sender any more. Payouts that need one are refused.",
  "reason-missing": "Nothing was done: it needs a reason."
}
