import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ProviderCapabilityUnsupported } from "../../domain/errors/Terminal.ts"
import { Api } from "../Api.ts"
import { checkMode, readTree } from "../Body.ts"
import { refundBody } from "../RefundBody.ts"
import { respond, withIgnoredHeader } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

/** No service stands behind it: no adapter is called, no transaction is loaded and no float moves (contract COL-15). */
export const RefundsHandlers = HttpApiBuilder.group(Api, "refunds", (handlers) =>
  Effect.succeed(
    handlers.handleRaw("create", () =>
      Effect.flatMap(Signed, ({ body, caller }) => {
        const asked = readTree(body).pipe(
          Result.flatMap((tree) => checkMode(tree, caller.mode)),
          Result.flatMap(refundBody)
        )
        const ignored = Result.isSuccess(asked) ? asked.success.ignored : []
        return Effect.fromResult(asked).pipe(
          Effect.flatMap(() => Effect.fail(unsupported)),
          respond(501),
          Effect.map(withIgnoredHeader(ignored))
        )
      })
    )
  )
)

const unsupported = new ProviderCapabilityUnsupported({
  capability: "refunds",
  reason: "refund_orchestration_not_implemented"
})
