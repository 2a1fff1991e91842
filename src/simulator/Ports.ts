import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Schema } from "effect"

/** The port that each provider had last time, so that a restarted simulator has the same addresses. */
export interface Ports {
  readonly of: (provider: string) => number | undefined
  readonly remember: (provider: string, port: number) => Effect.Effect<void>
}

const Remembered = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Int))

export const openPorts = Effect.fn("openPorts")(function* (dataDir: string): Effect.fn.Return<Ports> {
  const folder = join(dataDir, "simulator")
  const file = join(folder, "ports.json")
  const text = yield* Effect.try({ try: () => readFileSync(file, "utf8"), catch: () => "absent" as const }).pipe(Effect.option)
  // An unreadable file only leads to new ports.
  const remembered = Option.flatMap(text, Schema.decodeUnknownOption(Remembered))
  let ports = Option.getOrElse(remembered, (): Readonly<Record<string, number>> => ({}))
  return {
    of: (provider) => ports[provider],
    remember: (provider, port) =>
      Effect.sync(() => {
        ports = { ...ports, [provider]: port }
        mkdirSync(folder, { recursive: true, mode: 0o700 })
        writeFileSync(file, `${JSON.stringify(ports, null, 2)}\n`, { mode: 0o600 })
      })
  }
})
