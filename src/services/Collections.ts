import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import type { Corridor, CorridorKey } from "../domain/Corridor.ts"
import type { Currency } from "../domain/Currency.ts"
import { freeze } from "../domain/Event.ts"
import { ProviderError, RequestInProgress } from "../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  type AmountBelowMinimum,
  type CapabilityNotAllowed,
  CorridorUnsupported,
  TenantFrozen,
  ValidationFailed
} from "../domain/errors/Terminal.ts"
import type { Instant } from "../domain/Instant.ts"
import type { MinorUnits } from "../domain/Money.ts"
import { type MomoParty, masked, type PayerDetails } from "../domain/Party.ts"
import type { Caller } from "../domain/Tenant.ts"
import type { Collection, Transaction } from "../domain/Transaction.ts"
import { transactionView } from "../domain/View.ts"
import { Admission, knownNetwork, withinWindow } from "./Admission.ts"
import { answerTo, type FinalRefusal, type OpenRefusal } from "./Answering.ts"
import { FloatLedger, type OpenStep } from "./ports/FloatLedger.ts"
import type { Claim } from "./ports/Idempotency.ts"
import { Identifiers } from "./ports/Identifiers.ts"
import { Policy } from "./ports/Policy.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"
import { Vault } from "./ports/Vault.ts"
import { Settlement } from "./Settlement.ts"

export interface CollectionCommand {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly country: string
  readonly method: "momo" | "bank" | "card"
  readonly source: MomoParty | null
  readonly redirectUrl: string | null
  readonly narration: string | null
  /** Compact JSON text of an object. */
  readonly metadata: string
  readonly payer: PayerDetails | null
}

export type ChargeRefusal =
  | CapabilityNotAllowed
  | TenantFrozen
  | CorridorUnsupported
  | ValidationFailed
  | AmountAboveMaximum
  | AmountBelowMinimum
  | ProviderError
  | RequestInProgress
  | FinalRefusal
  | OpenRefusal

/** Money in: charging a payer (interface.md, "POST /v1/collections"). */
export class Collections extends Context.Service<
  Collections,
  {
    /** Records the charge, then places it, then settles what was answered. Refusals come in the contract's order. */
    readonly create: (caller: Caller, command: CollectionCommand, claim: Claim) => Effect.Effect<Transaction, ChargeRefusal>
  }
>()("gateway/services/Collections") {
  static readonly layer = Layer.effect(
    Collections,
    Effect.gen(function* () {
      const admission = yield* Admission
      const registry = yield* ProviderRegistry
      const ledger = yield* FloatLedger
      const settlement = yield* Settlement
      const identifiers = yield* Identifiers
      const vault = yield* Vault
      const policy = yield* Policy

      const create = Effect.fn("Collections.create")(function* (caller: Caller, command: CollectionCommand, claim: Claim) {
        const key: CorridorKey = {
          country: command.country,
          currency: command.currency,
          direction: "collection",
          method: command.method
        }
        yield* admission.mayMove(caller, "collections")
        const corridor = yield* admission.corridor(key)
        const source = command.source
        if (source === null) return yield* new CorridorUnsupported(key)
        if (source.country !== command.country) {
          return yield* new ValidationFailed({
            issues: [{ path: "source.country", message: "must be the charge's own country" }]
          })
        }
        const network = yield* knownNetwork(corridor, source.country, source.network, "source.network")
        yield* admission.underCeiling(caller, command.amount, command.currency)
        yield* withinWindow(corridor, command.amount)
        const provider = registry.find(corridor.provider, caller.mode)
        if (Option.isNone(provider)) return yield* new ProviderError({})
        const collections = provider.value.collections
        if (collections === undefined) return yield* new CorridorUnsupported(key)

        const now = yield* Clock.currentTimeMillis
        const window = corridor.customerAction === "redirect" ? policy.redirectExpiryMs : policy.collectionExpiryMs
        const collection = opening(caller, command, claim, corridor, network, now, now + window)
        const opened = yield* ledger.open({
          ...(yield* openStep(collection, claim)),
          partyHash: vault.hash("party", source.msisdn),
          nextAskAt: now + (policy.askSchedule.open[0] ?? window)
        })
        if (opened._tag === "Frozen") return yield* new TenantFrozen({})
        if (opened._tag !== "Opened") return yield* new RequestInProgress({})

        const outcome = yield* collections.charge({
          reference: claim.reference,
          corridor,
          amount: command.amount,
          source: { ...source, network },
          redirectUrl: command.redirectUrl,
          narration: command.narration,
          payer: command.payer
        })
        const settled = yield* settlement.apply(claim.reference, outcome, "request", claim)
        return yield* Effect.fromResult(answerTo(settled, outcome))
      })

      const openStep = Effect.fnUntraced(function* (collection: Collection, claim: Claim) {
        const { appId, createdAt: at, mode, reference, status } = collection
        const event =
          status === "pending"
            ? freeze(
                { id: yield* identifiers.reference, appId, mode, type: "collection.pending", reference, at },
                transactionView(collection)
              )
            : null
        return {
          claim,
          transaction: collection,
          entry: null,
          line: { at, actor: "request", fact: "Opened", note: "", status },
          event,
          sealedDestination: null
        } satisfies Partial<OpenStep>
      })

      return Collections.of({ create })
    })
  )
}

/** A charge that ends on a page of the provider starts as `requires_action`; every other one is `pending` from the first moment. */
const opening = (
  caller: Caller,
  command: CollectionCommand,
  claim: Claim,
  corridor: Corridor,
  network: string,
  createdAt: Instant,
  expiresAt: Instant
): Collection => ({
  kind: "collection",
  status: corridor.customerAction === "redirect" ? "requires_action" : "pending",
  reference: claim.reference,
  appId: caller.appId,
  mode: caller.mode,
  provider: corridor.provider,
  providerReference: null,
  needsReview: false,
  amount: command.amount,
  amountCurrency: command.currency,
  currency: command.currency,
  fees: null,
  corridor: { country: corridor.country, currency: corridor.currency, direction: corridor.direction, method: corridor.method },
  network,
  narration: command.narration,
  metadata: command.metadata,
  version: 1,
  failure: null,
  createdAt,
  updatedAt: createdAt,
  completedAt: null,
  expiresAt,
  asked: 0,
  notFound: 0,
  observedAmount: null,
  observedCurrency: null,
  maskedSource: command.source === null ? null : masked(Redacted.value(command.source.msisdn)),
  nextAction: null,
  lateSuccess: false
})
