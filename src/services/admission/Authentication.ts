import { timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Exit, Metric, Option, Redacted, Result, Schema, Semaphore } from "effect"
import { isInRanges } from "../../domain/AddressRange.ts"
import { Unauthorized } from "../../domain/errors/Retriable.ts"
import { AppId } from "../../domain/Ids.ts"
import {
  clockSkewSeconds,
  isInSignatureWindow,
  isNonce,
  parseKeyHeader,
  parseSignature,
  stringToSign
} from "../../domain/StringToSign.ts"
import { apiKeyPurpose, type Caller, noTerms } from "../../domain/Tenant.ts"
import { boundedLog, IsBounded } from "../../runtime/BoundedLog.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { ClockTrust } from "../ports/ClockWatch.ts"
import { Nonces } from "../ports/Nonces.ts"
import { Policy } from "../ports/Policy.ts"
import { type SigningKey, Tenants } from "../ports/Tenants.ts"
import { Vault } from "../ports/Vault.ts"
import { type RequestNonce, requestNonce } from "./RequestNonce.ts"
import { bodyHash, signature } from "./Signature.ts"

/** A request as it arrived, before anything was decoded. */
export interface RawRequest {
  readonly method: string
  readonly rawTarget: string
  /** Names and values alternate, duplicates included, as node:http returns them. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Empty for GET, HEAD and DELETE, whatever was sent with them. */
  readonly body: Uint8Array
  /** The client address from the socket or a trusted proxy. Only keys that are limited to networks need it. */
  readonly clientAddress: () => string
}

/** The signer of a request, and its nonce, which is not spent yet. */
export interface Authenticated {
  readonly caller: Caller
  readonly nonce: RequestNonce
}

/** Authenticates the signer of a request (contract SIG-1 to SIG-15). Every failure is the same Unauthorized. */
export class Authentication extends Context.Service<
  Authentication,
  {
    /**
     * Verifies everything except the nonce, and returns the nonce. Only a verified signature yields a nonce to spend, so that
     * an attacker cannot fill the store. The caller spends it before it does anything for the request.
     */
    readonly authenticate: (request: RawRequest) => Effect.Effect<Authenticated, Unauthorized>
  }
>()("gateway/services/Authentication") {
  static readonly layer = layerOf(Authentication)(function* () {
    const tenants = yield* Tenants
    const nonces = yield* Nonces
    const vault = yield* Vault
    const policy = yield* Policy
    const window = { maxAgeSeconds: policy.signatureMaxAgeSeconds, maxAheadSeconds: policy.signatureMaxAheadSeconds }
    const { noncesUntil } = yield* ClockTrust
    // Signed this long before a nonce expired, a request may have used it, but is in the window only if the clock was set back.
    const endedAfterMs = (policy.nonceKeptSeconds - policy.signatureMaxAheadSeconds) * 1000
    const isForgotten = (timestamp: string, until: number) => Number(timestamp) * 1000 <= until - endedAfterMs
    const hosts = new Set(policy.publicHosts.map((host) => host.toLowerCase()))
    // An unknown key is checked against these, so that it takes as long as a wrong one.
    const noSecret = Redacted.make("no such key has a secret")
    const noHash = new Uint8Array(32)

    const logRefusal = yield* makeSignatureLog
    const noteUse = yield* makeUseNotes
    const refused = (fault: SignatureFault, named: Option.Option<NamedKey>) =>
      Effect.andThen(logRefusal(fault, named), new Unauthorized())

    const authenticate = Effect.fnUntraced(function* (request: RawRequest) {
      const read = readSigningHeaders(request)
      if (Result.isFailure(read)) return yield* refused(read.failure, keyNamedBy(request))
      const { key, host, timestamp, nonce, sent, text } = read.success
      const named = Option.some(key)
      if (hosts.size > 0 && !hosts.has(host.toLowerCase())) return yield* refused({ reason: "host_not_public" }, named)
      const now = yield* Clock.currentTimeMillis
      if (!isInSignatureWindow(timestamp, now, window) || isForgotten(timestamp, yield* noncesUntil))
        return yield* refused(timestampFault(timestamp, now), named)
      const found = Option.getOrUndefined(yield* tenants.signingKey(key.appId, key.keyId))
      const signed = timingSafeEqual(signature(found?.signingSecret ?? noSecret, text), Buffer.from(sent, "hex"))
      const purpose = apiKeyPurpose(found?.caller.role ?? "tenant", found ?? noTerms)
      const keyed = timingSafeEqual(vault.hash(purpose, key.apiKey), found?.apiKeyHash ?? noHash)
      if (found === undefined) return yield* refused({ reason: "unknown_key" }, named)
      if (!signed) return yield* refused({ reason: "wrong_signature" }, named)
      if (!keyed) return yield* refused({ reason: "wrong_api_key" }, named)
      if (found.addresses.length > 0 && !isInRanges(found.addresses, request.clientAddress()))
        return yield* refused({ reason: "address_not_allowed" }, named)
      yield* noteUse(found, now)
      const { caller } = found
      const use = { caller, nonce, expiresAt: now + policy.nonceKeptSeconds * 1000 }
      return { caller, nonce: requestNonce(use, nonces.spend, logRefusal({ reason: "reused_nonce" }, named)) }
    }, inSpan("Authentication.authenticate"))
    return { authenticate }
  })
}

