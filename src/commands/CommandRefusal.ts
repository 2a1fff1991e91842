import type { AppId } from "../domain/Ids.ts"
import { MessageError } from "../runtime/MessageError.ts"

/** Why a command did not do what it should: one clear line, and exit code 1. */
export class CommandRefusal extends MessageError("CommandRefusal") {}

/** A mistake in the command line itself: one clear line, and exit code 2. */
export class WrongUsage extends MessageError("WrongUsage") {}

export const noTenant = (appId: AppId): CommandRefusal =>
  new CommandRefusal(`there is no tenant ${appId}: gateway tenant list shows all of them`)
