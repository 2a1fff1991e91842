import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { positionView } from "../../domain/View.ts"
import { Records } from "../../services/Records.ts"
import { Api } from "../Api.ts"
import { respond } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const FloatHandlers = HttpApiBuilder.group(
  Api,
  "float",
  Effect.fnUntraced(function* (handlers) {
    const records = yield* Records
    return handlers.handleRaw("positions", () =>
      Effect.flatMap(Signed, ({ caller }) => records.positions(caller)).pipe(
        Effect.map((positions) => positions.map(positionView)),
        respond(200)
      )
    )
  })
)
