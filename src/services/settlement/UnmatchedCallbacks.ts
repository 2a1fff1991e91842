import { Clock, Effect, Exit, Metric, Option } from "effect"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import type { Instant } from "../../domain/Instant.ts"
import { Policy } from "../ports/Policy.ts"
import type { Callback } from "../ports/ProviderInbox.ts"
import { RateLimits } from "../ports/RateLimits.ts"

/** After a callback that matched nothing, those of its account are looked up before they are stored for so long. */
const WATCHED_MS = 10 * 60_000

const refused = Metric.counter("gateway_callbacks_unmatched_refused_total", {
  description: "Callbacks that match no transaction and came oftener than their account's may.",
  incremental: true
})

/**
 * Keeps what matches no transaction from filling the inbox. Each account has a rate of its own for it, and what does match is never counted: a
 * flood costs neither the neighbours' callbacks nor the account's own genuine ones. While nothing of the kind comes, no callback is looked up before it is
 * stored. Each process watches for itself; the rate is all nodes' where rate limits are shared.
 */
export const makeUnmatchedCallbacks = Effect.gen(function* () {
  const { unmatchedCallbacks: limit } = yield* Policy
  const { take } = yield* RateLimits
  /** By account. There are no more than are configured. */
  const watchedUntil = new Map<string, Instant>()

  /** A look has found nothing that it could be about. */
  const noted = Effect.fnUntraced(function* (callback: Callback) {
    watchedUntil.set(accountOf(callback), (yield* Clock.currentTimeMillis) + WATCHED_MS)
  })

  /** Refuses what should not be stored. What could not be looked up is stored: nobody can say that it is about nothing. */
  const admit = Effect.fnUntraced(function* (callback: Callback, find: Effect.Effect<Option.Option<unknown>>) {
    const account = accountOf(callback)
    if (limit === "off" || callback.receivedAt >= (watchedUntil.get(account) ?? callback.receivedAt)) return
    const found = yield* Effect.exit(find)
    if (!Exit.isSuccess(found) || Option.isSome(found.value)) return
    const taken = yield* take(`unmatched_callbacks:${account}`, limit, 1)
    if (taken._tag === "Allowed") return
    const { mode, provider } = callback
    yield* Metric.update(Metric.withAttributes(refused, { provider, mode }), 1)
    return yield* new RateLimited({ scope: "server", retry_after_seconds: taken.retryAfterSeconds })
  })

  return { noted, admit }
})

const accountOf = ({ mode, provider }: Pick<Callback, "provider" | "mode">): string => `${provider}:${mode}`