const HOUR_MS = 3_600_000

/**
 * Stores the hour in which a key was last used, in the background of the request. This process writes each key at most once an
 * hour, one key after the other. The key as it was read contains the last stored hour.
 */
const makeUseNotes = Effect.gen(function* () {
  const tenants = yield* Tenants
  const scope = yield* Effect.scope
  const turn = yield* Semaphore.make(1)
  const noted = new WeakMap<SigningKey, number>()
  return (key: SigningKey, now: number): Effect.Effect<void> => {
    const hour = now - (now % HOUR_MS)
    if ((noted.get(key) ?? key.lastUsedAt ?? Number.NEGATIVE_INFINITY) >= hour) return Effect.void
    noted.set(key, hour)
    const written = Effect.gen(function* () {
      const exit = yield* Effect.exit(turn.withPermits(1)(tenants.noteUse(key.caller, hour)))
      if (Exit.isFailure(exit)) yield* Effect.logWarning("the use of a key was not noted", exit.cause)
    })
    return Effect.asVoid(Effect.forkIn(written, scope))
  }
})

const timestampFault = (timestamp: string, now: number): SignatureFault =>
  Option.match(clockSkewSeconds(timestamp, now), {
    onNone: () => ({ reason: "malformed_timestamp" }),
    onSome: (skew) => ({ reason: "timestamp_outside_window", clockSkewSeconds: skew })
  })

/** The values of the signing headers, or the first fault in them. Verifies nothing. */
const readSigningHeaders = (request: RawRequest) =>
  Result.gen(function* () {
    const only = singles(request.rawHeaders)
    const host = yield* only("host")
    const key = yield* wellFormed("x-gateway-key", parseKeyHeader)(yield* only("x-gateway-key"))
    const timestamp = yield* only("x-gateway-timestamp")
    const nonce = yield* wellFormed("x-gateway-nonce", Option.liftPredicate(isNonce))(yield* only("x-gateway-nonce"))
    const sent = yield* wellFormed("x-gateway-signature", parseSignature)(yield* only("x-gateway-signature"))
    const text = yield* Result.fromOption(
      stringToSign({
        appId: key.appId,
        keyId: key.keyId,
        host,
        method: request.method,
        target: request.rawTarget,
        timestamp,
        nonce,
        bodyHash: bodyHash(request.body)
      }),
      (): SignatureFault => ({ reason: request.rawTarget.startsWith("/") ? "bad_query_escape" : "absolute_target" })
    )
    return { host, key, timestamp, nonce, sent, text }
  })

