import { Effect } from "effect"
import { Health } from "../../services/Health.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond } from "../edge/Response.ts"

/** Whether the gateway answers, and which release and providers it has. */
export const healthHandlers = Effect.gen(function* () {
  const health = yield* Health
  return handlersOf("health", {
    live: () => health.live.pipe(respond(200)),
    detail: () => withCaller(health.detail).pipe(respond(200))
  })
})
