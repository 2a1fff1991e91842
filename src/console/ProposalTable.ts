import { type ComponentChild, h } from "preact"
import { isCurrency } from "../domain/Currency.ts"
import { may } from "../domain/Operator.ts"
import type { Proposal } from "../domain/Proposal.ts"
import { badge, field, form, link, money, said, type Tone, table, time } from "./Elements.ts"
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
      proposalFacts(proposal),
      [badge(proposal.status, tones[proposal.status]), proposal.note === "" ? null : [" ", said(proposal.note)]],
      proposal.decidedAt === null ? "not yet" : [time(proposal.decidedAt), ` by ${proposal.decidedBy}`],
      buttons(visit, proposal)
    ]),
    "Nothing was proposed."
  )

/** What a detail is called on the page. */
const labels: Readonly<Record<string, string>> = {
  asked_minor: "The tenant asked for",
  amount_minor: "Amount",
  fee_minor: "Fee",
  outcome: "Outcome",
  evidence: "Evidence"
}

/** They say how another detail is read, and stand with it. The revision that was seen is for the program. */
const silent = /_currency$|^seen$/

/** What was proposed, each amount in major units with its currency. */
export const proposalFacts = ({ details }: Pick<Proposal, "details">): ComponentChild =>
  h(
    "ul",
    null,
    Object.entries(details)
      .filter(([name]) => !silent.test(name))
      .map(([name, value]) => h("li", null, `${labels[name] ?? name}: `, valueOf(details, name, value)))
  )

const valueOf = (details: Proposal["details"], name: string, value: string): ComponentChild => {
  if (!name.endsWith("_minor") || !/^-?\d+$/.test(value)) return said(value)
  const currency = details[name.replace(/_minor$/, "_currency")]
  return isCurrency(currency) ? money(BigInt(value), currency) : `${value} of the smallest unit`
}

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
