import { type ComponentChild, h } from "preact"
import type { Delivery } from "../domain/Delivery.ts"
import type { Instant } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import type { HistoryLine } from "../services/ports/FloatLedger.ts"
import type { PostedEntry } from "../services/ports/Transactions.ts"
import { code, money, said, type Tone, time } from "./Elements.ts"
import { happeningText, noteText } from "./HappeningText.ts"
import { statusTone } from "./RecordText.ts"

/** Something that happened, as a line of the timeline. */
interface Happening {
  readonly at: Instant
  readonly tone: Tone
  readonly what: string
  readonly who: string
  readonly more: ComponentChild
}

const actors: Readonly<Record<string, string>> = {
  request: "the tenant's request",
  callback: "a callback of the provider",
  reconciler: "a poll on schedule",
  operator: "a poll that an operator asked for",
  review: "a person's review",
  authorize: "the tenant's authorize"
}

/** What happened, in its order: what was brought and decided, what was posted, what was sent. */
export const momentsOf = (parts: {
  readonly history: ReadonlyArray<HistoryLine>
  readonly entries: ReadonlyArray<PostedEntry>
  readonly sent: ReadonlyArray<Delivery>
}): ReadonlyArray<Happening> => {
  const lines = parts.history.map(
    ({ actor, at, fact, note, status }): Happening => ({
      at,
      tone: statusTone(status),
      what: `${happeningText(fact)}: ${status.replace("_", " ")}`,
      who: fact === "Migrated" ? "an upgrade" : (actors[actor] ?? actor),
      // A person's words are masked already, and amounts stand beside them.
      more: note === "" ? null : h("p", null, said(actor === "review" ? note : noteText(note)))
    })
  )
  const posted = parts.entries.map(
    ({ at, phase, postings }): Happening => ({
      at,
      tone: "quiet",
      what: `Ledger: ${phase}`,
      who: "the ledger",
      more: h(
        "p",
        null,
        postings.map(({ account, amount, currency }, place) => [place === 0 ? "" : "; ", `${account} `, money(amount, currency)])
      )
    })
  )
  const attempts = parts.sent.flatMap((delivery) => delivery.attempts.map((attempt) => attemptLine(delivery, attempt)))
  return [...lines, ...posted, ...attempts].sort((one, other) => one.at - other.at)
}

const attemptLine = (delivery: Delivery, { at, durationMs, excerpt, status }: Delivery["attempts"][number]): Happening => ({
  at,
  tone: status !== null && status >= 200 && status < 300 ? "good" : "bad",
  what: `Webhook ${delivery.eventType}: ${status === null ? "no answer" : `answered ${status}`}`,
  who: `after ${durationMs} ms`,
  more: [
    excerpt === "" ? null : h("p", null, said(maskedText(excerpt))),
    h("p", { class: "soft" }, "Delivery ", code(delivery.id), `, ${delivery.status}`)
  ]
})

export const timeline = (happenings: ReadonlyArray<Happening>): ComponentChild =>
  h(
    "ol",
    { class: "timeline" },
    happenings.map(({ at, more, tone, what, who }) =>
      h(
        "li",
        { class: tone },
        h("div", { class: "head" }, h("span", { class: "what" }, what), h("span", { class: "soft" }, time(at), ", ", who)),
        more
      )
    )
  )
