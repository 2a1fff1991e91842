import { Context, Effect, Layer } from "effect"
import { type SimulatorOptions, simulatorServer } from "./SimulatorServer.ts"

/** The running simulator: where its control port and, by name, its providers are. */
export class Simulator extends Context.Service<
  Simulator,
  { readonly controlUrl: string; readonly baseUrls: Readonly<Record<string, string>> }
>()("gateway/simulator/Simulator") {}

/** Runs it for as long as the Layer lives. The providers come from outside, so that the frame knows none of them. */
export const simulator = (options: SimulatorOptions): Layer.Layer<Simulator> =>
  Layer.effect(
    Simulator,
    Effect.map(simulatorServer(options), (server) => Simulator.of(server))
  )
