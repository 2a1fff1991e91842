import { type ComponentChild, h } from "preact"
import { may } from "../domain/Operator.ts"
import type { Proposal } from "../domain/Proposal.ts"
import { badge, field, form, link, said, type Tone, table, time } from "./Elements.ts"
import type { Visit } from "./Route.ts"

const tones: { readonly [S in Proposal["status"]]: Tone } = {
  open: "wait",
  approved: "wait",
  done: "good",
  failed: "bad",
  rejected: "quiet",
  withdrawn: "quiet"
}

/** What was proposed, with the buttons that this person has for it. */
export const proposalTable = (visit: Visit, proposals: ReadonlyArray<Proposal>): ComponentChild =>
  table(
    "What waits comes first",
    ["What", "Proposed", "How", "Status", "Decided", ""],
    proposals.map((proposal) => [
      [`${proposal.kind} `, subjectLink(proposal)],
      [time(proposal.proposedAt), ` by ${proposal.proposedBy}`],
      h(
        "ul",
        null,
        Object.entries(proposal.details).map(([name, value]) => h("li", null, `${name}: `, said(value)))
      ),
      [badge(proposal.status, tones[proposal.status]), proposal.note === "" ? null : [" ", said(proposal.note)]],
      proposal.decidedAt === null ? "not yet" : [time(proposal.decidedAt), ` by ${proposal.decidedBy}`],
      buttons(visit, proposal)
    ]),
    "Nothing was proposed."
  )

const subjectLink = ({ subject }: Proposal): ComponentChild => link(`/reviews/${subject}`, h("code", null, subject))

const buttons = (visit: Visit, { id, proposedBy, status }: Proposal): ComponentChild => {
  const { name, role } = visit.visitor
  // It was approved, and the process died before it was carried out, or is just doing it: repeating it does no harm.
  if (status === "approved" && proposedBy !== name && may(role, "approve"))
    return form(visit, { to: `/proposals/${id}/approve`, button: "Carry out", tone: "strong" })
  if (status !== "open") return null
  if (proposedBy === name) return form(visit, { to: `/proposals/${id}/dismiss`, button: "Withdraw" })
  if (!may(role, "approve")) return "waits for an approver"
  return [
    form(visit, { to: `/proposals/${id}/approve`, button: "Approve", tone: "strong" }),
    h(
      "details",
      null,
      h("summary", null, "Reject"),
      form(visit, {
        to: `/proposals/${id}/dismiss`,
        button: "Reject it",
        tone: "danger",
        fields: [field({ name: "note", label: "Why", isRequired: true })]
      })
    )
  ]
}
