import { type ComponentChild, type ComponentChildren, h } from "preact"
import { renderToString } from "preact-render-to-string"
import type { Visitor } from "../services/console/SignIn.ts"
import { notices } from "./Notices.ts"
import type { Page } from "./Route.ts"

/** Where people go from every page. */
export interface Place {
  readonly to: string
  readonly name: string
}

interface Frame {
  readonly path: string
  readonly places: ReadonlyArray<Place>
  readonly visitor: Visitor
  /** The name of a notice; an unknown one says nothing. */
  readonly notice: string | null
}

/** A whole document: what `page` shows, in the frame of somebody who is logged in. */
export const framed = ({ body, refreshSeconds, title }: Page, { notice, path, places, visitor }: Frame): string => {
  const sentence = notice !== null && Object.hasOwn(notices, notice) ? notices[notice] : undefined
  return documentOf(title, [
    h("a", { class: "skip", href: "#content" }, "Skip to the content"),
    h(
      "header",
      null,
      h("a", { class: "brand", href: "/" }, "Payment gateway"),
      quickSearch,
      h(
        "form",
        { method: "post", action: "/logout", class: "inline person" },
        h("input", { type: "hidden", name: "form_token", value: visitor.formToken }),
        h("span", null, `${visitor.name}, ${visitor.role}`),
        h("button", { type: "submit" }, "Log out")
      )
    ),
    h(
      "nav",
      { "aria-label": "Console" },
      places.map(({ name, to }) => h("a", { href: to, ...(isAt(to, path) ? { "aria-current": "page" as const } : {}) }, name))
    ),
    h(
      "main",
      { id: "content", tabIndex: -1, ...(refreshSeconds === null ? {} : { "data-refresh": String(refreshSeconds) }) },
      sentence === undefined ? null : h("p", { class: "notice", role: "status" }, sentence),
      h("h1", null, title),
      body
    ),
    h("footer", null, "All times are UTC. Numbers of people are shown by their last four digits.")
  ])
}

/** A document of its own: logging in, and what is said to people who are not. */
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

const quickSearch: ComponentChild = h(
  "form",
  { method: "get", action: "/transactions", role: "search", class: "inline quick" },
  h("label", { for: "quick", class: "unseen" }, "Find a transaction"),
  h("input", {
    id: "quick",
    name: "q",
    type: "search",
    maxLength: 200,
    placeholder: "Reference, last four digits",
    autocomplete: "off"
  }),
  h("button", { type: "submit" }, "Find")
)

const isAt = (to: string, path: string): boolean => (to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`))
