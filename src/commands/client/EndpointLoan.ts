import { Effect, Option, Schema } from "effect"
import { EventType } from "../../domain/Event.ts"
import { json } from "../../domain/Json.ts"
import { CommandRefusal } from "../CommandRefusal.ts"
import { printErrors } from "../Output.ts"
import { isLoopback, type Profile } from "./Profile.ts"
import { callGateway } from "./TenantClient.ts"

const ENDPOINT = "/v1/webhooks/endpoint"

const Endpoint = Schema.Struct({
  url: Schema.String,
  events: Schema.Array(Schema.String),
  enabled: Schema.Boolean,
  secret: Schema.optionalKey(Schema.String)
})
type Endpoint = typeof Endpoint.Type
const decodeEndpoint = Schema.decodeUnknownEffect(Endpoint)

const readEndpoint = (view: unknown) =>
  Effect.mapError(decodeEndpoint(view), () => new CommandRefusal({ message: "the gateway's answer is no webhook endpoint" }))

/** The tenant's endpoint as it is; none where there is none. */
const currentEndpoint = (profile: Profile) =>
  callGateway(profile, { method: "GET", target: ENDPOINT }).pipe(
    Effect.flatMap(readEndpoint),
    Effect.asSome,
    Effect.catchTag("ApiRefusal", (refusal) => (refusal.status === 404 ? Effect.succeedNone : Effect.fail(refusal)))
  )

const put = (profile: Profile, { enabled, events, url }: Endpoint) =>
  Effect.flatMap(callGateway(profile, { method: "PUT", target: ENDPOINT, body: json({ url, events, enabled }) }), readEndpoint)

/**
 * Makes `url` the tenant's endpoint, for every kind of event, while the scope lives; then puts back what was there. Refuses to take events
 * away from a receiver that is not on this machine, unless told to. Answers the secret where the endpoint is new.
 */
export const borrowEndpoint = Effect.fn("borrowEndpoint")(function* (profile: Profile, url: string, takesOver: boolean) {
  const before = yield* currentEndpoint(profile)
  if (Option.isSome(before) && before.value.enabled && !takesOver && !isLoopback(new URL(before.value.url).hostname))
    return yield* new CommandRefusal({
      message: `events go to ${before.value.url}: --take-over has them here while this runs, and puts the endpoint back afterwards`
    })
  const giveBack = Option.isSome(before)
    ? put(profile, before.value)
    : callGateway(profile, { method: "DELETE", target: ENDPOINT })
  const wish = { url, events: EventType.literals, enabled: true }
  const set = yield* Effect.acquireRelease(put(profile, wish), () =>
    Effect.asVoid(giveBack).pipe(Effect.catch(({ message }) => printErrors(`the endpoint is not as it was before: ${message}`)))
  ).pipe(Effect.catchTag("ApiRefusal", (refusal) => notTaken(url, refusal.message)))
  return Option.fromUndefinedOr(set.secret)
})

const notTaken = (url: string, message: string) =>
  Effect.fail(
    new CommandRefusal({
      message: `the gateway does not deliver to ${url}: ${message} A gateway of npm start does, and another one with WEBHOOK_ALLOW_LOOPBACK=true; everywhere else give --public-url, an https address that leads here`
    })
  )
