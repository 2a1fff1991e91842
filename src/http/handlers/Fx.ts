import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { exchangeView } from "../../domain/Exchange.ts"
import { quoteView } from "../../domain/Quote.ts"
import { Exchanges } from "../../services/exchanges/Exchanges.ts"
import { Api } from "../Api.ts"
import { checkMode, readTree } from "../Body.ts"
import { fxExchangeBody, fxQuoteBody } from "../FxBody.ts"
import { Idempotent } from "../Idempotent.ts"
import { respond, withIgnoredHeader } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const FxHandlers = HttpApiBuilder.group(
  Api,
  "fx",
  Effect.fnUntraced(function* (handlers) {
    const exchanges = yield* Exchanges
    const idempotent = yield* Idempotent
    return handlers
      .handleRaw("quote", () =>
        Effect.flatMap(Signed, ({ body, caller }) => {
          const asked = readTree(body).pipe(
            Result.flatMap((tree) => checkMode(tree, caller.mode)),
            Result.flatMap(fxQuoteBody)
          )
          const ignored = Result.isSuccess(asked) ? asked.success.ignored : []
          return Effect.fromResult(asked).pipe(
            Effect.flatMap(({ command }) => exchanges.quote(caller, command)),
            Effect.map(quoteView),
            respond(200),
            Effect.map(withIgnoredHeader(ignored))
          )
        })
      )
      .handleRaw("exchange", () =>
        idempotent.once({ endpoint: "POST /v1/fx/exchange", decode: fxExchangeBody, run: exchanges.create })
      )
      .handleRaw("find", ({ params }) =>
        Effect.flatMap(Signed, ({ caller }) => exchanges.find(caller, params.reference)).pipe(
          Effect.map(exchangeView),
          respond(200)
        )
      )
  })
)
