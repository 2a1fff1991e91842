import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect } from "effect"
import { program, teardown } from "./commands/Program.ts"
import { StandardStreams } from "./commands/StandardStreams.ts"

program(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  Effect.provideService(Console.Console, StandardStreams.consoleOf(globalThis.console)),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown })
)
