import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Cause, Context, Deferred, Duration, Effect, Layer, Metric, Redacted, Schedule } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type RateLimit, RateLimits } from "../../services/ports/RateLimits.ts"
import { countingHere, intervalMs, rateLimited, reserved, tokensOf, withinRateLimit } from "./RateLimitsMemory.ts"

/** How long one request may wait for Redis before this process decides on its own. */
const ANSWER_MS = 250
const CONNECT_MS = 2_000
const CONNECT_AGAIN_EVERY = "5 seconds"
const PREFIX = "gateway:rate_limit:"
const ASKED_EVERY = "5 seconds"
/** A bucket for probing Redis, from which nothing is taken. */
const ASKED_BUCKET = "asked"
const ASKED_LIMIT: RateLimit = { count: 1, windowMs: 1_000, burst: 1 }

const up = Metric.gauge("gateway_redis_up", {
  description: "1 while rate limits are shared through Redis, 0 while it cannot be reached; absent where none is set."
})

/**
 * All processes take from the same buckets. While Redis cannot be reached each process counts on its own. The log says so once,
 * and once when they are shared again. A limit protects the service and must never stop it.
 */
export const RateLimitsRedis = {
  layer: (url: Redacted.Redacted) =>
    layerOf(RateLimits)(function* () {
      const here = countingHere()
      const first = yield* Deferred.make<void>()
      let limiter: RateLimiter.RateLimiter | null = null
      let isShared = true

      yield* Metric.update(up, 1)

      const lost = (reason: unknown) => {
        if (!isShared) return Effect.void
        isShared = false
        return Effect.andThen(
          Metric.update(up, 0),
          Effect.logError("Redis cannot be reached: rate limits are counted by each process for itself", Cause.fail(reason))
        )
      }
      const found = Effect.suspend(() => {
        if (isShared) return Effect.void
        isShared = true
        return Effect.andThen(
          Metric.update(up, 1),
          Effect.logInfo("Redis is back: rate limits are shared by all processes again")
        )
      })

      const connected = Effect.gen(function* () {
        limiter = Context.get(yield* Layer.build(shared(url)), RateLimiter.RateLimiter)
        yield* found
        yield* Deferred.succeed(first, undefined)
        return yield* Effect.never
      }).pipe(Effect.scoped)
      yield* connected.pipe(
        Effect.tapError(lost),
        Effect.tapError(() => Deferred.succeed(first, undefined)),
        Effect.retry(Schedule.spaced(CONNECT_AGAIN_EVERY)),
        Effect.forkScoped
      )
      yield* Effect.timeoutOption(Deferred.await(first), CONNECT_MS)

      const spend =
        (onExceeded: "fail" | "delay") => (limiter: RateLimiter.RateLimiter, bucket: string, limit: RateLimit, tokens: number) =>
          limiter
            .consume({
              algorithm: "token-bucket",
              onExceeded,
              key: bucket,
              limit: limit.burst,
              window: Duration.millis(limit.burst * intervalMs(limit)),
              tokens
            })
            .pipe(Effect.timeout(ANSWER_MS))
      const consume = spend("fail")
      /** Takes tokens even if the bucket is empty, and gives back a negative number; what is left may be negative until refilled. */
      const owe = spend("delay")

      /** Also runs without requests, so that a tenant is not the first to notice that Redis is gone. */
      const asked = Effect.suspend(() =>
        limiter === null
          ? Effect.void
          : Effect.matchEffect(owe(limiter, ASKED_BUCKET, ASKED_LIMIT, 0), { onSuccess: () => found, onFailure: lost })
      )
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(ASKED_EVERY), asked)))

      /** A call that would have to wait too long returns its token. */
      const reserveIn = Effect.fnUntraced(function* (
        limiter: RateLimiter.RateLimiter,
        bucket: string,
        limit: RateLimit,
        longestMs: number
      ) {
        const wait = Duration.toMillis((yield* owe(limiter, bucket, limit, 1)).delay)
        if (wait <= longestMs) return reserved(wait)
        yield* owe(limiter, bucket, limit, -1)
        return rateLimited(wait)
      })

      const closeIn = Effect.fnUntraced(function* (
        limiter: RateLimiter.RateLimiter,
        bucket: string,
        limit: RateLimit,
        forMs: number
      ) {
        const owed = Math.max(0, Math.ceil(forMs / intervalMs(limit)) - 1)
        const { remaining: seen } = yield* owe(limiter, bucket, limit, 0)
        if (seen <= -owed) return
        // Others may have closed it in the meantime: what they have already taken is given back.
        const { remaining } = yield* owe(limiter, bucket, limit, seen + owed)
        const before = remaining + seen + owed
        const needed = Math.max(0, before + owed)
        if (needed < seen + owed) yield* owe(limiter, bucket, limit, needed - (seen + owed))
      })

      return {
        reserve: (bucket, limit, longestMs) =>
          limiter === null
            ? here.reserve(bucket, limit, longestMs)
            : Effect.matchEffect(reserveIn(limiter, bucket, limit, longestMs), {
                onSuccess: (said) => Effect.as(found, said),
                onFailure: (error) => Effect.andThen(lost(error), here.reserve(bucket, limit, longestMs))
              }),
        close: (bucket, limit, forMs) =>
          // Closed in this process too, so that it stays closed if Redis goes away.
          Effect.andThen(
            here.close(bucket, limit, forMs),
            limiter === null
              ? Effect.void
              : Effect.matchEffect(closeIn(limiter, bucket, limit, forMs), { onSuccess: () => found, onFailure: lost })
          ),
        take: (bucket, limit, tokens) =>
          limiter === null
            ? here.take(bucket, limit, tokens)
            : Effect.matchEffect(consume(limiter, bucket, limit, tokensOf(limit, tokens)), {
                onSuccess: () => Effect.as(found, withinRateLimit),
                onFailure: (error) =>
                  error._tag === "RateLimiterError" && error.reason._tag === "RateLimitExceeded"
                    ? Effect.as(found, rateLimited(Duration.toMillis(error.reason.retryAfter)))
                    : Effect.andThen(lost(error), here.take(bucket, limit, tokens))
              }),
        giveBack: (bucket, limit, tokens) =>
          limiter === null
            ? here.giveBack(bucket, limit, tokens)
            : Effect.matchEffect(owe(limiter, bucket, limit, -tokensOf(limit, tokens)), {
                onSuccess: () => found,
                onFailure: lost
              })
      }
    })
}

const shared = (url: Redacted.Redacted) =>
  RateLimiter.layer.pipe(
    Layer.provide(RateLimiter.layerStoreRedis({ prefix: PREFIX })),
    Layer.provide(
      // Without the offline queue a command fails at once while the connection is down.
      NodeRedis.layer({ url: Redacted.value(url), disableOfflineQueue: true, socket: { connectTimeout: CONNECT_MS } })
    )
  )
