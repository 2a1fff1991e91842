import { Clock, Context, Effect, Option, Redacted } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { AmountBelowMinimum } from "../../domain/errors/Terminal.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedNumber } from "../../domain/Masking.ts"
import { type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { Collection } from "../../domain/Payment.ts"
import type { AccountFingerprint } from "../../domain/ProviderAccount.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { CapturedCall } from "../../runtime/CapturedCall.ts"
import { orPassOver, outsideLimits } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Codes, type SentCode } from "../ports/Codes.ts"
import type { Claim } from "../ports/Idempotency.ts"
import { Policy } from "../ports/Policy.ts"
import {
  type ChargeOrder,
  type ChargeOutcome,
  type CodeRejected,
  type CollectionOperations,
  type Otp
} from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { Vault } from "../ports/Vault.ts"
import { Failover } from "../routing/Failover.ts"
import { isOfNetworkLimits, requireWithinNetworkLimits } from "../routing/NetworkLimits.ts"
import { firstToSucceed, type RoutedProvider, Routes } from "../routing/Routes.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"

/** How many wrong codes a transaction allows (contract CODE-6). */
export const WRONG_CODES_AT_MOST = 5

/** A charge whose record is written and whose payer has no other charge in progress. */
export interface Placement extends Pick<ChargeOrder, "corridor" | "source" | "otp" | "redirectUrl" | "payer"> {
  readonly collection: Collection
  readonly partyHash: Uint8Array
  /** The request's key; null when it sent none. */
  readonly claim: Claim | null
  /** When the record was written, or leased for its code. After too long a suspension it is not sent. */
  readonly takenAt: Instant
  /** `create` stores a wrong code as its response; `authorize` forgets its key, because another code may be tried with it. */
  readonly by: "create" | "authorize"
}

const successStatuses = { create: 201, authorize: 200 } as const

export type Charger = RoutedProvider<CollectionOperations>

/** The providers that reach the payer: not every provider of a row charges each of its networks. */
export const chargersFor = (chargers: ReadonlyArray<Charger>, payer: MomoParty, currency: Currency): ReadonlyArray<Charger> =>
  chargers.filter(({ operations }) => operations.reachesNetwork?.(payer, currency) ?? true)

/** The first provider that accepts a charge, and those after it; when none does, the first one's refusal. */
export const firstToTake = <E extends { readonly _tag: string }>(
  chargers: ReadonlyArray<Charger>,
  takes: (charger: Charger) => Effect.Effect<void, E>
) =>
  firstToSucceed(
    chargers,
    (charger, index) => Effect.as(takes(charger), { charger, others: chargers.slice(index + 1) }),
    (error) => error._tag === "provider_error" || isOfNetworkLimits(error)
  )

type Priced = Pick<Collection, "amount" | "corridor" | "currency" | "network" | "createdAt">

/**
 * The contract fee of a charge when it is opened. It stays the charge's fee on every node, whatever the contract says later.
 * Null when the provider's responses name the fee; undefined when the contract does not cover it: it is refused.
 */
export const contractFeeOf = (
  operations: Pick<CollectionOperations, "contractFee"> | undefined,
  { amount, corridor: { country, method }, createdAt: at, currency, network }: Priced
): MinorUnits | null | undefined =>
  operations?.contractFee === undefined ? null : operations.contractFee({ amount, at, country, currency, method, network })

/** How often the amount is raised to the fee of the one before it. A flat fee needs one step, and a share of 10 % beside it nine. */
const STEPS_AT_MOST = 64

/** Refuses a charge that costs more than it brings. `minimum_minor`: the least amount above it that covers its own fee. */
export const requireFeeCovered = Effect.fnUntraced(function* (operations: CollectionOperations, priced: Priced) {
  let covered = priced.amount
  for (let steps = 0; steps < STEPS_AT_MOST; steps++) {
    const fee = contractFeeOf(operations, { ...priced, amount: covered }) ?? ZERO
    if (fee <= covered) break
    covered = fee
  }
  if (covered > priced.amount) return yield* new AmountBelowMinimum({ minimum_minor: covered, method: priced.corridor.method })
})

/** Whether a code from that account can be submitted to this charger; null matches any. */
const isOf = ({ provider }: Charger, account: AccountFingerprint | null, currency: Currency): boolean =>
  account === null || provider.fingerprints(currency).includes(account)

/** Places charges, with or without a code, and applies the answers. */
export class ChargeDispatch extends Context.Service<
  ChargeDispatch,
  {
    /**
     * Places a charge once. A wrong code leaves the transaction open. So does a code that this account did not send to this
     * payer for this tenant and mode; it is not passed on to the provider. No response to a code means that a charge may have
     * been placed. A charge that provably never left is moved to the first of `others` that is ready, and then sent there; a
     * code belongs to the provider that sent it.
     */
    readonly place: (
      charger: Charger,
      placement: Placement,
      others?: ReadonlyArray<Charger>
    ) => Effect.Effect<Transaction, FinalError | UnknownOutcomeError>
    /** The same chargers; the first one with the account that sent the code, when accounts were switched since. */
    readonly senderFirst: (
      chargers: ReadonlyArray<Charger>,
      code: Omit<SentCode, "account">,
      currency: Currency
    ) => Effect.Effect<ReadonlyArray<Charger>>
    /** The keyed hash of a code for one transaction. */
    readonly codeHash: (reference: Reference, otp: Otp) => Uint8Array
  }
