import { enableCompileCache } from "node:module"

// Compiling what did not change since the last time would be half of a command's time: hence this first, and the rest only then.
enableCompileCache()

const { NodeRuntime, NodeServices } = await import("@effect/platform-node")
const { Effect } = await import("effect")
const { program, teardown } = await import("./commands/Program.ts")

program(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown })
)
