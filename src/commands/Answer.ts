import { Console, Effect } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { json } from "../domain/Json.ts"
import { plain } from "./Plain.ts"

/** `--json`: one JSON document on standard output, for programs. */
export const AsJson = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("print one JSON document on standard output"))
})

/** Prints a command's result: its view as JSON, or for people: the same members, unless there is a text of its own. */
export const answer = Effect.fnUntraced(function* (view: unknown, forPeople?: string) {
  const asJson = yield* AsJson
  yield* Console.log(asJson ? json(view) : (forPeople ?? plain(view)))
})
