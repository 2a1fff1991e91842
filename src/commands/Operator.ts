import { userInfo } from "node:os"
import { Clock, Effect } from "effect"
import type { AuditEntry } from "../services/ports/AuditLog.ts"

/** The audit row of a change made from the command line. */
export const auditEntry = Effect.fnUntraced(function* (
  action: string,
  subject: string,
  details: Readonly<Record<string, string>>
): Effect.fn.Return<AuditEntry> {
  const at = yield* Clock.currentTimeMillis
  return { at, actor: yield* systemUser, action, subject, details }
})

/** A container may run under a number that has no name. */
const systemUser = Effect.try(() => userInfo().username).pipe(
  Effect.catch(() => Effect.succeed(`uid:${process.getuid?.() ?? "unknown"}`))
)
