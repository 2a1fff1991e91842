import { type ComponentChild, h } from "preact"
import { approvalPermission, providerIn } from "../domain/ConfigurationChange.ts"
import { isCurrency } from "../domain/Currency.ts"
import { may } from "../domain/Operator.ts"
import type { Proposal } from "../domain/Proposal.ts"
import { isOfConfiguration } from "../services/approvals/ConfigurationApprovals.ts"
import { isOfFile } from "../services/approvals/ReviewFiles.ts"
import { badge, code, field, folded, form, link, money, said, type Tone, table, time } from "./Elements.ts"
import type { Visit } from "./Route.ts"

const tones: { readonly [S in Proposal["status"]]: Tone } = {
  open: "wait",
  approved: "wait",
  done: "good",
  failed: "bad",
  rejected: "quiet",
  withdrawn: "quiet"
}

/** The proposals, with the buttons that this person may use. */
export const proposalTable = (visit: Visit, proposals: ReadonlyArray<Proposal>): ComponentChild =>
  table(
    "What waits comes first",
    ["Change", "Proposed", "Details", "Status", "Decided", ""],
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

const labels: Readonly<Record<string, string>> = {
  asked_minor: "The tenant asked for",
  amount_minor: "Amount",
  fee_minor: "Fee",
  outcome: "Outcome",
  evidence: "Evidence",
  file: "File (SHA-256)",
  successful: "Successful",
  failed: "Failed",
  not_ruled: "Rows that cannot be ruled",
  app_id: "Tenant",
  mode: "Mode",
  external_id: "External id",
  key_id: "Key",
  role: "Role",
  limited_role: "Role",
  label: "Label",
  from: "Used from",
  open_now: "Open now",
  open_then: "Open then",
  providers_now: "Tried now",
  providers_then: "Tried then",
  status_now: "Status now",
  switch_now: "Switch now",
  pinned_now: "Pinned now to",
  pinned_then: "Pinned then to",
  note: "Why"
}

/** These details only give another one's currency, and are shown with it. The revision that the proposer saw is for the program. */
const silent = /_currency$|^seen$|^rulings$/

/** The details of a proposal, each amount in major units with its currency. */
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

const subjectLink = (proposal: Proposal): ComponentChild => {
  const { details, id, kind, subject } = proposal
  if (isOfFile(proposal)) return link(`/unknown/files/${id}`, ["the file ", code(subject.slice(0, SHOWN_OF_FILE))])
  if (kind === "provider off" || kind === "provider on")
    return link(`/providers/${providerIn(subject)}/change`, code(providerIn(subject)))
  if (isOfConfiguration(proposal))
    return link(kind === "corridor set" ? `/corridors/${subject}/change` : `/tenants/${subject}/change`, code(subject))
  return link(
    kind === "review resolve" ? `/reviews/${subject}` : `/${kind.startsWith("key") ? "keys" : "floats"}/${details["app_id"]}`,
    code(subject)
  )
}

/** The characters shown of a file's name, which is its digest. */
const SHOWN_OF_FILE = 17

const buttons = (visit: Visit, proposal: Proposal): ComponentChild => {
  const { name, role } = visit.visitor
  const { id, kind, proposedBy, status, subject } = proposal
  const isOwn = proposedBy === name
  const to = (what: string) => ({ to: `/proposals/${id}/${what}`, about: `${kind} ${subject}` })
  if (status !== "open" && status !== "approved") return null
  if (isOwn)
    return [
      status === "approved" && kind === "key issue" && may(role, "propose")
        ? form(visit, { ...to("issue"), button: "Make the key, and see its secrets once", tone: "strong" })
        : null,
      may(role, "resolve") ? form(visit, { ...to("dismiss"), button: "Withdraw" }) : null
    ]
  return [
    approval(visit, proposal),
    may(role, "resolve")
      ? folded(
          status === "open" ? "Reject" : "Call off",
          form(visit, {
            ...to("dismiss"),
            button: status === "open" ? "Reject it" : "Call it off",
            tone: "danger",
            fields: [field({ name: "note", id: `note-${id}`, label: "Why", isRequired: true })]
          })
        )
      : null
  ]
}

/** A proposal that was approved but not carried out, because the process died, is carried out by approving it again. */
const approval = (visit: Visit, { id, kind, status, subject }: Proposal): ComponentChild => {
  if (status === "approved" && kind === "key issue") return "waits for its proposer, who has the key made"
  const permission = approvalPermission(kind)
  if (!may(visit.visitor.role, permission)) return `waits for an ${permission === "approve" ? "approver" : "administrator"}`
  const button = status === "open" ? "Approve" : "Carry out"
  return form(visit, { to: `/proposals/${id}/approve`, button, about: `${kind} ${subject}`, tone: "strong" })
}
