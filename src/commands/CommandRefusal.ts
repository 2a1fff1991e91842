import { Schema } from "effect"
import type { AppId } from "../domain/Ids.ts"

/** Why a command did not do what it was asked to: one clear line, and exit code 1. */
export class CommandRefusal extends Schema.TaggedError<CommandRefusal>()("CommandRefusal", { message: Schema.String }) {}

/** A mistake in the command line itself: one clear line, and exit code 2. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { message: Schema.String }) {}

export const noTenant = (appId: AppId): CommandRefusal =>
  new CommandRefusal({ message: `there is no tenant ${appId}: gateway tenant list shows all of them` })
