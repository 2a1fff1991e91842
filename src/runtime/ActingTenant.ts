import { Context } from "effect"
import type { AppId } from "../domain/Ids.ts"

/** The tenant whose request the current fiber works for; null for the gateway's own work. */
export const ActingTenant = Context.Reference<AppId | null>("gateway/runtime/ActingTenant", { defaultValue: () => null })
