import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { iso } from "../../domain/Instant.ts"
import { positionView } from "../../domain/View.ts"
import { Records } from "../../services/Records.ts"
import { type PoolBalance, Reference } from "../../services/reference/Reference.ts"
import { Api } from "../api/Api.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { respond } from "../edge/Response.ts"

/** The providers' wallets, which all tenants share. */
export const BalancesHandlers = HttpApiBuilder.group(
  Api,
  "balances",
  Effect.fnUntraced(function* (handlers) {
    const reference = yield* Reference
    return handlers.handleRaw("list", () =>
      withCaller(reference.balances).pipe(
        Effect.map((balances) => balances.map(balanceView)),
        respond(200)
      )
    )
  })
)

const balanceView = ({ asOf, available, currency, pending, provider }: PoolBalance) => ({
  provider,
  currency,
  available_minor: available,
  pending_minor: pending,
  as_of: iso(asOf)
})

/** The tenant's own float, one position a currency. */
export const FloatHandlers = HttpApiBuilder.group(
  Api,
  "float",
  Effect.fnUntraced(function* (handlers) {
    const records = yield* Records
    return handlers.handleRaw("positions", () =>
      withCaller(records.positions).pipe(
        Effect.map((positions) => positions.map(positionView)),
        respond(200)
      )
    )
  })
)
