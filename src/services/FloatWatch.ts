import { Clock, Context, Effect, Exit } from "effect"
import type { Currency } from "../domain/Currency.ts"
import type { MinorUnits } from "../domain/Money.ts"
import type { Caller } from "../domain/Tenant.ts"
import { layerOf } from "../runtime/ServiceLayer.ts"
import { tenantChange } from "./ports/AuditLog.ts"
import { type FloatAlert, FloatAlerts } from "./ports/FloatAlerts.ts"

/** The contract promises ten seconds: this interval plus the duration of a check. */
const LOOK_EVERY = "5 seconds"

export interface AlertCommand {
  readonly currency: Currency
  /** Null removes the alert. */
  readonly below: MinorUnits | null
}

/** The alert thresholds of a tenant's floats (contract FLOAT-15). */
export class FloatWatch extends Context.Service<
  FloatWatch,
  {
    readonly alerts: (caller: Caller) => Effect.Effect<ReadonlyArray<FloatAlert>>
    /** Returns all alerts of the tenant and mode after the change. */
    readonly setAlert: (caller: Caller, command: AlertCommand) => Effect.Effect<ReadonlyArray<FloatAlert>>
  }
>()("gateway/services/FloatWatch") {
  static readonly layer = layerOf(FloatWatch)(function* () {
    const port = yield* FloatAlerts
    const alerts = ({ appId, mode }: Caller) => port.list(appId, mode)

    const setAlert = Effect.fn("FloatWatch.setAlert")(function* (caller: Caller, { below, currency }: AlertCommand) {
      const { appId, mode } = caller
      const details = { currency, below_minor: below === null ? "none" : below.toString() }
      const change = tenantChange(caller, yield* Clock.currentTimeMillis, "float alert", details)
      yield* port.set({ appId, mode, currency }, below, change)
      return yield* alerts(caller)
    })

    return { alerts, setAlert }
  })
}

/** Notifies tenants of floats that fell below their threshold, for as long as the process runs. */
export const floatWatching = Effect.gen(function* () {
  const { tell } = yield* FloatAlerts
  const look = Effect.gen(function* () {
    const exit = yield* Effect.exit(Effect.flatMap(Clock.currentTimeMillis, tell))
    if (Exit.isFailure(exit)) yield* Effect.logError("floats that fell could not be looked for", exit.cause)
  })
  return yield* Effect.forever(Effect.delay(look, LOOK_EVERY))
})
