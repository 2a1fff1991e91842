import { Effect, type Scope } from "effect"
import { batched } from "./StepBatch.ts"

/**
 * Answers with one statement what many requests ask at the same time, each with the database as it was after it asked. `statement` gives one
 * answer a question, in the questions' order; a failure is a defect.
 */
export const readTogether = <Question, Answer, E>(
  statement: (questions: ReadonlyArray<Question>) => Effect.Effect<ReadonlyArray<Answer>, E>
): Effect.Effect<(question: Question) => Effect.Effect<Answer>, never, Scope.Scope> =>
  batched({
    statement,
    // Nothing is written, and so a statement that was lost left nothing behind.
    doubted: (_question, answer) => Effect.succeed(answer),
    // Reads wait for no row.
    laneOf: () => "",
    wasHeld: () => false,
    inFlight: 2
  })
