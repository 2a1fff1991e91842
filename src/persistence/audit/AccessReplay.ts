import { Option, Schema } from "effect"
import { configurationKinds } from "../../domain/ConfigurationChange.ts"
import { iso } from "../../domain/Instant.ts"
import { ProposalKind } from "../../domain/Proposal.ts"
import type { ChainedRow } from "../vault/AuditChain.ts"

// The permissions by the audit log, replayed row by row. A row has a name and a text, like the database's in AccessRows.

type Details = Readonly<Record<string, string>>

interface ReplayedTenant {
  readonly status: string
  readonly capabilities: ReadonlyArray<string>
  readonly pinned: string
  readonly repeatSales: string
}

interface ReplayedKey {
  readonly mode: string
  readonly role: string
  readonly label: string
  /** Its networks, separated by commas. */
  readonly from: string
}

interface ReplayedProposal {
  readonly id: string | undefined
  readonly about: string
  readonly proposedBy: string
  readonly proposed: string | undefined
  status: string
  decidedBy: string
}

export const tenantText = ({ capabilities, pinned, repeatSales, status }: ReplayedTenant): string =>
  `${status}, may ${[...capabilities].sort().join(" ") || "nothing"}, pinned to ${pinned || "nobody"}, repeat sales ${repeatSales}`
export const keyText = ({ from, isRevoked, label, mode, role }: ReplayedKey & { readonly isRevoked: boolean }): string =>
  `${mode} ${role}${label === "" ? "" : ` for ${label}`}${from === "" ? "" : ` from ${from}`}${isRevoked ? ", revoked" : ""}`
/** Without hash and party when the row was written by a release that did not record them. */
export const denialText = (reason: string, { hash, party }: { readonly hash?: string; readonly party?: string }): string =>
  [party, hash, reason].filter((one) => one !== undefined).join(" ")
export const proposalText = ({ decidedBy, proposed, proposedBy, status }: Omit<ReplayedProposal, "id" | "about">): string =>
  `${status}, proposed by ${proposedBy}${decidedBy === "" ? "" : `, decided by ${decidedBy}`}${proposed === undefined ? "" : `, ${proposed}`}`
export const proposalName = (kind: string, subject: string, at: number): string => `proposal ${kind} ${subject} ${iso(at)}`

/** Applies each action to the names and texts. Actions that do not concern access are ignored. */
export const makeAccessReplay = () => {
  const texts = new Map<string, string>()
  const tenants = new Map<string, ReplayedTenant>()
  const keys = new Map<string, ReplayedKey>()
  const proposals = makeProposalReplay()

  const changeTenant = (appId: string, change: (tenant: ReplayedTenant) => Partial<ReplayedTenant>) => {
    const before = tenants.get(appId)
    if (before === undefined) return
    const after = { ...before, ...change(before) }
    tenants.set(appId, after)
    texts.set(`tenant ${appId}`, tenantText(after))
  }

  const actions: Readonly<Record<string, (row: ChainedRow, details: Details) => void>> = {
    "operator add": ({ subject }, { role = "" }) => texts.set(`operator ${subject}`, role),
    "operator remove": ({ subject }) => {
      texts.delete(`operator ${subject}`)
      proposals.endOf(subject)
    },
    "key issue": ({ subject }, { from = "", label = "", mode = "", role = "" }) => {
      keys.set(subject, { from, label, mode, role })
      texts.set(`key ${subject}`, keyText({ from, label, mode, role, isRevoked: false }))
    },
    "key revoke": ({ subject }) => {
      const issued = keys.get(subject) ?? { from: "", label: "", mode: "", role: "" }
      texts.set(`key ${subject}`, keyText({ ...issued, isRevoked: true }))
    },
    "tenant create": ({ subject }, { capabilities = "" }) => {
      tenants.set(subject, { status: "active", capabilities: [], pinned: "", repeatSales: "refuse" })
      changeTenant(subject, () => ({ capabilities: capabilities.split(",").filter((one) => one !== "") }))
    },
    "tenant freeze": ({ subject }) => changeTenant(subject, () => ({ status: "frozen" })),
    "tenant unfreeze": ({ subject }) => changeTenant(subject, () => ({ status: "active" })),
    "tenant grant": ({ subject }, { capability = "" }) =>
      changeTenant(subject, ({ capabilities }) => ({ capabilities: [...new Set([...capabilities, capability])] })),
    "tenant deny": ({ subject }, { capability }) =>
      changeTenant(subject, ({ capabilities }) => ({ capabilities: capabilities.filter((one) => one !== capability) })),
    "tenant pin": ({ subject }, { provider = "" }) => changeTenant(subject, () => ({ pinned: provider })),
    "tenant unpin": ({ subject }) => changeTenant(subject, () => ({ pinned: "" })),
    "tenant guard": ({ subject }, { repeat_sales: repeatSales = "" }) => changeTenant(subject, () => ({ repeatSales })),
    "limit set": ({ subject }, { count = "", direction, mode, window }) =>
      texts.set(`limit ${subject}/${mode}/${direction}/${window}`, count),
    "cap set": ({ subject }, { amount_minor: amount = "", ...cap }) => texts.set(capName(subject, cap), amount),
    "cap remove": ({ subject }, cap) => texts.delete(capName(subject, cap)),
    "ceiling set": ({ subject }, { amount_minor: amount = "" }) => texts.set(`ceiling ${subject}`, amount),
    "block add": (row, details) => texts.set(...denial(row, details)),
    "screening deny": (row, details) => texts.set(...denial(row, details)),
    "provider off": ({ subject }) => texts.set(`switch ${subject}`, "off"),
    "provider on": ({ subject }) => texts.set(`switch ${subject}`, "on"),
    "corridor set": ({ subject }, { row }) => void (row === undefined || texts.set(`corridor ${subject}`, row))
  }
  return {
    read: (row: ChainedRow): void => {
      const details = Option.getOrElse(decodeDetails(row.details), (): Details => ({}))
      actions[row.action]?.(row, details)
      proposals.read(row, details)
    },
    /** Every name with its text. */
    texts: (): ReadonlyMap<string, string> => new Map([...texts, ...proposals.texts()])
  }
}

