import { Clock, Context, Effect } from "effect"
import { type CapSubject, type CapWindow, capsOf, capWindowUse, meanings } from "../../domain/AmountCaps.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { effectiveLimits, LimitDirection, type WindowUse, windowUse } from "../../domain/VelocityLimits.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { VelocityLimits } from "../ports/VelocityLimits.ts"

/** A limit that applies to a caller, and how much of it is used. */
export interface LimitUse {
  readonly direction: LimitDirection
  readonly length: "hour" | "day"
  readonly of: CapSubject
  /** The currency of a cap; null when transactions are counted. */
  readonly currency: Currency | null
  readonly bound: bigint
  /** Null for destinations, because each has its own window. */
  readonly used: bigint | null
  readonly endsAt: Instant
}

/** The limits and caps that apply to a caller, and their use (contract LIM-33). Only reads. */
export class LimitUses extends Context.Service<
  LimitUses,
  {
    /** In the order in which they refuse, by direction. Of caps per key only the caller's own. */
    readonly list: (caller: Caller) => Effect.Effect<ReadonlyArray<LimitUse>>
  }
>()("gateway/services/LimitUses") {
  static readonly layer = layerOf(LimitUses)(function* () {
    const limits = yield* VelocityLimits

    const list = Effect.fn("LimitUses.list")(function* (caller: Caller) {
      const { appId, mode } = caller
      const user = { caller, party: "", at: yield* Clock.currentTimeMillis }
      const own = yield* limits.own(appId)
      const caps = yield* limits.caps(appId)
      const all = LimitDirection.literals.flatMap((direction) => [
        ...effectiveLimits(mode, direction, own).map((limit) => held(limit, windowUse(appId, limit, "", user.at), null)),
        ...capsOf(caps, mode, direction).map((cap) => held(cap, capWindowUse(cap, user, 0n), cap.currency))
      ])
      return yield* Effect.forEach(all, ({ use, ...limit }) =>
        limit.of === "destination"
          ? Effect.succeed({ ...limit, used: null })
          : Effect.map(limits.used([use]), ([read]): LimitUse => ({ ...limit, used: read?.used ?? 0n }))
      )
    })

    return { list }
  })
}

interface Scope {
  readonly direction: LimitDirection
  readonly window: CapWindow
}

const held = ({ direction, window }: Scope, use: WindowUse, currency: Currency | null) => ({
  use,
  direction,
  ...meanings[window],
  currency,
  bound: use.bound,
  endsAt: use.endsAt
})
