import { timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Layer, Metric, Option, Redacted } from "effect"
import { canonicalText, isInSignatureWindow, isNonce, parseKeyHeader, parseSignature } from "../../domain/CanonicalText.ts"
import { Unauthorized } from "../../domain/errors/Retriable.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Nonces } from "../ports/Nonces.ts"
import { Policy } from "../ports/Policy.ts"
import { Tenants } from "../ports/Tenants.ts"
import { Vault } from "../ports/Vault.ts"
import { bodyHash, signature } from "./Signature.ts"

// The caller learns nothing of why; whoever runs the gateway has to.
const refusals = Metric.counter("gateway_signatures_refused_total", {
  description: "Requests without an acceptable signature, by what was wrong.",
  incremental: true
})

/** In the order in which they are looked at. */
type Wrong = "headers" | "host" | "timestamp" | "unknown_key" | "signature" | "api_key" | "nonce"

const refused = (reason: Wrong) =>
  Effect.andThen(Metric.update(Metric.withAttributes(refusals, { reason }), 1), new Unauthorized())

/** A request as it came in, before anything was decoded. */
export interface RawRequest {
  readonly method: string
  readonly rawTarget: string
  /** Names and values in turn, duplicates included, as node:http gives them. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Empty for GET and DELETE, whatever was sent with them. */
  readonly body: Uint8Array
}

/** Says who signed a request (contract SIG-1 to SIG-15). Every failure is the same Unauthorized. */
export class Authentication extends Context.Service<
  Authentication,
  {
    /** Spends the nonce, but only once the signature verified: nobody else can fill the store. */
    readonly authenticate: (request: RawRequest) => Effect.Effect<Caller, Unauthorized>
  }
>()("gateway/services/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function* () {
      const tenants = yield* Tenants
      const nonces = yield* Nonces
      const vault = yield* Vault
      const policy = yield* Policy
      const window = { maxAgeSeconds: policy.signatureMaxAgeSeconds, maxAheadSeconds: policy.signatureMaxAheadSeconds }
      const hosts = new Set(policy.publicHosts.map((host) => host.toLowerCase()))
      // An unknown key is checked against these, so that it takes as long as a wrong one.
      const noSecret = Redacted.make("no such key has a secret")
      const noHash = new Uint8Array(32)

      const authenticate = Effect.fnUntraced(function* (request: RawRequest) {
        const claims = claimsOf(request)
        if (Option.isNone(claims)) return yield* refused("headers")
        const { key, host, timestamp, nonce, sent, text } = claims.value
        if (hosts.size > 0 && !hosts.has(host.toLowerCase())) return yield* refused("host")
        const now = yield* Clock.currentTimeMillis
        if (!isInSignatureWindow(timestamp, now, window)) return yield* refused("timestamp")
        const found = Option.getOrUndefined(yield* tenants.signingKey(key.appId, key.keyId))
        const signed = timingSafeEqual(signature(found?.signingSecret ?? noSecret, text), Buffer.from(sent, "hex"))
        const keyed = timingSafeEqual(vault.hash("api_key", Redacted.make(key.apiKey)), found?.apiKeyHash ?? noHash)
        if (found === undefined) return yield* refused("unknown_key")
        const kept = now + policy.nonceKeptSeconds * 1000
        const wrong = !signed
          ? "signature"
          : !keyed
            ? "api_key"
            : (yield* nonces.spend(found.caller, nonce, kept))
              ? null
              : "nonce"
        if (wrong !== null) return yield* Effect.andThen(logRefusal(wrong, found.caller), refused(wrong))
        return found.caller
      }, inSpan("Authentication.authenticate"))
      return Authentication.of({ authenticate })
    })
  )
}

/** A tenant's own mistake is told by its name; what a stranger claims to be is not written down. */
const logRefusal = (reason: Wrong, { appId, keyId }: Caller) =>
  Effect.logWarning("a known key's request was refused").pipe(Effect.annotateLogs({ app_id: appId, key_id: keyId, note: reason }))

/** What the signing headers claim; none when one is missing, doubled or malformed. */
const claimsOf = (request: RawRequest) =>
  Option.gen(function* () {
    const only = singles(request.rawHeaders)
    const host = yield* only("host")
    const key = yield* Option.flatMap(only("x-gateway-key"), parseKeyHeader)
    const timestamp = yield* only("x-gateway-timestamp")
    const nonce = yield* Option.filter(only("x-gateway-nonce"), isNonce)
    const sent = yield* Option.flatMap(only("x-gateway-signature"), parseSignature)
    const text = yield* canonicalText({
      appId: key.appId,
      keyId: key.keyId,
      host,
      method: request.method,
      target: request.rawTarget,
      timestamp,
      nonce,
      bodyHash: bodyHash(request.body)
    })
    return { host, key, timestamp, nonce, sent, text }
  })

/** The values of the headers that were sent exactly once, by their names in lower case. */
const singles = (rawHeaders: ReadonlyArray<string>) => {
  const values = new Map<string, string | null>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ""
    values.set(name, values.has(name) ? null : (rawHeaders[at + 1] ?? null))
  }
  return (name: string): Option.Option<string> => Option.fromNullishOr(values.get(name))
}
