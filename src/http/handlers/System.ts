import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { Api } from "../api/Api.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { respond } from "../edge/Response.ts"

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
