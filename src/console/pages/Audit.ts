import { Effect } from "effect"
import { h } from "preact"
import { AuditLog } from "../../services/ports/AuditLog.ts"
import { badge, said, section, table, time } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { page } from "../Route.ts"

const SHOWN = 200

/** The changes by operators, the newest first. */
export const makeAudit = Effect.gen(function* () {
  const log = yield* AuditLog

  const show = Effect.fn("AuditPage.show")(function* () {
    const rows = yield* log.list(SHOWN)
    const { authentic, sequence } = yield* log.head
    return page("Audit log", [
      h(
        "p",
        null,
        authentic
          ? [badge("intact at its end", "good"), ` A gateway wrote row ${sequence}, the last one.`]
          : [badge("changed", "bad"), " Its last row is not one that a gateway wrote: run gateway audit verify."]
      ),
      section(
        `The newest ${SHOWN}`,
        table(
          "gateway audit verify checks the whole chain",
          ["Row", "When", "Who", "What", "Of", "Details"],
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
          ])
        )
      )
    ])
  })

  return {
    place: { to: "/audit", name: "Audit log" },
    routes: [{ method: "GET", path: "/audit", permission: "look", answer: show }]
  } satisfies Room
})
