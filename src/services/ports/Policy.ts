import { Context } from "effect"
import type { CircuitPolicy } from "../../domain/CircuitBreaker.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { PollSchedule } from "../../domain/PollSchedule.ts"
import type { WebhookRetrySchedule } from "../../domain/WebhookRetrySchedule.ts"
import type { RateLimit } from "./RateLimits.ts"

/** The settings of the business rules, read once when the process starts. Durations are in milliseconds, or as named. */
export class Policy extends Context.Service<
  Policy,
  {
    readonly publicHosts: ReadonlyArray<string>
    readonly signatureMaxAgeSeconds: number
    readonly signatureMaxAheadSeconds: number
    readonly nonceKeptSeconds: number
    readonly idempotencyLeaseMs: number
    /** How many refusals are stored for the keys of one tenant and mode. */
    readonly keptRefusals: RateLimit | "off"
    /** How many callbacks that match no transaction are stored per provider account. */
    readonly unmatchedCallbacks: RateLimit | "off"
    readonly providerTimeoutMs: number
    readonly pollSchedule: PollSchedule
    readonly collectionExpiryMs: number
    readonly redirectExpiryMs: number
    readonly otpExpiryMs: number
    readonly notFoundGraceMs: number
    readonly notFoundCount: number
    readonly webhookScheduleMs: WebhookRetrySchedule
    readonly webhookAllowLoopback: boolean
    readonly circuit: CircuitPolicy
    readonly testCeilings: Readonly<Record<Currency, MinorUnits>>
  }
>()("gateway/services/ports/Policy") {}
