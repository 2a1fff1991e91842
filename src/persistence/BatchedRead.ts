import { Effect, type Scope } from "effect"
import { AnswerBoundMs } from "./BoundedClient.ts"
import { makeBatcher } from "./StepBatch.ts"

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