/** The key that a request names, if it names one, whatever else is wrong with the request. */
const keyNamedBy = (request: RawRequest): Option.Option<NamedKey> =>
  Option.flatMap(Result.getSuccess(singles(request.rawHeaders)("x-gateway-key")), parseKeyHeader)

const wellFormed =
  <A>(header: string, parse: (value: string) => Option.Option<A>) =>
  (value: string): Result.Result<A, SignatureFault> =>
    Result.fromOption(parse(value), () => ({ reason: "malformed_header", header }))

/** The value of a header that was sent exactly once, by lower-case name. */
const singles = (rawHeaders: ReadonlyArray<string>) => {
  const values = new Map<string, string | null>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ""
    values.set(name, values.has(name) ? null : (rawHeaders[at + 1] ?? null))
  }
  return (header: string): Result.Result<string, SignatureFault> => {
    const value = values.get(header)
    if (value === undefined) return Result.fail({ reason: "missing_header", header })
    return value === null ? Result.fail({ reason: "doubled_header", header }) : Result.succeed(value)
  }
}

// The reason is for the operator; the caller does not learn it.
const refusals = Metric.counter("gateway_signatures_refused_total", {
  description: "Requests without an acceptable signature, by what was wrong.",
  incremental: true
})

/** The faults that the signature check can find, and their labels in the metric. */
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
  address_not_allowed: "address",
  reused_nonce: "nonce"
} as const

/** Why a signature was refused. Contains nothing that was sent, except the name of one of the five headers. */
interface SignatureFault {
  readonly reason: keyof typeof metricReasons
  readonly header?: string
  /** How far the caller's clock is ahead of ours; negative when it is behind. */
  readonly clockSkewSeconds?: number
}

/** The key that a request names. It proves nothing: any client can name a key. */
interface NamedKey {
  readonly appId: string
  readonly keyId: string
}

const isAppId = Schema.is(AppId)

/** The facts about a named key that the log may contain. */
interface Found {
  /** Both are null when the tenant does not exist; `keyId` also when the key does not. */
  readonly appId: string | null
  readonly keyId: string | null
  /** Why the key cannot sign. Used only when the signature check found no usable key. */
  readonly unusable: "unknown_tenant" | "unknown_key" | "revoked_key"
}
const nobody: Found = { appId: null, keyId: null, unusable: "unknown_key" }

/**
 * Counts refused signatures and writes a log line for each, with the reason and, if they exist, the tenant and the key. The
 * name of an unknown tenant or key is not written. In a flood most refusals are counted by reason (`boundedLog`). Returns
 * before the line is written, so that a caller cannot measure the lookup.
 */
const makeSignatureLog = Effect.gen(function* () {
  // Starts the counters at zero, because an alert does not notice the first increase of a counter that did not exist.
  for (const reason of Object.values(metricReasons)) yield* Metric.update(Metric.withAttributes(refusals, { reason }), 0)
  const tenants = yield* Tenants
  const scope = yield* Effect.scope
  const hasOwnLine = yield* boundedLog((reason: string, count) =>
    Effect.logWarning("more refused signatures").pipe(Effect.annotateLogs({ reason, count }))
  )

  /** The named tenant and key, as far as they exist, and why the key cannot sign. */
  const lookUp = Effect.fnUntraced(function* ({ appId, keyId }: NamedKey): Effect.fn.Return<Found> {
    if (!isAppId(appId) || Option.isNone(yield* tenants.find(appId))) return { ...nobody, unusable: "unknown_tenant" }
    const key = (yield* tenants.keys(appId)).find((row) => row.keyId === keyId)
    if (key === undefined) return { ...nobody, appId }
    return { appId, keyId, unusable: key.revokedAt === null ? "unknown_key" : "revoked_key" }
  })

  const writeLine = Effect.fnUntraced(function* (fault: SignatureFault, named: Option.Option<NamedKey>) {
    const { clockSkewSeconds, header, reason } = fault
    // When the database is down the line names no tenant, but is written all the same.
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
