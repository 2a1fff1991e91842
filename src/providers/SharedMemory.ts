import { Clock, Context, Effect, Option, type Redacted } from "effect"
import type { Instant } from "../domain/Instant.ts"
import type { ProviderMemory } from "../services/ports/ProviderMemory.ts"
import { timeLeft } from "./Client.ts"

export type SharedMemory = Omit<ProviderMemory["Service"], "prune">

/** A memory of this process only. */
export const processMemory = (): SharedMemory => {
  const kept = new Map<string, { readonly value: Redacted.Redacted | null; readonly until: Instant }>()
  const read = (name: string) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const found = kept.get(name)
      return found !== undefined && found.until > now ? found : undefined
    })
  const valueOf = (name: string) => Effect.map(read(name), (found) => Option.fromNullishOr(found?.value))
  return {
    put: (name, value, until) => Effect.sync(() => void kept.set(name, { value, until })),
    get: valueOf,
    take: (name) => Effect.tap(valueOf(name), () => Effect.sync(() => kept.delete(name))),
    claim: (name, until, value) =>
      Effect.map(read(name), (found) => {
        if (found === undefined) kept.set(name, { value: value ?? null, until })
        return found === undefined
      })
  }
}

/** The memory that accounts share with those of other nodes; outside a gateway, only within this process. */
export const MemoryOf = Context.Reference<SharedMemory>("gateway/providers/MemoryOf", { defaultValue: processMemory })

/** The delays between two reads while waiting for a value: the first and the longest. */
const FIRST_LOOK_MS = 25
const LONGEST_LOOK_MS = 500

/** Waits for a value and takes it; none when it does not arrive in time. */
export const awaited = Effect.fnUntraced(function* (
  { take }: Pick<SharedMemory, "take">,
  name: string,
  until: number
): Effect.fn.Return<Option.Option<Redacted.Redacted>> {
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_LOOK_MS)) {
    const found = yield* take(name)
    const leftMs = Option.isSome(found) ? 0 : yield* timeLeft(until)
    if (leftMs <= 0) return found
    yield* Effect.sleep(Math.min(pauseMs, leftMs))
  }
})
