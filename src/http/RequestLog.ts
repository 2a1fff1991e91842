import { Clock, Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { Arrival } from "./Arrival.ts"
import { errorAttributes } from "./RequestTelemetry.ts"

export interface Answered {
  /** Empty where nobody signed. */
  readonly appId: string
  readonly response: HttpServerResponse.HttpServerResponse
}

/** Of what nobody signed so many requests have a line of their own in each window; the others are counted. */
const UNSIGNED_LINES = 100
const WINDOW = "10 seconds"
const FIRST_FAULT = 500

/**
 * One line a request, inside its span, so that the line carries the span's ids. Anybody can send requests without a signature: beyond
 * `UNSIGNED_LINES` they are counted by status, and each count is one line when the window ends. Our own faults always have a line.
 */
export const makeRequestLog = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const unsaid = new Map<number, number>()
  let lines = 0

  const endWindow = Effect.suspend(() => {
    lines = 0
    const counts = [...unsaid]
    unsaid.clear()
    return Effect.forEach(
      counts,
      ([status, count]) => Effect.logInfo(`${count} more unsigned requests`).pipe(Effect.annotateLogs({ status, count })),
      { discard: true }
    )
  })
  yield* Effect.addFinalizer(() => endWindow)

  /** Whether it has a line of its own. */
  const isSaid = Effect.fnUntraced(function* (appId: string, status: number) {
    if (appId !== "" || status >= FIRST_FAULT) return true
    lines += 1
    if (lines === 1) yield* Effect.forkIn(Effect.delay(endWindow, WINDOW), scope)
    if (lines <= UNSIGNED_LINES) return true
    unsaid.set(status, (unsaid.get(status) ?? 0) + 1)
    return false
  })

  return Effect.fnUntraced(function* (
    startedAt: number,
    { method, requestId }: Arrival,
    route: string,
    { appId, response }: Answered
  ) {
    const duration_ms = (yield* Clock.currentTimeMillis) - startedAt
    // The router has put its own spelling of the route there.
    yield* Effect.annotateCurrentSpan({
      "http.route": route,
      "http.response.status_code": response.status,
      "gateway.app_id": appId,
      ...errorAttributes(response)
    })
    if (!(yield* isSaid(appId, response.status))) return
    yield* Effect.logInfo("request").pipe(
      Effect.annotateLogs({ method, route, status: response.status, duration_ms, request_id: requestId, app_id: appId })
    )
  })
})
