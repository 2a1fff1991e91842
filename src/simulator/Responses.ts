import { Data, Effect, Option, Result, Schema } from "effect"
import type { Currency } from "../domain/Currency.ts"
import { RawJson } from "../domain/Json.ts"
import { fromDecimal, type MinorUnits } from "../domain/Money.ts"
import type { Gate, Play, ResponseFault } from "./Endings.ts"
import type { SimulatedRequest, SimulatedResponse } from "./SimulatedProvider.ts"

/** The call ends here with this response. */
export class Stop extends Data.TaggedError("Stop")<{ readonly response: SimulatedResponse }> {}

export const response = (status: number, contentType: string, body: string): SimulatedResponse => ({
  kind: "response",
  status,
  contentType,
  body
})

/** JSON with the provider's content type. */
export const jsonAs =
  (contentType: string) =>
  (status: number, body: unknown): SimulatedResponse =>
    response(status, contentType, JSON.stringify(body))

/** The response of a proxy in front of the provider. */
export const badGateway = (status: number): SimulatedResponse =>
  response(status, "text/html", "<html><body>Bad gateway</body></html>")

/** A page for a payer. */
export const page = (content: string, status = 200): SimulatedResponse =>
  response(status, "text/html; charset=utf-8", `<html><body>${content}</body></html>`)

/** A provider's own error bodies for the gates and faults of an ending. */
export interface ErrorResponses
  extends Readonly<Partial<Record<Exclude<Gate, "open" | "unheard" | "reset">, SimulatedResponse | undefined>>> {
  /** An error of the provider after it executed the call. */
  readonly broken: SimulatedResponse
}

/** Stops a call at its ending's gate. A gate without a body lets the call through: the provider fails it later. */
export const passGate = (errors: ErrorResponses, { gate }: Pick<Play, "gate">): Effect.Effect<void, Stop> => {
  if (gate === "open") return Effect.void
  if (gate === "unheard") return Effect.fail(new Stop({ response: { kind: "silence" } }))
  if (gate === "reset") return Effect.fail(new Stop({ response: { kind: "reset" } }))
  const refusal = errors[gate]
  return refusal === undefined ? Effect.void : Effect.fail(new Stop({ response: refusal }))
}

/** The response that replaces that of an accepted call. */
export const withFault = (errors: ErrorResponses, fault: ResponseFault, whole: SimulatedResponse): SimulatedResponse =>
  ({ none: whole, silence: { kind: "silence" } as const, server_error: errors.broken, not_json: badGateway(200) })[fault]

export const decodedOr = <A>(
  schema: Schema.ConstraintDecoder<A>,
  body: unknown,
  refuse: (why: string) => Stop
): Effect.Effect<A, Stop> => {
  const decoded = Schema.decodeUnknownResult(schema)(body)
  return Result.isSuccess(decoded) ? Effect.succeed(decoded.success) : Effect.fail(refuse(String(decoded.failure)))
}

/** Undefined where the body is not JSON. `of` reads the text of each number: a float would lose a large amount's last digits. */
export const exactBody = ({ body }: SimulatedRequest, of: (text: string) => unknown = (text) => text): unknown =>
  Option.getOrUndefined(parsed(body, of))

/** The same, with each number as it was written. */
export const rawBody = (request: SimulatedRequest): unknown => exactBody(request, (text) => new RawJson(text))

const parsed = Option.liftThrowable((text: string, of: (text: string) => unknown): unknown =>
  JSON.parse(text, (_key, value: unknown, { source }) => (typeof value === "number" ? of(source ?? String(value)) : value))
)

/** Reads a body by its schema, or refuses it in the provider's own form. `parsed` parses the text, by default as plain JSON. */
export const bodyOr =
  (refuse: (why: string) => Stop, parsed?: (request: SimulatedRequest) => unknown) =>
  <A>(schema: Schema.ConstraintDecoder<A>, request: SimulatedRequest): Effect.Effect<A, Stop> =>
    parsed === undefined
      ? decodedOr(Schema.fromJsonString(schema), request.body, refuse)
      : decodedOr(schema, parsed(request), refuse)

/** A decimal text in major units as minor units. */
export const decimalOr = (text: string, currency: Currency, refusal: Stop): Effect.Effect<MinorUnits, Stop> => {
  const amount = fromDecimal(text, currency)
  return Result.isSuccess(amount) ? Effect.succeed(amount.success) : Effect.fail(refusal)
}
