import { Context, type Effect, type Redacted } from "effect"
import type { NamedValue } from "../../domain/Denylist.ts"

/** The party to screen: every number and name in a request, of either side. */
export interface ScreenedParty {
  readonly numbers: ReadonlyArray<NamedValue>
  readonly names: ReadonlyArray<Redacted.Redacted>
}

/** Sanctions screening, at present by the denylist; a screening service would be another Layer of this port. Reads only. */
export class Screening extends Context.Service<
  Screening,
  {
    /** "denied" refuses the request before any provider is called. */
    readonly check: (party: ScreenedParty) => Effect.Effect<"clear" | "denied">
  }
>()("gateway/services/ports/Screening") {}
