import { h } from "preact"
import { plainDocument } from "./Document.ts"
import { field, hidden } from "./Elements.ts"

/** The same for a wrong token, an unknown name and one that is locked out: who asks learns nothing of which it was. */
export const logInPage = (name: string, next: string, wasRefused: boolean): string =>
  plainDocument("Log in", [
    wasRefused
      ? h(
          "p",
          { class: "warning", role: "alert" },
          "The name or the token is wrong, or there were ten wrong ones. After ten, wait ten minutes."
        )
      : null,
    h(
      "section",
      { "aria-label": "Log in" },
      h(
        "form",
        { method: "post", action: "/login", class: "stacked" },
        hidden("next", next),
        field({ name: "name", label: "Name", value: name.slice(0, 40), isRequired: true, maxLength: 40 }),
        field({ name: "token", label: "Token", type: "password", isRequired: true, maxLength: 100 }),
        h("button", { type: "submit", class: "strong" }, "Log in")
      )
    ),
    h(
      "p",
      { class: "soft" },
      "A token comes from ",
      h("code", null, "gateway operator add"),
      ", once. Nobody can look it up again."
    )
  ])
