import { Data } from "effect"
import type { AppId } from "../../domain/Ids.ts"

/** A change of a tenant that is not there. Nothing was written. */
export class NoSuchTenant extends Data.TaggedError("NoSuchTenant")<{ readonly appId: AppId }> {}
