import { Context, type Effect, type Option } from "effect"
import type { Operator, OperatorName } from "../../domain/Operator.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** An operator, and what its token is checked with. */
export interface OperatorAccount extends Operator {
  /** 32 bytes, by the Vault; the token itself is not kept. */
  readonly tokenHash: Uint8Array
}

/** The people who may log in to the console. Every change writes its audit row in the same commit. */
export class Operators extends Context.Service<
  Operators,
  {
    /** False when the name is taken; nothing is written then. */
    readonly add: (account: OperatorAccount, audit: AuditEntry) => Effect.Effect<boolean>
    /** Ordered by name. */
    readonly list: Effect.Effect<ReadonlyArray<Operator>>
    /** Ends the operator's sessions as well. False when there is no such operator. */
    readonly remove: (name: OperatorName, audit: AuditEntry) => Effect.Effect<boolean>
    readonly find: (name: OperatorName) => Effect.Effect<Option.Option<OperatorAccount>>
  }
>()("gateway/services/ports/Operators") {}
