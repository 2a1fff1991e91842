import { Context, Effect, Redacted } from "effect"
import { corridorKeyOf } from "../../domain/Corridor.ts"
import type { ProviderError, RateLimited } from "../../domain/errors/Retriable.ts"
import {
  type CapabilityNotAllowed,
  CorridorUnsupported,
  invalid,
  ProviderCapabilityUnsupported,
  type ScreeningDenied,
  type TenantFrozen,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import { iso } from "../../domain/Instant.ts"
import { maskedNumber } from "../../domain/Masking.ts"
import type { MomoParty } from "../../domain/Party.ts"
import { payerIdentity } from "../../domain/PartyIdentity.ts"
import { stampOf } from "../../domain/ProviderAccount.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Admission, requireNetwork } from "../admission/Admission.ts"
import { PartyScreening } from "../admission/PartyScreening.ts"
import { Corridors } from "../ports/Corridors.ts"
import { Vault } from "../ports/Vault.ts"
import { Routes } from "../routing/Routes.ts"
import { chargersFor } from "./ChargeDispatch.ts"
import { codeSender } from "./CodeSender.ts"

export interface SendOtpCommand {
  readonly country: string
  readonly source: MomoParty
}

type CodeRequestRefusal =
  | CapabilityNotAllowed
  | TenantFrozen
  | CorridorUnsupported
  | ScreeningDenied
  | ValidationFailed
  | RateLimited
  | ProviderCapabilityUnsupported
  | ProviderError

/** The response of `POST /v1/collections/otp`. */
export interface SentCode {
  readonly pin_id: string
  readonly message: string
  readonly masked_msisdn: string
  readonly expires_at: string
}

/** Codes that a caller requests explicitly, to create a collection with them (contract CODE-11). */
export class CodeRequests extends Context.Service<
  CodeRequests,
  {
    /** Sends a code to the payer; records and charges nothing. */
    readonly send: (caller: Caller, command: SendOtpCommand) => Effect.Effect<SentCode, CodeRequestRefusal>
  }
>()("gateway/services/CodeRequests") {
  static readonly layer = layerOf(CodeRequests)(function* () {
    const admission = yield* Admission
    const screening = yield* PartyScreening
    const corridors = yield* Corridors
    const routes = yield* Routes
    const sendCode = yield* codeSender
    const vault = yield* Vault

    /** A country's momo collection corridor: the active row, or the refusal for the inactive one. */
    const corridorIn = Effect.fnUntraced(function* (country: string) {
      const rows = (yield* corridors.list).filter(
        (row) => row.country === country && row.direction === "collection" && row.method === "momo"
      )
      const row = rows.find(({ active }) => active) ?? rows[0]
      if (row === undefined) return yield* invalid("country", "no collections are made there")
      if (!row.active) return yield* new CorridorUnsupported(corridorKeyOf(row))
      return row
    })

    const send = Effect.fn("CodeRequests.send")(function* (caller: Caller, { country, source }: SendOtpCommand) {
      yield* admission.requireMoneyCapability(caller, "collections")
      const corridor = yield* corridorIn(country)
      if (source.country !== country) return yield* invalid("source.country", "must be the request's own country")
      const network = yield* requireNetwork(corridor, country, source.network, "source.network")
      yield* screening.payer(source, null)
      const providers = yield* routes.forCorridor(caller, corridor, ({ collections }) => collections)
      const [first] = chargersFor(providers, { ...source, network }, corridor.currency)
      if (first === undefined) return yield* new CorridorUnsupported(corridorKeyOf(corridor))
      // A code belongs to the provider that sends it, and a charge with it goes to the first provider.
      yield* routes.requireSwitchedOn(first.provider)
      const port = first.operations
      const account = stampOf(first.provider, corridor.currency).account ?? null
      if (port.sendCode === undefined)
        return yield* new ProviderCapabilityUnsupported({ capability: "collections", reason: "provider_not_supported" })
      const { appId, mode } = caller
      const number = { appId, mode, partyHash: vault.hash("party", payerIdentity(source)) }
      const { expiresAt, message, pinId } = yield* sendCode(port, number, source, account)
      return { pin_id: pinId, message, masked_msisdn: maskedNumber(Redacted.value(source.msisdn)), expires_at: iso(expiresAt) }
    })

    return { send }
  })
}
