import { Context, Effect, Option, Schema } from "effect"
import { AppId, Mode } from "../../domain/Ids.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { type Caller, type KeyTerms, Role } from "../../domain/Tenant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { type NewProposal, NotCarriedOut } from "../ports/Proposals.ts"
import { Tenants } from "../ports/Tenants.ts"
import { type IssuedKey, TenantKeys } from "../tenants/TenantKeys.ts"
import { type Acting, makeProposing, NotDecided, writtenIn } from "./Deciding.ts"

export interface KeyWish extends Omit<Caller, "keyId">, KeyTerms {
  readonly note: string
}

interface RevocationWish extends Pick<Caller, "appId" | "keyId"> {
  readonly note: string
}

/**
 * API keys from the console, always with two people (`Approvals`). A key is not created on approval, but when its proposer
 * requests it afterwards: its secrets are shown once, to that person, and do not exist before.
 */
export class KeyApprovals extends Context.Service<
  KeyApprovals,
  {
    /** Opens the proposal, which names the new key's id. Refused when there is no such tenant. */
    readonly proposeIssue: (wish: KeyWish, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Opens the proposal. Refused when there is no such key, when it is revoked, or when its revocation is already proposed. */
    readonly proposeRevocation: (wish: RevocationWish, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Creates the key with the id in the proposal. */
    readonly issue: (proposal: Proposal, by: AuditBy) => Effect.Effect<IssuedKey, NotCarriedOut>
    readonly revoke: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
  }
>()("gateway/services/approvals/KeyApprovals") {
  static readonly layer = layerOf(KeyApprovals)(function* () {
    const tenants = yield* Tenants
    const propose = yield* makeProposing
    const keys = yield* TenantKeys

    const open = Effect.fnUntraced(function* (proposal: Pick<NewProposal, "kind" | "subject" | "details">, acting: Acting) {
      const { details, kind, subject } = proposal
      const waitsAlready = `Something about the key ${subject} waits already for a second person.`
      yield* propose({ ...proposal, audit: { action: `${kind} propose`, details }, waitsAlready }, acting)
    })

    return {
      proposeIssue: Effect.fn("KeyApprovals.proposeIssue")(function* ({ addresses, appId, label, mode, note, role }, acting) {
        if (Option.isNone(yield* tenants.find(appId))) return yield* new NotDecided(`There is no tenant ${appId}.`)
        const keyId = yield* keys.newKeyId
        const labelled = label === "" ? {} : { label }
        const terms =
          addresses.length === 0 ? { role, ...labelled } : { [LIMITED_ROLE]: role, ...labelled, from: addresses.join(",") }
        const details = { app_id: appId, key_id: keyId, mode, ...terms, note }
        yield* open({ kind: "key issue", subject: `${appId}/${keyId}`, details }, acting)
      }),

      proposeRevocation: Effect.fn("KeyApprovals.proposeRevocation")(function* ({ appId, keyId, note }, acting) {
        const key = (yield* tenants.keys(appId)).find((one) => one.keyId === keyId && one.revokedAt === null)
        if (key === undefined) return yield* new NotDecided(`The tenant ${appId} has no key ${keyId}, or it is revoked already.`)
        const details = { app_id: appId, key_id: keyId, mode: key.mode, role: key.role, note }
        yield* open({ kind: "key revoke", subject: `${appId}/${keyId}`, details }, acting)
      }),

      issue: Effect.fn("KeyApprovals.issue")(function* (proposal, by) {
        return yield* keys
          .issue({ ...termsOf(proposal), caller: yield* callerOf(proposal) }, by)
          .pipe(Effect.catchTag("NoSuchTenant", ({ appId }) => Effect.fail(new NotCarriedOut(`there is no tenant ${appId}`))))
      }),

      revoke: Effect.fn("KeyApprovals.revoke")(function* (proposal, by) {
        const { appId, keyId } = yield* callerOf(proposal)
        yield* keys
          .revoke(appId, keyId, by)
          .pipe(Effect.catchTag("NotRevoked", ({ message }) => Effect.fail(new NotCarriedOut(message))))
      })
    }
  })
}

/** The role of a key with networks. The previous release finds no `role` and issues no key that works from anywhere. */
const LIMITED_ROLE = "limited_role"

const decodeDetails = writtenIn(Schema.Struct({ app_id: AppId, key_id: Schema.String, mode: Mode, role: Role }))

const callerOf = ({ details }: Proposal): Effect.Effect<Caller> =>
  Effect.map(decodeDetails({ role: details[LIMITED_ROLE], ...details }), ({ app_id: appId, key_id: keyId, mode, role }) => ({
    appId,
    keyId,
    mode,
    role
  }))

const termsOf = ({ details }: Proposal): KeyTerms => ({
  label: details["label"] ?? "",
  addresses: details["from"]?.split(",") ?? []
})
