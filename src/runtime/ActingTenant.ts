import { Context } from "effect"
import type { AppId } from "../domain/Ids.ts"

/** Whose request the work that goes on belongs to; null for the gateway's own work. */
export const ActingTenant = Context.Reference<AppId | null>("gateway/runtime/ActingTenant", { defaultValue: () => null })
