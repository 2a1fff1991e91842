import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { program, teardown } from "./commands/Program.ts"

program(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown })
)
