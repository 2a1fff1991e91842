import { Effect, Option, Redacted, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { deliveryView } from "../../domain/Delivery.ts"
import { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { iso } from "../../domain/Instant.ts"
import { endpointView } from "../../domain/WebhookEndpoint.ts"
import type { ApiError } from "../../services/ports/ResponseEncoder.ts"
import { Webhooks } from "../../services/webhooks/Webhooks.ts"
import { Api } from "../Api.ts"
import { type Body, type BodyError, checkMode, readTree } from "../Body.ts"
import { cursorOf, readCursor, USUAL_PAGE } from "../Page.ts"
import { respond, withIgnoredHeader } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"
import type { JsonTree } from "../StrictJson.ts"
import { endpointBody, recoverBody } from "../WebhookBody.ts"

export const WebhooksHandlers = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fnUntraced(function* (handlers) {
    const webhooks = yield* Webhooks
    return handlers
      .handleRaw("endpoint", () =>
        Effect.flatMap(Signed, ({ caller }) => webhooks.endpoint(caller)).pipe(Effect.map(endpointView), respond(200))
      )
      .handleRaw("setEndpoint", () =>
        withBody(endpointBody, (caller, command) => Effect.map(webhooks.setEndpoint(caller, command), setView))
      )
      .handleRaw("removeEndpoint", () =>
        Effect.flatMap(Signed, ({ caller }) => webhooks.removeEndpoint(caller)).pipe(Effect.map(endpointView), respond(200))
      )
      .handleRaw("rotateSecret", () =>
        Effect.flatMap(Signed, ({ caller }) => webhooks.rotateSecret(caller)).pipe(Effect.map(rotatedView), respond(200))
      )
      .handleRaw("test", () =>
        Effect.flatMap(Signed, ({ caller }) => webhooks.test(caller)).pipe(Effect.map(deliveryView), respond(200))
      )
      .handleRaw("deliveries", ({ query: { cursor, limit = USUAL_PAGE, status = null } }) =>
        Effect.flatMap(Signed, ({ caller }) =>
          Effect.flatMap(placeOf(cursor), (after) => webhooks.deliveries(caller, { status, limit, after }))
        ).pipe(
          Effect.map(({ items, next }) => ({
            items: items.map(deliveryView),
            next_cursor: next === null ? null : cursorOf({ createdAt: next.at, id: next.id })
          })),
          respond(200)
        )
      )
      .handleRaw("redeliver", ({ params }) =>
        Effect.flatMap(Signed, ({ caller }) => webhooks.redeliver(caller, params.id)).pipe(Effect.map(deliveryView), respond(200))
      )
      .handleRaw("recover", () =>
        withBody(recoverBody, (caller, since) => Effect.map(webhooks.recover(caller, since), recoveryView))
      )
  })
)

/** Decodes in the contract's order, runs, and names the members that were ignored. */
const withBody = <C, E extends ApiError>(
  decode: (tree: JsonTree) => Result.Result<Body<C>, BodyError>,
  run: (caller: Signed["Service"]["caller"], command: C) => Effect.Effect<unknown, E>
) =>
  Effect.flatMap(Signed, ({ body, caller }) => {
    const asked = readTree(body).pipe(
      Result.flatMap((tree) => checkMode(tree, caller.mode)),
      Result.flatMap(decode)
    )
    const ignored = Result.isSuccess(asked) ? asked.success.ignored : []
    return Effect.fromResult(asked).pipe(
      Effect.flatMap(({ command }) => run(caller, command)),
      respond(200),
      Effect.map(withIgnoredHeader(ignored))
    )
  })

type Answer<K extends keyof Webhooks["Service"]> = Effect.Success<ReturnType<Webhooks["Service"][K]>>

const setView = ({ endpoint, secret }: Answer<"setEndpoint">) => ({
  ...endpointView(endpoint),
  ...(secret === null ? {} : { secret: Redacted.value(secret) })
})

const rotatedView = ({ previousUntil, secret }: Answer<"rotateSecret">) => ({
  secret: Redacted.value(secret),
  previous_secret_until: iso(previousUntil)
})

const recoveryView = ({ deliveries, resumeAt }: Answer<"recover">) => ({
  deliveries,
  resume_since: resumeAt === null ? null : iso(resumeAt)
})

const placeOf = (cursor: string | undefined) => {
  if (cursor === undefined) return Effect.succeed(null)
  return Option.match(readCursor(cursor), {
    onNone: () => new ValidationFailed({ issues: [{ path: "cursor", message: "must be a cursor that this list gave" }] }),
    onSome: ([at, id]) => Effect.succeed({ at, id })
  })
}
