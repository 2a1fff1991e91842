import { readFile } from "node:fs/promises"
import { Effect, Layer, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import * as App from "../App.ts"
import { MasterKeyRotation } from "../services/ports/MasterKeyRotation.ts"
import { help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { Installation } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const rotationPorts = Layer.unwrap(Effect.map(Installation.forOneCommand, App.keyRotation)).pipe(Layer.provideMerge(App.logs))

const rotate = Command.make(
  "rotate",
  {
    from: Flag.String("from").pipe(
      Flag.withMetavar("OLD_KEY_FILE"),
      Flag.withDescription("the file that holds the old key, 32 bytes in base64")
    )
  },
  Effect.fn(function* ({ from }) {
    const rotation = yield* MasterKeyRotation
    const old = yield* Effect.tryPromise({
      try: async () => Redacted.make((await readFile(from, "utf8")).trim()),
      catch: () => new CommandRefusal(`cannot read ${from}: --from takes the file that holds the old key`)
    })
    const rewrapped = yield* rotation
      .rotate(old, yield* auditEntry("secrets rotate", "master key", {}))
      .pipe(Effect.catchTag("RotationIncomplete", ({ message }) => Effect.fail(new CommandRefusal(message))))
    yield* printResult({ rewrapped })
  }, Effect.provide(rotationPorts))
).pipe(
  help(
    "Re-wrap under MASTER_KEY what the old master key seals. Stop every gateway, run this with MASTER_KEY set to the new key, and start them with it. If it was stopped halfway, run it again",
    ["gateway secrets rotate --from old-master.key", "Change the master key"]
  )
)

export const secrets = Command.make("secrets").pipe(help("What the master key seals"), Command.withSubcommands([rotate]))
