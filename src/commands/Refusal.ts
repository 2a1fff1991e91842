import { Schema } from "effect"

/** What a command says when it cannot do what was asked: one clear line, and exit code 1. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", { message: Schema.String }) {}
