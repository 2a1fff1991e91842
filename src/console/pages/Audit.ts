import { Effect } from "effect"
import { h } from "preact"
import type { CsvValue } from "../../domain/CsvText.ts"
import { iso } from "../../domain/Instant.ts"
import { type AuditFilter, AuditLog, type AuditRow } from "../../services/ports/AuditLog.ts"
import { badge, said, section, table, time } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import { type Filter, filterForm, keptOf, listEnd, ROWS_SHOWN, readingOf, timeFilters, written } from "../ListFilters.ts"
import { type Answer, page, type Visit } from "../Route.ts"

/** The changes by operators, newest first. */
export const makeAudit = Effect.gen(function* () {
  const log = yield* AuditLog

  const show = Effect.fn("AuditPage.show")(function* ({ query }: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filterOf(query)
    const form = filterForm({ to: "/audit", filters: all, asked: query, mistakes })
    if (mistakes.size > 0) return page("Audit log", form, { status: 422 })
    const { next, rows } = yield* log.search(filter, { limit: ROWS_SHOWN, before: rowOf(query) })
    const { authentic, sequence } = yield* log.head
    return page("Audit log", [
      h(
        "p",
        null,
        authentic
          ? [badge("intact at its end", "good"), ` A gateway wrote row ${sequence}, the last one.`]
          : [badge("changed", "bad"), " Its last row is not one that a gateway wrote: run gateway audit verify."]
      ),
      form,
      section(
        "Results",
        table(
          "The newest first; gateway audit verify checks the whole chain",
          ["Row", "Time", "Actor", "Action", "Subject", "Details"],
          rows.map(({ action, actor, at, details, sequence, subject }) => [
            String(sequence),
            time(at),
            said(actor),
            said(action),
            said(subject),
            h(
              "ul",
              null,
              Object.entries(details).map(([name, value]) => h("li", null, said(`${name}: ${value}`)))
            )
          ]),
          next === null ? "Nothing fits." : "Nothing yet: look further back."
        ),
        listEnd({ to: "/audit", kept: keptOf(all, query), next: next === null ? null : String(next) })
      )
    ])
  })

  const file = Effect.fn("AuditPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filterOf(visit.query)
    if (mistakes.size > 0) return yield* show(visit)
    return listFile({
      name: "audit",
      columns,
      from: rowOf(visit.query),
      restAt: (after: bigint) => `/audit.csv?${new URLSearchParams([...keptOf(all, visit.query), ["after", String(after)]])}`,
      read: ({ after, limit }: { readonly limit: number; readonly after: bigint | null }) =>
        log.search(filter, { limit, before: after })
    })
  })

  return {
    place: { to: "/audit", name: "Audit log" },
    routes: [
      { method: "GET", path: "/audit", permission: "look", answer: show },
      { method: "GET", path: "/audit.csv", permission: "look", answer: file }
    ]
  } satisfies Room
})

const happened = timeFilters("Time")
const actor = written("actor", "Actor, as console/asha", /^\S{1,100}$/u, "An actor has no spaces, as console/asha.")
const action = written(
  "action",
  "Action, or its first word",
  /^[a-z][a-z ]{0,60}$/,
  "An action is small letters, as float credit."
)
const subject = written(
  "subject",
  "Subject, or what it begins with",
  /^(?!\+?[\d\s().-]{7,}$).{1,100}$/u,
  "A subject has at most 100 characters, and is no whole number: those stand in no address."
)
const all = [actor, action, subject, happened.from, happened.to] satisfies ReadonlyArray<Filter<unknown>>

const filterOf = (asked: URLSearchParams) => {
  const { mistakes, value } = readingOf(asked)
  const filter: AuditFilter = {
    actor: value(actor),
    action: value(action),
    subject: value(subject),
    from: value(happened.from),
    to: value(happened.to)
  }
  return { filter, mistakes }
}

/** The row after which a page begins. */
const rowOf = (asked: URLSearchParams): bigint | null => {
  const after = asked.get("after") ?? ""
  return /^\d{1,18}$/.test(after) ? BigInt(after) : null
}

const columns: ReadonlyArray<readonly [string, (row: AuditRow) => CsvValue]> = [
  ["row", ({ sequence }) => sequence],
  ["at", ({ at }) => iso(at)],
  ["actor", (row) => row.actor],
  ["action", (row) => row.action],
  ["subject", (row) => row.subject],
  ["details", ({ details }) => JSON.stringify(details)]
]
