import { Clock, Duration, Effect } from "effect"

/** The system's clock with its hands held: sleeps still take their time, or a part of it. */
export const frozen = (now: number, haste: number): Clock.Clock => {
  const system = Effect.runSync(Effect.service(Clock.Clock))
  return {
    ...system,
    sleep: (duration) => system.sleep(Duration.times(duration, 1 / haste)),
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.succeed(now),
    monotonicTimeNanosUnsafe: () => system.monotonicTimeNanosUnsafe() * BigInt(haste),
    currentTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
    currentTimeNanos: Effect.succeed(BigInt(now) * 1_000_000n)
  }
}
