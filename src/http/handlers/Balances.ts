import { Effect, Result } from "effect"
import { iso } from "../../domain/Instant.ts"
import { minor } from "../../domain/Money.ts"
import { positionView } from "../../domain/View.ts"
import { type AlertCommand, FloatWatch } from "../../services/FloatWatch.ts"
import type { FloatAlert } from "../../services/ports/FloatAlerts.ts"
import { Records } from "../../services/Records.ts"
import { type PoolBalance, Reference } from "../../services/reference/Reference.ts"
import { AlertBody } from "../api/Balances.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { statementRequest, statementView } from "../api/Statement.ts"
import { type Body, type BodyError, makeDecoder } from "../body/Body.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { valuesOf } from "../edge/RequestHeaders.ts"
import { errorResponse, longResponse, respondEach } from "../edge/Response.ts"
import type { JsonTree } from "../json/StrictJson.ts"
import { statementCsv, wantsCsv, wholeInterval } from "./StatementCsv.ts"

/** The providers' wallets, which all tenants share. */
export const balancesHandlers = Effect.gen(function* () {
  const reference = yield* Reference
  return handlersOf("balances", {
    list: () => withCaller(reference.balances).pipe(respondEach(balanceView))
  })
})

const balanceView = ({ asOf, available, currency, pending, provider }: PoolBalance) => ({
  provider,
  currency,
  available_minor: available,
  pending_minor: pending,
  as_of: iso(asOf)
})

/** The tenant's float, one position per currency. */
export const floatHandlers = Effect.gen(function* () {
  const records = yield* Records
  const watch = yield* FloatWatch
  return handlersOf("float", {
    positions: () => withCaller(records.positions).pipe(respondEach(positionView)),
    alerts: () => withCaller(watch.alerts).pipe(respondEach(alertView)),
    setAlert: () =>
      withSignedBody(alertBody, (caller, command) =>
        Effect.map(watch.setAlert(caller, command), (alerts) => alerts.map(alertView))
      ),
    statement: ({ query }) =>
      withCaller((caller, { rawHeaders }) =>
        Effect.gen(function* () {
          const { page, range } = yield* Effect.fromResult(statementRequest(query))
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

const alertView = ({ available, below, currency }: FloatAlert) => ({
  currency,
  below_minor: below,
  available_minor: available,
  is_low: available < below
})

const decodeAlert = makeDecoder(AlertBody)

/** The body of `PUT /v1/float/alerts`. */
export const alertBody = (body: JsonTree): Result.Result<Body<AlertCommand>, BodyError> =>
  Result.map(decodeAlert(body), ({ ignored, wire }) => {
    const command = { currency: wire.currency, below: wire.below_minor === null ? null : minor(BigInt(wire.below_minor)) }
    return { command, fingerprint: command, ignored }
  })
