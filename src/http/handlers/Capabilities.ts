import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Capabilities } from "../../services/reference/Capabilities.ts"
import { Api } from "../Api.ts"
import { respond } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const CapabilitiesHandlers = HttpApiBuilder.group(
  Api,
  "capabilities",
  Effect.fnUntraced(function* (handlers) {
    const capabilities = yield* Capabilities
    return handlers.handleRaw("list", () => Effect.flatMap(Signed, ({ caller }) => capabilities.rows(caller)).pipe(respond(200)))
  })
)
