import { Schema } from "effect"
import { Instant } from "./Instant.ts"

/** A person who works in the console. The audit log shows the name after "console/". */
export const OperatorName = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9._-]{0,39}$/u)).pipe(Schema.brand("OperatorName"))
export type OperatorName = typeof OperatorName.Type

export const OperatorRole = Schema.Literals(["viewer", "support", "approver", "admin"])
export type OperatorRole = typeof OperatorRole.Type

export const Operator = Schema.Struct({ name: OperatorName, role: OperatorRole, createdAt: Instant })
export type Operator = typeof Operator.Type

/**
 * The permissions of a person in the console. `look`: every page, masked. `raw`: requests to providers and their responses,
 * with a reason. `resolve`: rule on a case, or propose a ruling. `redeliver`: webhooks and parked callbacks. `propose`: credits
 * and debits of floats, and keys. `approve`: another person's proposals. `configure`: corridors, a tenant's freeze and pin, and
 * its sender; and approve the switch of a whole provider.
 */
export type Permission = "look" | "raw" | "resolve" | "redeliver" | "propose" | "approve" | "configure"

// The server refuses an action without its permission, whatever the page showed.
const permissions = {
  viewer: ["look"],
  support: ["look", "raw", "resolve", "redeliver", "propose"],
  approver: ["look", "raw", "resolve", "redeliver", "propose", "approve"],
  admin: ["look", "raw", "resolve", "redeliver", "propose", "approve", "configure"]
} as const satisfies { readonly [R in OperatorRole]: ReadonlyArray<Permission> }

export const may = (role: OperatorRole, permission: Permission): boolean =>
  permissions[role].some((granted) => granted === permission)

/** How the audit log names a person of the console. */
export const consoleActor = (name: OperatorName): string => `console/${name}`
