import { Effect, Exit, Metric, Option, Schema } from "effect"
import { AppId } from "../../domain/Ids.ts"
import { boundedLog, IsBounded } from "../../runtime/BoundedLog.ts"
import { Tenants } from "../ports/Tenants.ts"

// The caller learns nothing of why; whoever runs the gateway has to.
const refusals = Metric.counter("gateway_signatures_refused_total", {
  description: "Requests without an acceptable signature, by what was wrong.",
  incremental: true
})

/** What the signature check can find wrong, and the label under which the metric counts it. */
const metricReasons = {
  missing_header: "headers",
  doubled_header: "headers",
  malformed_header: "headers",
  absolute_target: "headers",
  bad_query_escape: "headers",
  host_not_public: "host",
  malformed_timestamp: "timestamp",
  timestamp_outside_window: "timestamp",
  unknown_key: "unknown_key",
  wrong_signature: "signature",
  wrong_api_key: "api_key",
  reused_nonce: "nonce"
} as const

/** Why a signature was refused. Holds nothing that was sent, except the name of one of the five headers. */
export interface SignatureFault {
  readonly reason: keyof typeof metricReasons
  readonly header?: string
  /** How far the caller's clock is ahead of ours; negative where it is behind. */
  readonly clockSkewSeconds?: number
}

/** The key that a request names. It proves nothing: anybody can name a key. */
export interface NamedKey {
  readonly appId: string
  readonly keyId: string
}

const isAppId = Schema.is(AppId)

/** What the log may say of a named key. */
interface Found {
  /** Null where there is no such tenant, and no such key. */
  readonly appId: string | null
  readonly keyId: string | null
  /** Why no signature of it can be right, where that is so. */
  readonly unusable: "unknown_tenant" | "unknown_key" | "revoked_key"
}
const nobody: Found = { appId: null, keyId: null, unusable: "unknown_key" }

/**
 * Counts refused signatures and writes a log line for each: the reason, and the tenant and the key where they exist. What a stranger
 * claims to be is not written down. Of a flood most are counted by reason (`boundedLog`). Returns before the line is written, so that no caller can measure what is looked up for it.
 */
export const makeSignatureLog = Effect.gen(function* () {
  const tenants = yield* Tenants
  const scope = yield* Effect.scope
  const hasOwnLine = yield* boundedLog((reason: string, count) =>
    Effect.logWarning("more refused signatures").pipe(Effect.annotateLogs({ reason, count }))
  )

  /** The named tenant and key as far as they exist, and why the key cannot sign. */
  const lookUp = Effect.fnUntraced(function* ({ appId, keyId }: NamedKey): Effect.fn.Return<Found> {
    if (!isAppId(appId) || Option.isNone(yield* tenants.find(appId))) return { ...nobody, unusable: "unknown_tenant" }
    const key = (yield* tenants.keys(appId)).find((row) => row.keyId === keyId)
    if (key === undefined) return { ...nobody, appId }
    return { appId, keyId, unusable: key.revokedAt === null ? "unknown_key" : "revoked_key" }
  })

  const writeLine = Effect.fnUntraced(function* (fault: SignatureFault, named: Option.Option<NamedKey>) {
    const { clockSkewSeconds, header, reason } = fault
    // Without the database a line names no tenant; it is written all the same.
    const found = Option.isSome(named) ? yield* Effect.exit(lookUp(named.value)) : Exit.succeed(nobody)
    const { appId, keyId, unusable } = Exit.isSuccess(found) ? found.value : nobody
    yield* Effect.logWarning("a signature was refused").pipe(
      Effect.annotateLogs({
        ...(appId === null ? {} : { app_id: appId }),
        ...(keyId === null ? {} : { key_id: keyId }),
        reason: reason === "unknown_key" ? unusable : reason,
        ...(header === undefined ? {} : { header }),
        ...(clockSkewSeconds === undefined ? {} : { clock_skew_seconds: clockSkewSeconds })
      }),
      Effect.provideService(IsBounded, true)
    )
  })

  return Effect.fnUntraced(function* (fault: SignatureFault, named: Option.Option<NamedKey>) {
    yield* Metric.update(Metric.withAttributes(refusals, { reason: metricReasons[fault.reason] }), 1)
    if (yield* hasOwnLine(fault.reason)) yield* Effect.forkIn(writeLine(fault, named), scope)
  })
})
