import { Effect, Layer, Option } from "effect"
import { countingHere } from "../persistence/RateLimitsMemory.ts"
import { type RateLimit, RateLimits } from "../services/ports/RateLimits.ts"
import type { Conversation } from "./Conversation.ts"
import { ofWorkers } from "./Questions.ts"

/**
 * All workers of a machine take from the buckets of the primary process, so that a limit is the same however many workers there are. Where it
 * does not answer, each has its share of the limit.
 */
export const sharedRateLimits = ({ ask }: Pick<Conversation, "ask">, workers: number) =>
  Layer.sync(RateLimits, () => {
    const here = countingHere()
    const shareOf = ({ burst, count, windowMs }: RateLimit): RateLimit => ({
      windowMs,
      count: count / workers,
      burst: Math.max(1, Math.floor(burst / workers))
    })
    return RateLimits.of({
      take: (bucket, limit, tokens) =>
        Effect.flatMap(
          ask(ofWorkers.take, { bucket, limit, tokens }),
          Option.match({ onNone: () => here.take(bucket, shareOf(limit), tokens), onSome: Effect.succeed })
        ),
      reserve: (bucket, limit, longestMs) =>
        Effect.flatMap(
          ask(ofWorkers.reserve, { bucket, limit, longestMs }),
          Option.match({ onNone: () => here.reserve(bucket, shareOf(limit), longestMs), onSome: Effect.succeed })
        ),
      close: (bucket, limit, forMs) =>
        Effect.andThen(here.close(bucket, shareOf(limit), forMs), Effect.asVoid(ask(ofWorkers.close, { bucket, limit, forMs }))),
      giveBack: (bucket, limit, tokens) => Effect.asVoid(ask(ofWorkers.giveBack, { bucket, limit, tokens }))
    })
  })
