import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { Api } from "../Api.ts"
import { respond } from "../Response.ts"
import { withCaller } from "../SignedRequest.ts"

/** Whether the gateway answers, and which release and providers it has. */
export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* Health
    return handlers
      .handleRaw("live", () => health.live.pipe(respond(200)))
      .handleRaw("detail", () => withCaller(health.detail).pipe(respond(200)))
  })
)
