import { userInfo } from "node:os"
import { Clock, Effect } from "effect"
import type { AuditBy } from "../services/ports/AuditLog.ts"

/** The audit row of a change made from the command line. */
export const auditEntry = Effect.fnUntraced(function* (
  action: string,
  subject: string,
  details: Readonly<Record<string, string>>
) {
  return { ...(yield* bySystemUser), action, subject, details }
})

/** The same for a service that writes the audit row itself. */
export const bySystemUser: Effect.Effect<AuditBy> = Effect.suspend(() =>
  Effect.zipWith(Clock.currentTimeMillis, systemUser, (at, actor) => ({ at, actor }))
)

/** A container may run under a user id without a name. */
const systemUser = Effect.try(() => userInfo().username).pipe(
  Effect.catch(() => Effect.succeed(`uid:${process.getuid?.() ?? "unknown"}`))
)
