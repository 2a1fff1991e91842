import { Effect, Option, Redacted } from "effect"
import { type ComponentChild, h } from "preact"
import { approvalPermission } from "../../domain/ConfigurationChange.ts"
import type { CsvValue } from "../../domain/CsvText.ts"
import { isReference, type Reference } from "../../domain/Ids.ts"
import { iso, isoOrNull } from "../../domain/Instant.ts"
import { may } from "../../domain/Operator.ts"
import { type Proposal, ProposalKind, ProposalStatus } from "../../domain/Proposal.ts"
import { Approvals } from "../../services/approvals/Approvals.ts"
import { NotDecided } from "../../services/approvals/Deciding.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import type { IssuedKey } from "../../services/tenants/TenantKeys.ts"
import { code, facts, link, section, warning } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import { type Filter, filterForm, keptOf, listEnd, oneOf, ROWS_SHOWN, readingOf, written } from "../ListFilters.ts"
import { proposalTable } from "../ProposalTable.ts"
import { type Answer, acting, maskedField, page, redirect, type Visit } from "../Route.ts"

/** The open proposals and the newest of the others; older ones are in the audit log. */
const PROPOSALS_READ = 1_000
const LONGEST_NOTE = 200
const CUT = `There are more than the newest ${PROPOSALS_READ}: narrow the list down, or read the audit log.`

/** The decisions of a second person. */
export const makeDecisions = Effect.gen(function* () {
  const approvals = yield* Approvals
  const proposals = yield* Proposals

  /** The newest ones that match. There are few, because each takes two people. */
  const fitting = Effect.fnUntraced(function* (asked: URLSearchParams) {
    const { mistakes, value } = readingOf(asked)
    const kind = value(filters.kind)
    const [status, by, about] = [value(filters.status), value(filters.by), value(filters.about)]
    if (mistakes.size > 0) return { found: [], isCut: false, mistakes }
    const kinds = kind === null ? ProposalKind.literals : [kind]
    const read = yield* proposals.list({ kinds, about }, PROPOSALS_READ + 1)
    const newest = read.slice(0, PROPOSALS_READ)
    const found = newest.filter((one) => (status === null || one.status === status) && (by === null || one.proposedBy === by))
    return { found, isCut: read.length > PROPOSALS_READ, mistakes }
  })

  const show = Effect.fn("Decisions.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { query } = visit
    const { found, isCut, mistakes } = yield* fitting(query)
    const form = filterForm({ to: "/proposals", filters: all, asked: query, mistakes })
    if (mistakes.size > 0) return page("Approvals", form, { status: 422 })
    const begin = found.findIndex(({ id }) => id === query.get("after")) + 1
    const shown = found.slice(begin, begin + ROWS_SHOWN)
    const next = found.length > begin + ROWS_SHOWN ? (shown.at(-1)?.id ?? null) : null
    return page("Approvals", [
      form,
      section(
        "Open and decided approvals",
        proposalTable(visit, shown),
        isCut && next === null ? h("p", { class: "warning" }, CUT) : null,
        listEnd({ to: "/proposals", kept: keptOf(all, query), next })
      )
    ])
  })

  const file = Effect.fn("Decisions.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { found, isCut, mistakes } = yield* fitting(visit.query)
    if (mistakes.size > 0) return yield* show(visit)
    return listFile({ name: "approvals", columns, read: () => Effect.succeed({ rows: found, next: null, isCut }) })
  })

  const decided = (visit: Visit, decide: (id: Reference) => Effect.Effect<Answer, NotDecided>) => {
    const id = visit.params["id"] ?? ""
    return isReference(id)
      ? Effect.catchTag(decide(id), "NotDecided", ({ message }) => Effect.succeed(refused(message)))
      : Effect.succeed(refused("There is no such proposal."))
  }

  const approve = Effect.fn("Decisions.approve")((visit: Visit) =>
    decided(visit, (id) =>
      Effect.gen(function* () {
        const found = yield* proposals.find(id)
        if (Option.exists(found, ({ kind }) => !may(visit.visitor.role, approvalPermission(kind))))
          return yield* new NotDecided("An administrator has to approve it.")
        yield* approvals.approve(id, acting(visit))
        const isKey = Option.exists(found, ({ kind }) => kind === "key issue")
        return redirect("/proposals", isKey ? "key-approved" : "approved")
      })
    )
  )

  const dismiss = Effect.fn("Decisions.dismiss")((visit: Visit) => {
    const note = maskedField(visit, "note", LONGEST_NOTE)
    return decided(visit, (id) => Effect.as(approvals.dismiss(id, acting(visit), note), redirect("/proposals", "dismissed")))
  })

  // The secrets are shown in the response itself: an address that showed them could be fetched again.
  const issue = Effect.fn("Decisions.issue")((visit: Visit) =>
    decided(visit, (id) => Effect.map(approvals.issueKey(id, acting(visit)), keyPage))
  )

  return {
    place: { to: "/proposals", name: "Approvals" },
    routes: [
      { method: "GET", path: "/proposals", permission: "look", answer: show },
      { method: "GET", path: "/proposals.csv", permission: "look", answer: file },
      { method: "POST", path: "/proposals/:id/approve", permission: "approve", answer: approve },
      { method: "POST", path: "/proposals/:id/dismiss", permission: "resolve", answer: dismiss },
      { method: "POST", path: "/proposals/:id/issue", permission: "propose", answer: issue }
    ]
  } satisfies Room
})

