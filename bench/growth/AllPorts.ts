import { Effect, Layer, ManagedRuntime, Redacted, References } from "effect"
import * as App from "../../src/App.ts"
import type { Bench } from "../Cluster.ts"

const MASTER_KEY = Redacted.make(Buffer.alloc(32, 1).toString("base64"))

/** Every port of a gateway on that database, with a process's own connections. */
export const openPorts = ({ url }: Bench) =>
  ManagedRuntime.make(
    Layer.unwrap(
      Effect.map(App.settings, (settings) => App.ports({ ...settings, databaseUrl: Redacted.make(url), masterKey: MASTER_KEY }))
    ).pipe(
      Layer.provide(Layer.succeed(App.Environment, {})),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn"))
    )
  )
