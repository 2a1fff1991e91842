import { Schema } from "effect"

/** One line for the person who starts the gateway: the master key is not this database's. */
export class VaultError extends Schema.TaggedError<VaultError>()("VaultError", { message: Schema.String }) {}
