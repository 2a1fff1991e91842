import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { transactionView } from "../../domain/View.ts"
import { Records } from "../../services/Records.ts"
import { answered } from "../Answer.ts"
import { Api } from "../Api.ts"
import { Signed } from "../SignedRequest.ts"

export const TransactionsHandlers = HttpApiBuilder.group(
  Api,
  "transactions",
  Effect.fnUntraced(function* (handlers) {
    const records = yield* Records
    return handlers.handleRaw("find", ({ params }) =>
      Effect.flatMap(Signed, ({ caller }) => records.transaction(caller, params.id, null)).pipe(
        Effect.map(transactionView),
        answered(200)
      )
    )
  })
)
