import { Clock, Context, Effect, Option, Redacted } from "effect"
import { type Corridor, type CorridorKey, corridorKeyOf, networkOf } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { DuplicateChargeInFlight } from "../../domain/errors/Ambiguous.ts"
import {
  type GlobalCeilingReached,
  type ProviderError,
  type RateLimited,
  RequestInProgress,
  type VelocityLimitExceeded
} from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  type AmountBelowMinimum,
  type CapabilityNotAllowed,
  CorridorUnsupported,
  invalid,
  type ScreeningDenied,
  type TenantFrozen,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedNumber } from "../../domain/Masking.ts"
import type { MomoParty } from "../../domain/Party.ts"
import { payerIdentity } from "../../domain/PartyIdentity.ts"
import type { Collection } from "../../domain/Payment.ts"
import { stampOf } from "../../domain/ProviderAccount.ts"
import { cheapestFirst } from "../../domain/RoutePreference.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { type WindowUse, windowsAt } from "../../domain/VelocityLimits.ts"
import { withMoneyTurn } from "../../runtime/CallTurn.ts"
import { orPassOver, outsideLimits, passOverOthers, rankByPrices } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import {
  Admission,
  requireNetwork,
  requireRedirectUrl,
  requireWithinCorridorBounds,
  shedWhereTooLate
} from "../admission/Admission.ts"
import { PartyScreening } from "../admission/PartyScreening.ts"
import { Velocity } from "../admission/Velocity.ts"
import { newRecord, recordOpener } from "../NewRecord.ts"
import type { Claim, FreshClaim } from "../ports/Idempotency.ts"
import { Policy } from "../ports/Policy.ts"
import { type ChargeOrder, type Otp, type Provider } from "../ports/Provider.ts"
import { Vault } from "../ports/Vault.ts"
import { requireWithinNetworkLimits } from "../routing/NetworkLimits.ts"
import { Routes } from "../routing/Routes.ts"
import type { FinalError, UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"
import { ChargeDispatch, type Charger, chargersFor, contractFeeOf, firstToTake, requireFeeCovered } from "./ChargeDispatch.ts"
import { ChargeGuard, type LastCharge } from "./ChargeGuard.ts"
import { codeSender } from "./CodeSender.ts"

export interface CollectionCommand extends Pick<ChargeOrder, "amount" | "redirectUrl" | "narration" | "payer"> {
  readonly currency: Currency
  readonly country: string
  readonly method: "momo" | "bank" | "card"
  readonly source: MomoParty | null
  /** JSON text of an object, compact. */
  readonly metadata: string
  /** The code that the payer entered; null starts the code flow in a corridor that requires one. */
  readonly otp: Otp | null
}

type ChargeRefusal =
  | CapabilityNotAllowed
  | TenantFrozen
  | ScreeningDenied
  | CorridorUnsupported
  | ValidationFailed
  | AmountAboveMaximum
  | AmountBelowMinimum
  | ProviderError
  | RequestInProgress
  | RateLimited
  | DuplicateChargeInFlight
  | VelocityLimitExceeded
  | GlobalCeilingReached
  | FinalError
  | UnknownOutcomeError

/** Money in: charging a payer (contract COL-1 to COL-13). */
export class Collections extends Context.Service<
  Collections,
  {
    /** The windows that must be read with the claim of `create`'s key; empty when no number is charged. */
    readonly windows: (caller: Caller, command: CollectionCommand) => Effect.Effect<ReadonlyArray<WindowUse>>
    /**
     * Admits the charge, commits the record while no other charge of the number blocks it, places the charge, and applies the
     * answer. When the corridor requires a code and none was given, a code is sent first, and the record waits for it as
     * `requires_action`. A refusal before the commit leaves nothing behind except a sent code; refusals come in the contract's
     * order. After the commit a `FinalError` is the outcome, and an `UnknownOutcomeError` leaves the collection open for the
     * poller.
     */
    readonly create: (caller: Caller, command: CollectionCommand, fresh: FreshClaim) => Effect.Effect<Transaction, ChargeRefusal>
  }
>()("gateway/services/Collections") {
  static readonly layer = layerOf(Collections)(function* () {
    const admission = yield* Admission
    const routes = yield* Routes
    const openRecord = yield* recordOpener
    const settlement = yield* Settlement
    const vault = yield* Vault
    const policy = yield* Policy
    const guard = yield* ChargeGuard
    const dispatch = yield* ChargeDispatch
    const velocity = yield* Velocity
    const screening = yield* PartyScreening
    const sendCode = yield* codeSender

    /** The providers that reach the payer and whose contract covers the charge. */
    const ableOf = Effect.fnUntraced(function* (
      providers: ReadonlyArray<Charger>,
      payer: MomoParty,
      priced: Parameters<typeof contractFeeOf>[1]
    ) {
      const reaching = chargersFor(providers, payer, priced.currency)
      yield* passOverOthers(providers, reaching, "network_unreached")
      const able = reaching.filter(({ operations }) => contractFeeOf(operations, priced) !== undefined)
      yield* passOverOthers(reaching, able, "no_contract_fee")
      return able
    })

    /** Sorts by contract fee, cheapest first. A provider whose responses name the fee cannot be compared and keeps its place. */
    const byContractFee = Effect.fnUntraced(function* (
      chargers: ReadonlyArray<Charger>,
      priced: Parameters<typeof contractFeeOf>[1]
    ) {
      const feeOf = ({ operations }: Charger) => contractFeeOf(operations, priced) ?? null
      const totalOf = (charger: Charger): bigint | null => {
        const fee = feeOf(charger)
        return fee === null ? null : priced.amount + fee
      }
      const ranked = cheapestFirst(chargers, (charger) => {
        const total = totalOf(charger)
        return total === null ? null : { total, arrives: priced.amount }
      })
      yield* rankByPrices(ranked.map((charger) => [charger.provider.name, totalOf(charger)] as const))
      return ranked
    })

    /** Skips providers whose calls are held back, unless all are. */
    const preferReady = Effect.fnUntraced(function* (chargers: ReadonlyArray<Charger>) {
      const ready = yield* Effect.filter(chargers, ({ provider }) => Effect.isSuccess(routes.requireReady(provider, "charge")))
      return ready.length > 0 ? ready : chargers
    })

    /** Everything that can be refused before a provider is called, in the contract's order. Its reads are usually cached. */
    const admit = Effect.fnUntraced(function* (caller: Caller, command: CollectionCommand, fresh: FreshClaim) {
      const { country, currency, method, source } = command
      const key: CorridorKey = { country, currency, direction: "collection", method }
      yield* admission.requireMoneyCapability(caller, "collections", fresh.tenant)
      const corridor = yield* admission.corridor(key)
      // A code belongs to the provider that sent it, so providers that send codes keep the row's order.
      const isByCode = command.otp !== null || corridor.customerAction === "otp"
      const preferred = isByCode || source === null ? null : (networkOf(corridor, country, source.network) ?? null)
      const route = yield* routes.forPayment(caller, corridor, ({ collections }) => collections, preferred)
      const { providers } = route
      if (source === null || providers.length === 0) return yield* new CorridorUnsupported(key)
      if (source.country !== country) return yield* invalid("source.country", "must be the charge's own country")
      const network = yield* requireNetwork(corridor, source.country, source.network, "source.network")
      const priced = { ...command, corridor, network, createdAt: yield* Clock.currentTimeMillis }
      const able = yield* ableOf(providers, { ...source, network }, priced)
      const chargers = route.keptUntil === null && route.compared.length > 0 ? yield* byContractFee(able, priced) : able
      const number = { appId: caller.appId, mode: caller.mode, partyHash: vault.hash("party", payerIdentity(source)) }
      // The payer's code belongs to the provider that is asked for codes, the first one, and to the account that sent it.
      const [first, ...next] = yield* command.otp === null
        ? preferReady(chargers)
        : dispatch.senderFirst(chargers, { ...number, pinId: command.otp.pinId }, command.currency)
      if (first === undefined) return yield* new CorridorUnsupported(key)
      yield* requireRedirectUrl(corridor, command.redirectUrl)
      yield* admission.requireUnderTestCeiling(caller, command.amount, command.currency)
      yield* screening.payer(source, command.payer)
      yield* requireWithinCorridorBounds(corridor, command.amount)
      yield* velocity.requireRoom(fresh.windows)
      const tried = command.otp === null ? [first, ...next] : [first]
      if (command.otp !== null) yield* passOverOthers(chargers, tried, "code_elsewhere")
      return { corridor, source: { ...source, network }, priced, number, chargers: tried }
    })

    const open = Effect.fnUntraced(function* (draft: Draft, payer: LastCharge | null) {
      const now = yield* Clock.currentTimeMillis
      const { caller, claim, code, command, corridor, partyHash } = draft
      const lifetimeMs = corridor.customerAction === "redirect" ? policy.redirectExpiryMs : policy.collectionExpiryMs
      const collection = newCollection(draft, now, code?.expiresAt ?? now + lifetimeMs)
      const { nextAction, status } = collection
      // Read again, because a cap may have been set while the charge waited for its turn. Usually cached.
      const counted = windowsAt(yield* shedWhereTooLate(velocity.windows(caller, "collection", partyHash, command)), now)
      const opened = yield* openRecord({
        claim,
        record: collection,
        entry: null,
        // A charge that needs an action of the payer gets its event when that action is known.
        event: status === "pending" || nextAction !== null ? `collection.${status}` : null,
        partyHash,
        counters: counted,
        ...(payer === null ? {} : { payer })
      })
      return { collection, counted, opened }
    })

    return {
      create: Effect.fn("Collections.create")(function* (caller, command, fresh) {
        const { corridor, source, priced, number, chargers } = yield* shedWhereTooLate(admit(caller, command, fresh))
        const { claim } = fresh
        const { partyHash } = number
        const takes = ({ operations, provider }: Charger) =>
          requireWithinNetworkLimits(operations, source, corridor, command.amount).pipe(
            Effect.andThen(requireFeeCovered(operations, priced)),
            orPassOver(provider.name, outsideLimits)
          )
        // When the corridor requires a code and none was given, a code is sent and nothing is charged yet.
        const texts = (charger: Charger) => Effect.andThen(routes.requireSwitchedOn(charger.provider), takes(charger))
        const texted = corridor.customerAction === "otp" && command.otp === null ? yield* firstToTake(chargers, texts) : null
        const account = texted && (stampOf(texted.charger.provider, command.currency).account ?? null)
        const code = texted && (yield* sendCode(texted.charger.operations, number, source, account))
        const draft = { caller, command, claim, corridor, network: source.network, code, partyHash }
        const openIfFree = Effect.fnUntraced(function* (payer: LastCharge) {
          // Not recorded when no provider accepts it. The guard has checked before, so a payer who was charged gets that answer.
          const chosen = yield* firstToTake(chargers, (charger) =>
            routes
              .requireReady(charger.provider, "charge")
              .pipe(Effect.andThen(takes(charger)), Effect.andThen(routes.requireTurn(charger.provider, command.country)))
          )
          const result = yield* open({ ...draft, provider: chosen.charger.provider }, payer)
          return Option.liftPredicate({ ...result, chosen }, ({ opened }) => opened._tag !== "PayerBusy")
        })
        const { chosen, collection, counted, opened } = yield* texted === null
          ? guard.placeWhenFree({ ...number, own: claim.reference }, openIfFree)
          : Effect.map(open({ ...draft, provider: texted.charger.provider }, null), (result) => ({ ...result, chosen: texted }))
        if (opened._tag === "OverCap") return yield* velocity.refusal(counted[opened.counter])
        if (opened._tag !== "Opened") return yield* new RequestInProgress({})
        const codeSent = { reference: claim.reference, fact: { _tag: "CodeSent", note: "" }, actor: "request", claim } as const
        if (code !== null) return yield* settlement.apply(codeSent)

        const { otp, payer, redirectUrl } = command
        const payment = { corridor, source, partyHash, otp, redirectUrl, payer, collection, claim }
        return yield* dispatch.place(chosen.charger, { ...payment, takenAt: collection.createdAt, by: "create" }, chosen.others)
      }, withMoneyTurn),

      windows: (caller, { amount, currency, source }) =>
        source === null
          ? Effect.succeed([])
          : velocity.windows(caller, "collection", vault.hash("party", payerIdentity(source)), { amount, currency })
    }
  })
}

interface Draft {
  readonly caller: Caller
  readonly command: CollectionCommand
  readonly claim: Claim
  readonly corridor: Corridor
  readonly provider: Provider
  readonly network: string
  /** The code that was sent for it; null when the charge is placed at once. */
  readonly code: Collection["nextAction"]
  readonly partyHash: Uint8Array
}

/** A charge on a provider's page, or that needs or has a code, starts as `requires_action`; any other is `pending` at once. */
const newCollection = (
  { caller, claim, code, command, corridor, network, provider }: Draft,
  createdAt: Instant,
  expiresAt: Instant
): Collection => {
  const fee = contractFeeOf(provider.collections, { ...command, corridor, network, createdAt }) ?? null
  return {
    ...newRecord(caller, claim, createdAt),
    kind: "collection",
    status: code !== null || command.otp !== null || corridor.customerAction === "redirect" ? "requires_action" : "pending",
    provider: provider.name,
    ...stampOf(provider, command.currency),
    amount: command.amount,
    amountCurrency: command.currency,
    currency: command.currency,
    fees: null,
    corridor: corridorKeyOf(corridor),
    network,
    narration: command.narration,
    metadata: command.metadata,
    expiresAt,
    observedAmount: null,
    observedCurrency: null,
    maskedSource: command.source === null ? null : maskedNumber(Redacted.value(command.source.msisdn)),
    nextAction: code,
    lateSuccess: false,
    reversed: null,
    ...(fee === null ? {} : { contractFee: fee })
  }
}