>()("gateway/services/ChargeDispatch") {
  static readonly layer = layerOf(ChargeDispatch)(function* () {
    const codes = yield* Codes
    const settlement = yield* Settlement
    const vault = yield* Vault
    const policy = yield* Policy
    const routes = yield* Routes
    const failover = yield* Failover
    const registry = yield* ProviderRegistry

    const codeHash = (reference: Reference, { pin, pinId }: Otp) =>
      vault.hash("code", Redacted.make(`${reference}|${pinId}|${Redacted.value(pin)}`))

    const rejectCode = Effect.fnUntraced(function* (placement: Placement, otp: Otp, { note }: CodeRejected) {
      const { by, claim, collection, partyHash, source } = placement
      const { appId, mode, reference } = collection
      const stored = yield* codes.wrong({
        appId,
        mode,
        reference,
        partyHash,
        codeHash: codeHash(reference, otp),
        claim: by === "authorize" ? claim : null
      })
      const fact = {
        _tag: "WrongCode",
        pinId: otp.pinId,
        message: codeMessage(source),
        expiresAt: collection.createdAt + policy.otpExpiryMs,
        attemptsRemaining: Math.max(0, WRONG_CODES_AT_MOST - stored),
        note
      } as const
      const kept = by === "create" ? claim : null
      const applied = yield* settlement.apply({ reference, fact, actor: "request", claim: kept })
      return yield* Effect.fromResult(outcomeResponse(applied, fact))
    })

    /** The fees come from the contract as it was when the charge was opened, as for the first provider. */
    const firstReady = (chargers: ReadonlyArray<Charger>, { collection, corridor, source }: Placement) => {
      const priced = chargers.flatMap((charger) => {
        const fee = contractFeeOf(charger.operations, collection)
        return fee === undefined || (fee ?? ZERO) > collection.amount ? [] : [{ ...charger, fee }]
      })
      return Effect.option(
        firstToSucceed(
          priced,
          ({ fee, operations: port, provider }, index) =>
            routes
              .requireReady(provider, "charge")
              .pipe(
                Effect.andThen(
                  requireWithinNetworkLimits(port, source, corridor, collection.amount).pipe(
                    orPassOver(provider.name, outsideLimits)
                  )
                ),
                Effect.andThen(routes.requireTurn(provider, corridor.country)),
                Effect.as({ provider, fee, offer: { port, fee, others: priced.slice(index + 1) } })
              ),
          () => true
        )
      )
    }

    const applyOutcome = Effect.fnUntraced(function* (placement: Placement, outcome: ChargeOutcome, raw: CapturedCall | null) {
      const { by, claim, collection, otp } = placement
      const { reference } = collection
      if (outcome._tag === "CodeRejected") {
        if (otp === null) return yield* Effect.die(new Error("a code was refused that was not sent"))
        return yield* rejectCode(placement, otp, outcome)
      }
      if (otp !== null && (outcome._tag === "Accepted" || outcome._tag === "Unknown")) {
        const expiresAt = (yield* Clock.currentTimeMillis) + policy.collectionExpiryMs
        yield* settlement.apply({ reference, fact: { _tag: "Charged", expiresAt, note: "" }, actor: "request" })
      }
      const successStatus = successStatuses[by]
      const applied = yield* settlement.apply({ reference, fact: outcome, actor: "request", claim, successStatus, raw })
      return yield* Effect.fromResult(outcomeResponse(applied, outcome))
    })

    return {
      codeHash,

      place: Effect.fn("ChargeDispatch.place")(function* (charger, placement, others: ReadonlyArray<Charger> = []) {
        const { collection, corridor, otp, partyHash, payer, redirectUrl, source, takenAt } = placement
        const { amount, appId, currency, mode, narration, reference } = collection
        if (otp !== null) {
          const sender = yield* codes.sentBy({ appId, mode, partyHash, pinId: otp.pinId })
          if (!Option.exists(sender, (account) => isOf(charger, account, currency)))
            return yield* rejectCode(placement, otp, notOwn)
        }
        const order = { reference, corridor, amount, source, redirectUrl, narration, payer, otp }
        const { outcome, raw } = yield* failover.send({
          record: collection,
          recordedAt: takenAt,
          first: { port: charger.operations, fee: collection.contractFee ?? null, others },
          send: ({ fee, port }) => port.charge(fee === null ? order : { ...order, contractFee: fee }),
          nextAfter: (offer) => (otp === null ? firstReady(offer.others, placement) : Effect.succeedNone)
        })
        return yield* applyOutcome(placement, outcome, raw)
      }),

      senderFirst: Effect.fnUntraced(function* ([first, ...others], code, currency) {
        if (first === undefined) return []
        const sender = Option.getOrNull(yield* codes.sentBy(code))
        const accounts = registry
          .accounts(first.provider.name, code.mode)
          .flatMap((provider) => (provider.collections ? [{ provider, operations: provider.collections }] : []))
        return [accounts.find((one) => isOf(one, sender, currency)) ?? first, ...others]
      })
    }
  })
}

const notOwn: CodeRejected = { _tag: "CodeRejected", note: "no such code was sent to this payer" }

const codeMessage = ({ msisdn }: MomoParty): string =>
  `Ask the payer for the code that was sent to ${maskedNumber(Redacted.value(msisdn))}.`

/** The payer's next action: to enter the code that was sent. */
export const codeAction = (source: MomoParty, pinId: string, expiresAt: Instant) =>
  ({ _tag: "otp", pinId, message: codeMessage(source), expiresAt }) as const satisfies Collection["nextAction"]
