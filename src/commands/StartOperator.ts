import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { OperatorName, OperatorRole } from "../domain/Operator.ts"
import { SignIn } from "../services/console/SignIn.ts"
import { Operators } from "../services/ports/Operators.ts"
import { DataFolder } from "./DataFolder.ts"
import { auditEntry } from "./Operator.ts"
import { addOperator } from "./OperatorAccount.ts"

const NAME = OperatorName.make("admin")

const Kept = Schema.Struct({ name: OperatorName, role: OperatorRole, token: Schema.String })
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Kept))

export const operatorFileOf = (dataDir: string): string => join(dataDir, "operator.json")

/** The person that `start` lets into the console on first use; the token stays in the data folder. */
export const startOperator = Effect.fn("startOperator")(function* (dataDir: string) {
  const file = operatorFileOf(dataDir)
  const operators = yield* Operators
  const kept = Option.flatMap(yield* DataFolder.read(file), decode)
  const standing = yield* operators.find(NAME)
  if (Option.isSome(kept) && Option.isSome(standing)) return kept.value
  // Nobody has its token any more.
  if (Option.isSome(standing)) yield* operators.remove(NAME, yield* auditEntry("operator remove", NAME, {}))
  const added = yield* addOperator(NAME, "admin")
  yield* DataFolder.write(file, `${JSON.stringify(added, null, 2)}\n`)
  return added
}, Effect.provide(SignIn.layer))
