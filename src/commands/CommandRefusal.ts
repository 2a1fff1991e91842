import { Schema } from "effect"

/** What a command says when it cannot do what was asked: one clear line, and exit code 1. */
export class CommandRefusal extends Schema.TaggedError<CommandRefusal>()("CommandRefusal", { message: Schema.String }) {}

/** What a command says when it was not told what to do: one clear line, and exit code 2. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { message: Schema.String }) {}
