import { Context, Effect, Layer, Option, Schema } from "effect"
import { AppId, Mode } from "../../domain/Ids.ts"
import { consoleActor } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { type Caller, type KeyTerms, Role } from "../../domain/Tenant.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { type NewProposal, NotCarriedOut, Proposals } from "../ports/Proposals.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { Tenants } from "../ports/Tenants.ts"
import { type IssuedKey, TenantKeys } from "../tenants/TenantKeys.ts"
import { type Acting, NotDecided } from "./Deciding.ts"

/** A key to issue, and the reason. */
export interface KeyWish extends Omit<Caller, "keyId">, KeyTerms {
  readonly note: string
}

/** A key to revoke, and the reason. */
export interface RevocationWish extends Pick<Caller, "appId" | "keyId"> {
  readonly note: string
}

/**
 * Keys from the console, always by two people (`Approvals`). A key is not made when it is approved, but when its proposer asks for it after that:
 * so its secrets are shown once, to the person who wanted them, and are nowhere before.
 */
export class KeyApprovals extends Context.Service<
  KeyApprovals,
  {
    /** Opens the proposal, which names the new key's id. Refused where the tenant is not there. */
    readonly proposeIssue: (wish: KeyWish, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Opens the proposal. Refused where there is no such key, where it is revoked, or where its revocation waits already. */
    readonly proposeRevocation: (wish: RevocationWish, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Makes the key under the id of the proposal. */
    readonly issue: (proposal: Proposal, by: AuditBy) => Effect.Effect<IssuedKey, NotCarriedOut>
    readonly revoke: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
  }
>()("gateway/services/approvals/KeyApprovals") {
  static readonly layer = Layer.effect(
    KeyApprovals,
    Effect.gen(function* () {
      const tenants = yield* Tenants
      const proposals = yield* Proposals
      const randomSource = yield* RandomSource
      const keys = yield* TenantKeys

      const open = Effect.fnUntraced(function* (
        { details, kind, subject }: Pick<NewProposal, "kind" | "subject" | "details">,
        { at, by }: Acting
      ) {
        const id = yield* randomSource.reference
        const audit = { at, actor: consoleActor(by), action: `${kind} propose`, subject, details }
        if (yield* proposals.open({ id, kind, subject, details, proposedBy: by, proposedAt: at }, audit)) return
        return yield* new NotDecided({ message: `Something about the key ${subject} waits already for a second person.` })
      })

      const proposeIssue = Effect.fn("KeyApprovals.proposeIssue")(function* (
        { addresses, appId, label, mode, note, role }: KeyWish,
        acting: Acting
      ) {
        if (Option.isNone(yield* tenants.find(appId))) return yield* new NotDecided({ message: `There is no tenant ${appId}.` })
        const keyId = yield* keys.newKeyId
        const labelled = label === "" ? {} : { label }
        const terms =
          addresses.length === 0 ? { role, ...labelled } : { [LIMITED_ROLE]: role, ...labelled, from: addresses.join(",") }
        const details = { app_id: appId, key_id: keyId, mode, ...terms, note }
        yield* open({ kind: "key issue", subject: `${appId}/${keyId}`, details }, acting)
      })

      const proposeRevocation = Effect.fn("KeyApprovals.proposeRevocation")(function* (
        { appId, keyId, note }: RevocationWish,
        acting: Acting
      ) {
        const key = (yield* tenants.keys(appId)).find((one) => one.keyId === keyId && one.revokedAt === null)
        if (key === undefined)
          return yield* new NotDecided({ message: `The tenant ${appId} has no key ${keyId}, or it is revoked already.` })
        const details = { app_id: appId, key_id: keyId, mode: key.mode, role: key.role, note }
        yield* open({ kind: "key revoke", subject: `${appId}/${keyId}`, details }, acting)
      })

      const issue = Effect.fn("KeyApprovals.issue")(function* (proposal: Proposal, by: AuditBy) {
        return yield* keys
          .issue({ ...termsOf(proposal), caller: yield* callerOf(proposal) }, by)
          .pipe(
            Effect.catchTag("NoSuchTenant", ({ appId }) =>
              Effect.fail(new NotCarriedOut({ message: `there is no tenant ${appId}` }))
            )
          )
      })

      const revoke = Effect.fn("KeyApprovals.revoke")(function* (proposal: Proposal, by: AuditBy) {
        const { appId, keyId } = yield* callerOf(proposal)
        yield* keys
          .revoke(appId, keyId, by)
          .pipe(Effect.catchTag("NotRevoked", ({ message }) => Effect.fail(new NotCarriedOut({ message }))))
      })

      return KeyApprovals.of({ proposeIssue, proposeRevocation, issue, revoke })
    })
  )
}

/** The role of a key that is held to networks. The release before knows no networks: it finds no role, and issues no key that may be used from anywhere. */
const LIMITED_ROLE = "limited_role"

const decodeDetails = Schema.decodeUnknownEffect(Schema.Struct({ app_id: AppId, key_id: Schema.String, mode: Mode, role: Role }))

/** The proposed caller, as it was written down. */
const callerOf = ({ details }: Proposal): Effect.Effect<Caller> =>
  Effect.matchEffect(decodeDetails({ role: details[LIMITED_ROLE], ...details }), {
    onFailure: (error) => Effect.die(error),
    onSuccess: ({ app_id: appId, key_id: keyId, mode, role }) => Effect.succeed({ appId, keyId, mode, role })
  })

const termsOf = ({ details }: Proposal): KeyTerms => ({
  label: details["label"] ?? "",
  addresses: details["from"]?.split(",") ?? []
})
