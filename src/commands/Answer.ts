import { Console, Effect } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { json } from "../domain/Json.ts"
import { visible } from "../domain/VisibleText.ts"
import { plain } from "./Plain.ts"

/** `--json`: one JSON document on standard output, for programs. */
export const AsJson = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("print one JSON document on standard output"))
})

/**
 * Prints a command's result: its view as JSON, or for people: the same members, unless there are lines of its own. What came from outside
 * is in it to be seen and nothing else: no character of it steers the terminal, ends a line or turns the order of what is read.
 */
export const answer = Effect.fnUntraced(function* (view: unknown, forPeople?: ReadonlyArray<string>) {
  const asJson = yield* AsJson
  yield* Console.log(asJson ? visible(json(view)) : forPeople === undefined ? plain(view) : shown(forPeople))
})

/** Says something to people, on standard output; each text is one line. */
export const say = (...lines: ReadonlyArray<string>): Effect.Effect<void> => Console.log(shown(lines))

/** Says on standard error what went wrong; each text is one line. */
export const complain = (...lines: ReadonlyArray<string>): Effect.Effect<void> => Console.error(shown(lines))

const shown = (lines: ReadonlyArray<string>): string => lines.map(visible).join("\n")
