import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { iso } from "../../domain/Instant.ts"
import { positionView } from "../../domain/View.ts"
import { Records } from "../../services/Records.ts"
import { type PoolBalance, Reference } from "../../services/reference/Reference.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { statementRequest, statementView } from "../api/Statement.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { valuesOf } from "../edge/RequestHeaders.ts"
import { errorResponse, longResponse, respond } from "../edge/Response.ts"
import { statementCsv, wantsCsv, wholeInterval } from "./StatementCsv.ts"

/** The providers' wallets, which all tenants share. */
export const balancesHandlers = Effect.gen(function* () {
  const reference = yield* Reference
  return handlersOf("balances", {
    list: () =>
      withCaller(reference.balances).pipe(
        Effect.map((balances) => balances.map(balanceView)),
        respond(200)
      )
  })
})

const balanceView = ({ asOf, available, currency, pending, provider }: PoolBalance) => ({
  provider,
  currency,
  available_minor: available,
  pending_minor: pending,
  as_of: iso(asOf)
})

/** The tenant's own float, one position a currency. */
export const floatHandlers = Effect.gen(function* () {
  const records = yield* Records
  return handlersOf("float", {
    positions: () =>
      withCaller(records.positions).pipe(
        Effect.map((positions) => positions.map(positionView)),
        respond(200)
      ),
    statement: ({ query }) =>
      withCaller((caller, { rawHeaders }) =>
        Effect.gen(function* () {
          const { page, range } = yield* Effect.fromResult(statementRequest(query, yield* HttpServerRequest.ParsedSearchParams))
          const { currency } = query
          const read = (each: typeof page) => records.statement(caller, currency, range, each)
          if (!wantsCsv(valuesOf(rawHeaders, "accept")))
            return longResponse(200, statementView(currency, range, yield* read(page)))
          yield* Effect.fromResult(wholeInterval(query))
          return yield* statementCsv(currency, read)
        })
      ).pipe(Effect.catch((error) => Effect.succeed(errorResponse(error))))
  })
})