const capName = (appId: string, { currency, direction, mode, window }: Details): string =>
  `cap ${[appId, mode, direction, window, currency].join("/")}`

const makeProposalReplay = () => {
  const proposals = new Map<string, ReplayedProposal>()

  const propose = (kind: string, { actor, atMicros, subject }: ChainedRow, { proposal, proposed }: Details) =>
    proposals.set(proposalName(kind, subject, Number(atMicros / 1000n)), {
      id: proposal,
      about: subject,
      proposedBy: personOf(actor),
      proposed,
      status: "open",
      decidedBy: ""
    })

  /** By its id. An older release recorded only its subject, for which no two are open at once. */
  const waiting = (id: string, about: string | undefined): ReplayedProposal | undefined => {
    const all = [...proposals.values()].filter(({ status }) => status === "open" || status === "approved")
    return all.find((one) => one.id === id) ?? all.findLast((one) => one.id === undefined && one.about === about)
  }

  const decide = ({ actor, subject }: ChainedRow, { about }: Details, status: string) => {
    const found = waiting(subject, about)
    if (found === undefined) return
    if (found.status === "open") found.decidedBy = status === "expired" ? found.proposedBy : personOf(actor)
    found.status = status !== "expired" ? status : found.status === "open" ? "withdrawn" : "failed"
  }

  /** Open and approved proposals end with the account of their proposer; approved ones also with that of their approver. */
  const endOf = (name: string) => {
    for (const one of proposals.values())
      if (one.status === "open" && one.proposedBy === name) {
        one.status = "withdrawn"
        one.decidedBy = name
      } else if (one.status === "approved" && (one.proposedBy === name || one.decidedBy === name)) one.status = "failed"
  }

  const actions: Readonly<Record<string, (row: ChainedRow, details: Details) => void>> = {
    "float propose": (row, details) => propose(`float ${details["direction"]}`, row, details),
    "review propose": (row, details) => propose("review resolve", row, details),
    "key issue propose": (row, details) => propose("key issue", row, details),
    "key revoke propose": (row, details) => propose("key revoke", row, details),
    ...Object.fromEntries(
      configurationKinds.map((kind) => [`${kind} propose`, (row: ChainedRow, details: Details) => propose(kind, row, details)])
    ),
    "proposal approve": (row, details) => decide(row, details, "approved"),
    "proposal reject": (row, details) => decide(row, details, "rejected"),
    "proposal withdraw": (row, details) => decide(row, details, "withdrawn"),
    "proposal fail": (row, details) => decide(row, details, "failed"),
    "proposal finish": (row, details) => decide(row, details, "done"),
    "proposal call off": (row, details) => decide(row, details, "failed"),
    "proposal expire": (row, details) => decide(row, details, "expired")
  }

  return {
    endOf,
    read: (row: ChainedRow, details: Details): void => {
      actions[row.action]?.(row, details)
      const { about, file, proposal } = details
      // One row of a file does not end its proposal.
      const done =
        proposal === undefined || file !== undefined || !carriedOut.includes(row.action) ? undefined : waiting(proposal, about)
      if (done !== undefined) done.status = "done"
    },
    texts: () => [...proposals].map(([name, proposal]) => [name, proposalText(proposal)] as const)
  }
}

/** Actions that name the proposal for which they were done. */
const carriedOut: ReadonlyArray<string> = ProposalKind.literals

const decodeDetails = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

const denial = ({ atMicros, subject }: ChainedRow, { kind, reason = "", ...said }: Details): [string, string] => [
  denialName(kind ?? "", subject, Number(atMicros / 1000n)),
  denialText(reason, said)
]
export const denialName = (kind: string, masked: string, at: number): string => `denial ${kind} ${masked} ${iso(at)}`

const personOf = (actor: string): string => actor.replace(/^console\//, "")
