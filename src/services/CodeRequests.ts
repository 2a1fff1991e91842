import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import { ProviderError, RateLimited } from "../domain/errors/Retriable.ts"
import {
  type CapabilityNotAllowed,
  CorridorUnsupported,
  ProviderCapabilityUnsupported,
  type ScreeningDenied,
  type TenantFrozen,
  ValidationFailed
} from "../domain/errors/Terminal.ts"
import { iso } from "../domain/Instant.ts"
import { type MomoParty, masked } from "../domain/Party.ts"
import type { Caller } from "../domain/Tenant.ts"
import { Admission, knownNetwork } from "./Admission.ts"
import { codeAction } from "./Charging.ts"
import { PartyChecks } from "./PartyChecks.ts"
import { Codes } from "./ports/Codes.ts"
import { Corridors } from "./ports/Corridors.ts"
import { Policy } from "./ports/Policy.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"
import { Vault } from "./ports/Vault.ts"

/** Codes that one number of a tenant may be sent by hand within the window (decisions.md section 6). */
const CODES_AT_MOST = 3
const WINDOW_MS = 10 * 60_000

export interface CodeCommand {
  readonly country: string
  readonly source: MomoParty
}

export type CodeRequestRefusal =
  | CapabilityNotAllowed
  | TenantFrozen
  | CorridorUnsupported
  | ScreeningDenied
  | ValidationFailed
  | RateLimited
  | ProviderCapabilityUnsupported
  | ProviderError

/** The answer of `POST /v1/collections/otp`. */
export interface SentCode {
  readonly pin_id: string
  readonly message: string
  readonly masked_msisdn: string
  readonly expires_at: string
}

/** Codes that a caller asks for by hand, to create a collection with them (interface.md, "POST /v1/collections/otp"). */
export class CodeRequests extends Context.Service<
  CodeRequests,
  {
    /** Texts a code to the payer; records and charges nothing. */
    readonly send: (caller: Caller, command: CodeCommand) => Effect.Effect<SentCode, CodeRequestRefusal>
  }
>()("gateway/services/CodeRequests") {
  static readonly layer = Layer.effect(
    CodeRequests,
    Effect.gen(function* () {
      const admission = yield* Admission
      const checks = yield* PartyChecks
      const corridors = yield* Corridors
      const registry = yield* ProviderRegistry
      const codes = yield* Codes
      const vault = yield* Vault
      const policy = yield* Policy

      /** A country's momo collections: the active row, or the refusal that names the one which is not. */
      const corridorIn = Effect.fnUntraced(function* (country: string) {
        const rows = (yield* corridors.list).filter(
          (row) => row.country === country && row.direction === "collection" && row.method === "momo"
        )
        const row = rows.find(({ active }) => active) ?? rows[0]
        if (row === undefined)
          return yield* new ValidationFailed({ issues: [{ path: "country", message: "no collections are made there" }] })
        const { currency, direction, method } = row
        if (!row.active) return yield* new CorridorUnsupported({ country, currency, direction, method })
        return row
      })

      const send = Effect.fn("CodeRequests.send")(function* (caller: Caller, { country, source }: CodeCommand) {
        yield* admission.mayMove(caller, "collections")
        const corridor = yield* corridorIn(country)
        if (source.country !== country)
          return yield* new ValidationFailed({
            issues: [{ path: "source.country", message: "must be the request's own country" }]
          })
        yield* knownNetwork(corridor, country, source.network, "source.network")
        yield* checks.payer(source, null)
        const port = Option.getOrUndefined(registry.find(corridor.provider, caller.mode))?.collections
        if (port === undefined) return yield* new ProviderError({})
        if (port.sendCode === undefined)
          return yield* new ProviderCapabilityUnsupported({ capability: "collections", reason: "provider_not_supported" })
        const { appId, mode } = caller
        const at = yield* Clock.currentTimeMillis
        const number = { appId, mode, partyHash: vault.hash("party", source.msisdn) }
        const freeAt = yield* codes.request(number, at, CODES_AT_MOST, WINDOW_MS)
        if (freeAt !== null)
          return yield* new RateLimited({ scope: "number", retry_after_seconds: Math.max(1, Math.ceil((freeAt - at) / 1000)) })
        const { pinId } = yield* port.sendCode(source)
        const { expiresAt, message } = codeAction(source, pinId, at + policy.otpExpiryMs)
        return { pin_id: pinId, message, masked_msisdn: masked(Redacted.value(source.msisdn)), expires_at: iso(expiresAt) }
      })

      return CodeRequests.of({ send })
    })
  )
}
