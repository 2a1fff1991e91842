import { randomBytes } from "node:crypto"
import { NodeServices } from "@effect/platform-node"
import { Console, Effect, Redacted, Stdio, Stream } from "effect"
import { Environment } from "../../src/App.ts"
import { program } from "../../src/commands/Program.ts"
import { givenDatabase } from "../support/TestDatabase.ts"

export interface Ran {
  readonly code: number
  readonly output: string
  readonly errors: string
}

type Variables = Readonly<Record<string, string | undefined>>

/** Runs one command line in this process, with exactly these environment variables, and an empty standard input. */
export const gateway = (variables: Variables, ...args: ReadonlyArray<string>): Effect.Effect<Ran> =>
  gatewayReading("", variables, ...args)

/** The same with a standard input. */
export const gatewayReading = (input: string, variables: Variables, ...args: ReadonlyArray<string>): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const output: Array<string> = []
    const errors: Array<string> = []
    const recording = {
      ...console,
      log: (...parts: ReadonlyArray<unknown>) => void output.push(parts.join(" ")),
      error: (...parts: ReadonlyArray<unknown>) => void errors.push(parts.join(" "))
    }
    const code = yield* program(args).pipe(
      Effect.provideService(Environment, { LOG_LEVEL: "error", ...variables }),
      Effect.provideService(Console.Console, recording),
      Effect.updateService(Stdio.Stdio, (stdio) => ({ ...stdio, stdin: Stream.make(Buffer.from(input)) })),
      Effect.provide(NodeServices.layer)
    )
    return { code, output: output.join("\n"), errors: errors.join("\n") }
  })

/** The variables of an installation on a database of its own. */
export const installedOn = (url: string): Variables => ({ DATABASE_URL: url, MASTER_KEY: randomBytes(32).toString("base64") })

/** Where a database of its own is, migrated already: each test would wait for its first command to do that. */
export const givenUrl: Effect.Effect<string> = Effect.map(givenDatabase, Redacted.value)
