import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { Api } from "../Api.ts"
import { respond } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* Health
    return handlers
      .handleRaw("live", () => health.live.pipe(respond(200)))
      .handleRaw("detail", () => Effect.flatMap(Signed, ({ caller }) => health.detail(caller)).pipe(respond(200)))
  })
)
