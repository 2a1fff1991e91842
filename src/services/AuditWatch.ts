import { Effect, Exit } from "effect"
import { AUDIT_HEAD_MESSAGE, type AuditHead, AuditLog, headText } from "./ports/AuditLog.ts"

const EVERY = "1 minute"

/**
 * Writes the end of the audit log to this process's log, as a copy outside the database. It is the argument of a later `gateway
 * audit verify --head`; the metrics have it as well.
 */
const makeAuditWatch = Effect.gen(function* () {
  const log = yield* AuditLog
  let seen: AuditHead | undefined

  const look = Effect.gen(function* () {
    const head = yield* log.head
    const named = Effect.annotateLogs({ audit_head: headText(head) })
    if (!head.authentic) yield* named(Effect.logError(FORGED))
    if (seen !== undefined && (head.sequence < seen.sequence || (head.sequence === seen.sequence && head.hash !== seen.hash))) {
      yield* Effect.logError(GONE).pipe(Effect.annotateLogs({ audit_head: headText(seen) }))
      return
    }
    // Newer rows prove nothing about the head that was seen; only that row's own hash does.
    if (seen !== undefined && seen.sequence > 0n && (yield* log.hashAt(seen.sequence)) !== seen.hash) {
      yield* Effect.logError(OTHER).pipe(Effect.annotateLogs({ audit_head: headText(seen) }))
      return
    }
    if (head.sequence !== seen?.sequence) yield* named(Effect.logInfo(AUDIT_HEAD_MESSAGE))
    seen = head
  })

  return Effect.gen(function* () {
    const exit = yield* Effect.exit(look)
    if (Exit.isFailure(exit)) yield* Effect.logError("the audit log could not be looked at", exit.cause)
  })
})

const FORGED = "the end of the audit log is not one that a gateway wrote: run gateway audit verify"
const OTHER = "a row of the audit log is not the one that this process has seen: run gateway audit verify with this head"
const GONE = "rows of the audit log are gone that this process has seen: run gateway audit verify with this head"

/** Checks once at the start, and then for ever. */
export const auditWatching = Effect.flatMap(makeAuditWatch, (look) =>
  Effect.andThen(look, Effect.forever(Effect.delay(look, EVERY)))
)
