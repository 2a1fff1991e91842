import { Effect, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { Distribution } from "../connection/Distribution.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"
import { makeBatcher } from "../connection/StepBatch.ts"
import { ofAll, ofTenants, type TenantFilter } from "../connection/TenantFilter.ts"

// Effect's RequestResolver costs at least twice as much: 12 µs per query instead of 5 (`npm run bench -- --part batched-read`).

/** A read by key takes milliseconds. Without a result after this time it is given up and repeated on another connection. */
const READ_MS = 4_000

/** Answers concurrent queries with one later statement. `statement` returns their answers in order; a failure is a defect. */
export const makeBatchedRead = <Question, Answer, E>(
  statement: (questions: ReadonlyArray<Question>) => Effect.Effect<ReadonlyArray<Answer>, E>
): Effect.Effect<(question: Question) => Effect.Effect<Answer>, never, Scope.Scope> => {
  let lanes = 0
  return makeBatcher({
    statement: (questions) => Effect.provideService(statement(questions), AnswerBoundMs, READ_MS),
    // Nothing is written, so a lost statement left nothing behind.
    recover: (_question, answer) => Effect.succeed(answer),
    // Queries never wait for the same rows.
    laneOf: () => String(lanes++),
    isLockTimeout: () => false
  })
}

/**
 * As `makeBatchedRead`, for rows of tenants. On Citus each query is a separate statement for the tenant from `tenantOf`: one
 * server answers it, and queries to another server do not delay it.
 */
export const makeTenantRead = <Question, Answer, E>(
  sql: SqlClient.SqlClient,
  tenantOf: (question: Question) => string,
  statement: (questions: ReadonlyArray<Question>, of: TenantFilter) => Effect.Effect<ReadonlyArray<Answer>, E>
): Effect.Effect<(question: Question) => Effect.Effect<Answer>, never, Distribution | Scope.Scope> =>
  Effect.flatMap(Distribution, ({ isDistributed }) => {
    if (!isDistributed) return makeBatchedRead((questions) => statement(questions, ofAll(sql)))
    const one = (question: Question) => statement([question], ofTenants(sql, [tenantOf(question)]))
    return Effect.map(
      OnTenantServer,
      (onTenantServer) => (question: Question) =>
        onTenantServer(tenantOf(question))(one(question)).pipe(
          Effect.provideService(AnswerBoundMs, READ_MS),
          Effect.flatMap(([answer]) =>
            answer === undefined ? Effect.die(new Error("a read got no answer")) : Effect.succeed(answer)
          ),
          Effect.orDie
        )
    )
  })
