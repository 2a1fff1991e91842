import { Effect, Layer } from "effect"
import type { Telemetry, TelemetryOptions } from "./Telemetry.ts"

interface CollectorSettings {
  readonly telemetry: Omit<TelemetryOptions, "serviceVersion">
}

/** The code that speaks to a collector is loaded only where one is set: it is as much code as all of ours. */
export const telemetryWhereSet = (
  { telemetry }: CollectorSettings,
  serviceVersion: string,
  layer: (telemetry: typeof Telemetry, options: TelemetryOptions) => Layer.Layer<never>
): Layer.Layer<never> =>
  telemetry.traces === null && telemetry.metrics === null
    ? Layer.empty
    : Layer.unwrap(
        Effect.promise(async () => {
          const { Telemetry } = await import("./Telemetry.ts")
          return layer(Telemetry, { ...telemetry, serviceVersion })
        })
      )
