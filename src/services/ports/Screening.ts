import { Context, type Effect, type Redacted } from "effect"
import type { NamedValue } from "../../domain/Denylist.ts"

/** The party to screen: every number and name that a request gives, of either side. */
export interface ScreenedParty {
  readonly numbers: ReadonlyArray<NamedValue>
  readonly names: ReadonlyArray<Redacted.Redacted>
}

/** Sanctions screening. The denylist decides here; a real screening service would be another Layer of this port. Reads only. */
export class Screening extends Context.Service<
  Screening,
  {
    /** "denied" refuses the request before any provider is asked. */
    readonly check: (party: ScreenedParty) => Effect.Effect<"clear" | "denied">
  }
>()("gateway/services/ports/Screening") {}
