import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { transactionView } from "../../domain/View.ts"
import { Payouts } from "../../services/payouts/Payouts.ts"
import { Records } from "../../services/Records.ts"
import { Api } from "../Api.ts"
import { checkMode, readTree } from "../Body.ts"
import { Idempotent } from "../Idempotent.ts"
import { payoutBody, quoteBody } from "../PayoutBody.ts"
import { respond, withIgnoredHeader } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const PayoutsHandlers = HttpApiBuilder.group(
  Api,
  "payouts",
  Effect.fnUntraced(function* (handlers) {
    const payouts = yield* Payouts
    const records = yield* Records
    const idempotent = yield* Idempotent
    return handlers
      .handleRaw("create", () => idempotent.once({ endpoint: "POST /v1/payouts", decode: payoutBody, run: payouts.create }))
      .handleRaw("quote", () =>
        Effect.flatMap(Signed, ({ body, caller }) => {
          const asked = readTree(body).pipe(
            Result.flatMap((tree) => checkMode(tree, caller.mode)),
            Result.flatMap(quoteBody)
          )
          const ignored = Result.isSuccess(asked) ? asked.success.ignored : []
          return Effect.fromResult(asked).pipe(
            Effect.flatMap(({ command }) => payouts.quote(caller, command)),
            respond(200),
            Effect.map(withIgnoredHeader(ignored))
          )
        })
      )
      .handleRaw("find", ({ params }) =>
        Effect.flatMap(Signed, ({ caller }) => records.transaction(caller, params.reference, "payout")).pipe(
          Effect.map(transactionView),
          respond(200)
        )
      )
  })
)
