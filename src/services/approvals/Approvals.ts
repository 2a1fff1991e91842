import { Context, Effect, Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import { consoleActor } from "../../domain/Operator.ts"
import { hasExpired, type Proposal, type ProposalKind } from "../../domain/Proposal.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy, AuditEntry } from "../ports/AuditLog.ts"
import { NotCarriedOut, Proposals } from "../ports/Proposals.ts"
import type { IssuedKey } from "../tenants/TenantKeys.ts"
import { ConfigurationApprovals } from "./ConfigurationApprovals.ts"
import { type Acting, auditBy, NotDecided, peopleOf } from "./Deciding.ts"
import { FloatApprovals } from "./FloatApprovals.ts"
import { KeyApprovals } from "./KeyApprovals.ts"
import { ReviewApprovals } from "./ReviewApprovals.ts"
import { endOf, isOfFile, ReviewFiles, rowsRuled } from "./ReviewFiles.ts"

/** The second person's decisions on proposals. Each kind has a file of its own that creates and carries out its proposals. */
export class Approvals extends Context.Service<
  Approvals,
  {
    /**
     * Approves another person's proposal and carries it out once, exactly as it was proposed. If that is impossible, the
     * proposal fails with the reason. If the process dies after the approval, repeating the call carries it out. A key proposal
     * is only approved: its proposer then calls `issueKey`.
     */
    readonly approve: (id: Reference, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Creates the key that this person proposed and another person approved, once. If the response is lost, so are the secrets. */
    readonly issueKey: (id: Reference, acting: Acting) => Effect.Effect<IssuedKey, NotDecided>
    /** Ends a proposal: an open one is withdrawn by its proposer or rejected by another, an approved one called off by any. */
    readonly dismiss: (id: Reference, acting: Acting, note: string) => Effect.Effect<void, NotDecided>
  }
>()("gateway/services/approvals/Approvals") {
  static readonly layer = layerOf(Approvals)(function* () {
    const proposals = yield* Proposals
    const floats = yield* FloatApprovals
    const keys = yield* KeyApprovals
    const reviews = yield* ReviewApprovals
    const files = yield* ReviewFiles
    const configuration = yield* ConfigurationApprovals

    // A key is created when its proposer requests it.
    const carriers: {
      readonly [K in ProposalKind]: ((proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>) | null
    } = {
      "review resolve": reviews.carryOut,
      "float credit": floats.carryOut,
      "float debit": floats.carryOut,
      "key issue": null,
      "key revoke": keys.revoke,
      "corridor set": configuration.carryOut,
      "tenant freeze": configuration.carryOut,
      "tenant unfreeze": configuration.carryOut,
      "tenant pin": configuration.carryOut,
      "tenant unpin": configuration.carryOut,
      "provider off": configuration.carryOut,
      "provider on": configuration.carryOut
    }

    const find = Effect.fnUntraced(function* (id: Reference) {
      const proposal = yield* proposals.find(id)
      return Option.isSome(proposal) ? proposal.value : yield* new NotDecided(notFound)
    })

    /** A proposal that can still be approved or carried out. */
    const current = Effect.fnUntraced(function* (id: Reference, { at }: Acting) {
      const proposal = yield* find(id)
      return hasExpired(proposal, at) ? yield* new NotDecided(expired) : proposal
    })

    /** Carries it out, or fails for good, in one commit with the end of the proposal. */
    const inOneCommit = Effect.fnUntraced(function* <A>(
      proposal: Proposal,
      acting: Acting,
      act: Effect.Effect<A, NotCarriedOut>
    ) {
      const done = yield* proposals.carryOut(proposal.id, act, rowOf(proposal, acting, "proposal fail"))
      if (Option.isNone(done)) return yield* new NotDecided(notYours)
      return yield* Effect.mapError(Effect.fromResult(done.value), ({ message }) => new NotDecided(message))
    })

    /** A file's rulings are made in one commit each while the proposal is approved, and none twice, whenever the process dies. */
    const carriedOut = Effect.fnUntraced(function* (
      proposal: Proposal,
      acting: Acting,
      carryOut: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
    ) {
      const by = auditBy(proposal, acting)
      if (!isOfFile(proposal)) return yield* inOneCommit(proposal, acting, carryOut(proposal, by))
      const { count, details, note } = endOf(yield* files.carryOut(proposal, by))
      if (count === 0) return yield* inOneCommit(proposal, acting, Effect.fail(new NotCarriedOut(note)))
      const audit = rowOf(proposal, acting, "proposal finish")
      const isDone = yield* proposals.finish(proposal.id, note, {
        ...audit,
        details: { ...audit.details, ...details, why: note }
      })
      if (!isDone) return yield* new NotDecided(`${rowsRuled(count)}, the rest called off: its approval had ended.`)
    })

    const approve = Effect.fn("Approvals.approve")(function* (id: Reference, acting: Acting) {
      const { at, by } = acting
      const proposal = yield* current(id, acting)
      if (proposal.proposedBy === by) return yield* new NotDecided(notYours)
      const carryOut = carriers[proposal.kind]
      if (proposal.status === "approved" && carryOut !== null) return yield* carriedOut(proposal, acting, carryOut)
      const decision = { id, status: "approved", by, at, note: "" } as const
      const approved = yield* proposals.decide(decision, rowOf(proposal, acting, "proposal approve"))
      if (Option.isNone(approved)) return yield* new NotDecided(notYours)
      if (carryOut === null) return
      yield* carriedOut(approved.value, acting, carryOut)
      // Uninterruptible, so that closing the page does not interrupt it between the commits.
    }, Effect.uninterruptible)

    const issueKey = Effect.fn("Approvals.issueKey")(function* (id: Reference, acting: Acting) {
      const proposal = yield* current(id, acting)
      if (proposal.kind !== "key issue" || proposal.proposedBy !== acting.by || proposal.status !== "approved")
        return yield* new NotDecided(notToIssue)
      return yield* inOneCommit(proposal, acting, keys.issue(proposal, auditBy(proposal, acting)))
    }, Effect.uninterruptible)

    const dismiss = Effect.fn("Approvals.dismiss")(function* (id: Reference, acting: Acting, note: string) {
      const { at, by } = acting
      const proposal = yield* find(id)
      if (proposal.status === "approved") {
        // `approved` means that nothing has been done for it yet.
        const calledOff = new NotCarriedOut(`${by} called it off${note === "" ? "" : `: ${note}`}`)
        const ended = yield* proposals.carryOut(id, Effect.fail(calledOff), rowOf(proposal, acting, "proposal call off"))
        return Option.isNone(ended) ? yield* new NotDecided(notYours) : undefined
      }
      const isOwn = proposal.proposedBy === by
      const status = isOwn ? "withdrawn" : "rejected"
      const audit = rowOf(proposal, acting, `proposal ${isOwn ? "withdraw" : "reject"}`)
      const decided = yield* proposals.decide({ id, status, by, at, note }, { ...audit, details: { ...audit.details, note } })
      if (Option.isNone(decided)) return yield* new NotDecided(notYours)
    }, Effect.uninterruptible)

    return { approve, issueKey, dismiss }
  })
}

const rowOf = (proposal: Proposal, { at, by }: Acting, action: string): AuditEntry => ({
  at,
  actor: consoleActor(by),
  action,
  subject: proposal.id,
  details: peopleOf(proposal)
})

const notFound =
  "There is no such proposal here: its proposer's account was removed, or a newer release of the gateway made it and decides it."
const notYours = "It is decided already, or it is your own: somebody else has to approve it."
const expired = "It expired: nobody carried it out in time. Propose it anew, if it is still wanted."
const notToIssue = "Its proposer issues it, once, after somebody else approved it."
