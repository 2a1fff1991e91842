import { Effect, Redacted } from "effect"
import { type ComponentChild, h } from "preact"
import { isReference, type Reference } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { ProposalKind } from "../../domain/Proposal.ts"
import { Approvals } from "../../services/approvals/Approvals.ts"
import type { NotDecided } from "../../services/approvals/Deciding.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import type { IssuedKey } from "../../services/tenants/TenantKeys.ts"
import { code, facts, link, section } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { proposalTable } from "../ProposalTable.ts"
import { type Answer, page, redirect, type Visit } from "../Route.ts"

const PROPOSALS_SHOWN = 100
const LONGEST_NOTE = 200

/** The decisions of a second person. */
export const makeDecisions = Effect.gen(function* () {
  const approvals = yield* Approvals
  const proposals = yield* Proposals

  const show = Effect.fn("Decisions.show")(function* (visit: Visit) {
    const all = yield* proposals.list({ kinds: ProposalKind.literals, about: null }, PROPOSALS_SHOWN)
    return page("Approvals", section("Open and decided approvals", proposalTable(visit, all)))
  })

  const decided = (visit: Visit, decide: (id: Reference) => Effect.Effect<Answer, NotDecided>) => {
    const id = visit.params["id"] ?? ""
    return isReference(id)
      ? Effect.catchTag(decide(id), "NotDecided", ({ message }) => Effect.succeed(refused(message)))
      : Effect.succeed(refused("There is no such proposal."))
  }

  const acting = ({ at, visitor }: Visit) => ({ by: visitor.name, at })

  const approve = Effect.fn("Decisions.approve")((visit: Visit) =>
    decided(visit, (id) => Effect.as(approvals.approve(id, acting(visit)), redirect("/proposals", "approved")))
  )

  const dismiss = Effect.fn("Decisions.dismiss")((visit: Visit) => {
    const note = maskedText((visit.form.get("note") ?? "").trim().slice(0, LONGEST_NOTE))
    return decided(visit, (id) => Effect.as(approvals.dismiss(id, acting(visit), note), redirect("/proposals", "dismissed")))
  })

  // The answer itself shows the secrets: an address that did so could be read again.
  const issue = Effect.fn("Decisions.issue")((visit: Visit) =>
    decided(visit, (id) => Effect.map(approvals.issueKey(id, acting(visit)), keyPage))
  )

  return {
    place: { to: "/proposals", name: "Approvals" },
    routes: [
      { method: "GET", path: "/proposals", permission: "look", answer: show },
      { method: "POST", path: "/proposals/:id/approve", permission: "approve", answer: approve },
      { method: "POST", path: "/proposals/:id/dismiss", permission: "resolve", answer: dismiss },
      { method: "POST", path: "/proposals/:id/issue", permission: "propose", answer: issue }
    ]
  } satisfies Room
})

const refused = (message: string): Answer =>
  page(
    "Nothing was decided",
    [h("p", { class: "warning", role: "alert" }, message), h("p", null, link("/proposals", "All proposals"))],
    {
      status: 409
    }
  )

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
