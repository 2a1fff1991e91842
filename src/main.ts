import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { program, teardown } from "./commands/Program.ts"
import { StandardStreams } from "./observability/StandardStreams.ts"

StandardStreams.surviveFullDisk(process.stderr)

program(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown })
)
