import { Data, Effect, Option, Result, Schema } from "effect"
import type { Answer, Gate, Play } from "./Endings.ts"
import type { WireAnswer, WireRequest } from "./SimulatedProvider.ts"

/** The call ends here with this answer. */
export class Stop extends Data.TaggedError("Stop")<{ readonly answer: WireAnswer }> {}

export const answered = (status: number, contentType: string, body: string): WireAnswer => ({
  kind: "answer",
  status,
  contentType,
  body
})

/** What stands before a provider answers by itself. */
export const badGateway = (status: number): WireAnswer => answered(status, "text/html", "<html><body>Bad gateway</body></html>")

/** A page for a payer. */
export const page = (content: string, status = 200): WireAnswer =>
  answered(status, "text/html; charset=utf-8", `<html><body>${content}</body></html>`)

/** The provider's own words where a gate is closed; what has none here is let through, and told later. */
type Refusals = Readonly<Partial<Record<Exclude<Gate, "open" | "unheard" | "reset">, WireAnswer>>>

/** Lets an open ending through and stops the others in the provider's own way. */
export const gated =
  (refusals: Refusals) =>
  ({ gate }: Play): Effect.Effect<void, Stop> => {
    if (gate === "open") return Effect.void
    if (gate === "unheard") return Effect.fail(new Stop({ answer: { kind: "silence" } }))
    if (gate === "reset") return Effect.fail(new Stop({ answer: { kind: "reset" } }))
    const answer = refusals[gate]
    return answer === undefined ? Effect.void : Effect.fail(new Stop({ answer }))
  }

/** The answer as the ending lets it through; `failed` is the provider's own for an error of its own. */
export const delivering =
  (failed: WireAnswer) =>
  (manner: Answer, answer: WireAnswer): WireAnswer =>
    ({ plain: answer, silence: { kind: "silence" } as const, server_error: failed, not_json: badGateway(200) })[manner]

export const decodedOr = <A>(
  schema: Schema.ConstraintDecoder<A>,
  body: unknown,
  refuse: (why: string) => Stop
): Effect.Effect<A, Stop> => {
  const decoded = Schema.decodeUnknownResult(schema)(body)
  return Result.isSuccess(decoded) ? Effect.succeed(decoded.success) : Effect.fail(refuse(String(decoded.failure)))
}

/** Undefined where it is not JSON. A number is what `of` makes of its text: a float would lose the last digits of a large amount. */
export const exactBody = ({ body }: WireRequest, of: (text: string) => unknown = (text) => text): unknown =>
  Option.getOrUndefined(parsed(body, of))

const parsed = Option.liftThrowable((text: string, of: (text: string) => unknown): unknown =>
  JSON.parse(text, (_key, value: unknown, { source }) => (typeof value === "number" ? of(source ?? String(value)) : value))
)

/** What may happen once only: true the first time that a key is seen in this process. */
export const onceOnly = () => {
  const seen = new Set<string>()
  return (key: string): boolean => {
    if (seen.has(key)) return false
    seen.add(key)
    return true
  }
}
