import { Effect, Fiber, Option, Schema, type Scope } from "effect"
import { makeTimer } from "../runtime/Timer.ts"

/** A process of the same machine answers within this time, or is too busy to be waited for. */
const ANSWER_MS = 1_000
/** What one process may ask another. Both are what JSON can hold. */
export interface Question<Asked, Answer> {
  readonly name: string
  readonly asked: Schema.Codec<Asked, unknown>
  readonly answer: Schema.Codec<Answer, unknown>
}

/** How a process answers one question. */
export interface Answering {
  readonly name: string
  readonly answer: (asked: unknown) => Effect.Effect<unknown>
}

export const answering = <Asked, Answer>(
  { asked, name }: Question<Asked, Answer>,
  answer: (asked: Asked) => Effect.Effect<Answer>
): Answering => {
  const decode = Schema.decodeUnknownEffect(asked)
  return { name, answer: (given) => Effect.flatMap(Effect.orDie(decode(given)), answer) }
}

export interface Conversation {
  /** None where no answer came in time: a second, unless the answer itself takes longer. */
  readonly ask: <Asked, Answer>(
    question: Question<Asked, Answer>,
    asked: Asked,
    withinMs?: number
  ) => Effect.Effect<Option.Option<Answer>>
  /** Called with each message of the other process. */
  readonly hear: (message: unknown) => void
}

const Said = Schema.Struct({
  questions: Schema.Array(Schema.Tuple([Schema.Int, Schema.String, Schema.Unknown])),
  answers: Schema.Array(Schema.Tuple([Schema.Int, Schema.Unknown]))
})

/**
 * Questions and answers between two processes, over a channel that loses nothing while both live. What is said in one turn of the event loop is
 * one message: under load a message for each question would cost more than the questions. `send` never throws.
 */
export const makeConversation = Effect.fnUntraced(function* (
  send: (message: typeof Said.Encoded) => void,
  answers: ReadonlyArray<Answering>
): Effect.fn.Return<Conversation, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const timer = yield* makeTimer
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const answerTo = new Map(answers.map(({ answer, name }) => [name, answer]))
  const waiting = new Map<number, (answer: Option.Option<unknown>) => void>()
  const isSaid = Schema.is(Said)
  let last = 0
  let questions: Array<(typeof Said.Type.questions)[number]> = []
  let given: Array<(typeof Said.Type.answers)[number]> = []

  const flush = () => {
    const message = { questions, answers: given }
    questions = []
    given = []
    send(message)
  }
  const sendSoon = () => {
    if (questions.length + given.length === 1) setImmediate(flush)
  }
  const reply = (number: number, name: string, asked: unknown) => {
    const answer = answerTo.get(name)
    if (answer === undefined) return
    const replying = Effect.map(answer(asked), (value) => {
      given.push([number, value])
      sendSoon()
    })
    Fiber.runIn(
      fork(Effect.catchCause(replying, (cause) => Effect.logError("a question of another process broke", cause))),
      scope
    )
  }

  return {
    ask: (question, asked, withinMs = ANSWER_MS) =>
      Effect.callback<Option.Option<unknown>>((resume) => {
        last += 1
        const number = last
        const end = (answer: Option.Option<unknown>) => {
          stop()
          if (waiting.delete(number)) resume(Effect.succeed(answer))
        }
        const stop = timer(withinMs, () => end(Option.none()))
        waiting.set(number, end)
        questions.push([number, question.name, asked])
        sendSoon()
        return Effect.sync(() => {
          stop()
          waiting.delete(number)
        })
      }).pipe(Effect.map(Option.flatMap(Schema.decodeUnknownOption(question.answer)))),
    hear: (message) => {
      if (!isSaid(message)) return
      for (const [number, answer] of message.answers) waiting.get(number)?.(Option.some(answer))
      for (const [number, name, asked] of message.questions) reply(number, name, asked)
    }
  }
})
