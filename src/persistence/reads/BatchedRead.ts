import { Effect, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { Distribution } from "../connection/Distribution.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"
import { makeBatcher } from "../connection/StepBatch.ts"
import { ofAll, ofTenants, type TenantFilter } from "../connection/TenantFilter.ts"

// Effect's RequestResolver would do for this, and costs twice as much or more: 12 µs a question where this costs 5 (`npm run bench -- --part batched-read`).

/** A read by key takes milliseconds: after this time without an answer it is given up and run again on another connection. */
const READ_MS = 4_000

/**
 * Answers with one statement what many requests ask at the same time, each with the database as it was after it asked. `statement` gives one
 * answer a question, in the questions' order; a failure is a defect.
 */
export const makeBatchedRead = <Question, Answer, E>(
  statement: (questions: ReadonlyArray<Question>) => Effect.Effect<ReadonlyArray<Answer>, E>
): Effect.Effect<(question: Question) => Effect.Effect<Answer>, never, Scope.Scope> => {
  let lanes = 0
  return makeBatcher({
    statement: (questions) => Effect.provideService(statement(questions), AnswerBoundMs, READ_MS),
    // Nothing is written, and so a statement that was lost left nothing behind.
    recover: (_question, answer) => Effect.succeed(answer),
    // No question waits for what another one waits for.
    laneOf: () => String(lanes++),
    isLockTimeout: () => false
  })
}

/**
 * As `makeBatchedRead`, for rows of tenants. On Citus each question is a statement of its own, for the tenant that `tenantOf` names: one server answers it, and
 * those that wait for another server hold it up no longer than that.
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
