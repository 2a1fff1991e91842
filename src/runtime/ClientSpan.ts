import { type Effect, Option } from "effect"
import { maskedText } from "../domain/Masking.ts"
import { inSpan, whereTraced } from "./Tracing.ts"

export interface HttpCall {
  readonly method: string
  readonly url: string
  /** False where the path may hold a secret, as that of a tenant's endpoint. */
  readonly showsPath: boolean
  /** For a call to a provider: its name and the operation. */
  readonly provider?: string
  readonly operation?: string
}

/** The span of one outgoing HTTP call, by the semantic conventions. Without a collector it costs nothing. */
export const inClientSpan =
  (call: HttpCall) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    whereTraced<A, E, R>((traced) =>
      inSpan(call.method, {
        kind: "client",
        attributes: {
          "http.request.method": call.method,
          ...addressOf(call),
          ...(call.provider === undefined ? {} : { provider: call.provider }),
          ...(call.operation === undefined ? {} : { operation: call.operation })
        }
      })(traced)
    )(effect)

const parsedUrl = Option.liftThrowable((text: string) => new URL(text))
const defaultPorts: Readonly<Record<string, number>> = { "https:": 443, "http:": 80 }
const HIDDEN_PATH = "/REDACTED"

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An identifier of a payment is no phone number, however many digits it has. */
const shownPath = (path: string): string =>
  path
    .split("/")
    .map((part) => (UUID.test(part) ? part : maskedText(part)))
    .join("/")

/** Without user, query and fragment, and without a person's number in the path. */
const addressOf = ({ showsPath, url }: HttpCall): Readonly<Record<string, string | number>> => {
  const parsed = Option.getOrUndefined(parsedUrl(url))
  if (parsed === undefined) return {}
  const { hostname, origin, pathname, port, protocol } = parsed
  const path = showsPath ? shownPath(pathname) : pathname === "/" ? pathname : HIDDEN_PATH
  return {
    "url.full": `${origin}${path}`,
    "server.address": hostname,
    "server.port": port === "" ? (defaultPorts[protocol] ?? 0) : Number(port)
  }
}
