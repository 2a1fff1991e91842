import { Context, type Effect, type Option } from "effect"
import type { Operator, OperatorName } from "../../domain/Operator.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** An operator and the hash for checking the operator's token. */
export interface OperatorAccount extends Operator {
  /** 32 bytes, computed by the Vault; the token itself is not stored. */
  readonly tokenHash: Uint8Array
}

/** The people who may log in to the console. Every change writes its audit row in the same commit. */
export class Operators extends Context.Service<
  Operators,
  {
    /** False, and nothing is written, when the name is taken. */
    readonly add: (account: OperatorAccount, audit: AuditEntry) => Effect.Effect<boolean>
    /** Ordered by name. */
    readonly list: Effect.Effect<ReadonlyArray<Operator>>
    /** Also ends the operator's sessions. False when there is no such operator. */
    readonly remove: (name: OperatorName, audit: AuditEntry) => Effect.Effect<boolean>
    readonly find: (name: OperatorName) => Effect.Effect<Option.Option<OperatorAccount>>
  }
>()("gateway/services/ports/Operators") {}