const filters = {
  kind: oneOf("kind", "Change", ProposalKind.literals),
  status: oneOf("status", "Status", ProposalStatus.literals),
  by: written("by", "Proposed by", /^[a-z][a-z0-9._-]{0,39}$/, "An operator's name has small letters, digits, ., _ and -."),
  about: written(
    "about",
    "Subject, or its tenant",
    /^[A-Za-z0-9_./-]{1,100}$/,
    "A subject is a reference, a tenant, or a tenant and its key."
  )
}
const all = [filters.kind, filters.status, filters.by, filters.about] satisfies ReadonlyArray<Filter<unknown>>

const columns: ReadonlyArray<readonly [string, (proposal: Proposal) => CsvValue]> = [
  ["id", ({ id }) => id],
  ["change", ({ kind }) => kind],
  ["subject", ({ subject }) => subject],
  ["status", ({ status }) => status],
  ["proposed_by", ({ proposedBy }) => proposedBy],
  ["proposed_at", ({ proposedAt }) => iso(proposedAt)],
  ["decided_by", ({ decidedBy }) => decidedBy],
  ["decided_at", ({ decidedAt }) => isoOrNull(decidedAt)],
  ["details", ({ details }) => JSON.stringify(details)],
  ["note", ({ note }) => note]
]

const refused = (message: string): Answer =>
  page("Nothing was decided", [warning(message), h("p", null, link("/proposals", "All proposals"))], { status: 409 })

const keyPage = ({ apiKey, caller: { appId, keyId, mode, role }, signingSecret }: IssuedKey): Answer => {
  const shown = {
    app_id: appId,
    key_id: keyId,
    api_key: Redacted.value(apiKey),
    signing_secret: Redacted.value(signingSecret),
    mode,
    role
  }
  return page(`The new key of ${appId}`, [
    h(
      "p",
      { class: "warning", role: "status" },
      "This is the only time that the two secrets are shown. Pass them on now, by a safe way. If they are lost, have this key revoked and propose another."
    ),
    section(
      "The key",
      facts(Object.entries(shown).map(([name, value]): readonly [string, ComponentChild] => [name, code(value)]))
    ),
    section(
      "The same as a file, as the command gateway sign reads it",
      h("pre", { tabIndex: 0 }, JSON.stringify(shown, null, 2))
    ),
    h("p", null, link(`/keys/${appId}`, `Keys of ${appId}`))
  ])
}
