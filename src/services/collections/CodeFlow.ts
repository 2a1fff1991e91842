import { Clock, Context, Effect, Option, Redacted, Result } from "effect"
import { waitsForCode } from "../../domain/CollectionMoves.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import type { DuplicateChargeInFlight } from "../../domain/errors/Ambiguous.ts"
import { OtpIncorrect, ProviderError, RateLimited, RequestInProgress } from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  type AmountBelowMinimum,
  type CapabilityNotAllowed,
  type CorridorUnsupported,
  invalid,
  NotFound,
  type ScreeningDenied,
  TenantFrozen,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedNumber } from "../../domain/Masking.ts"
import { msisdnOf } from "../../domain/Msisdn.ts"
import type { MomoParty } from "../../domain/Party.ts"
import { payerIdentity } from "../../domain/PartyIdentity.ts"
import type { Collection } from "../../domain/Payment.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { withMoneyTurn } from "../../runtime/CallTurn.ts"
import { beginCandidates, orPassOver, outsideLimits } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Admission, requireNetwork } from "../admission/Admission.ts"
import { PartyScreening } from "../admission/PartyScreening.ts"
import { type CodeAttemptOutcome, Codes } from "../ports/Codes.ts"
import type { Claim } from "../ports/Idempotency.ts"
import { Policy } from "../ports/Policy.ts"
import type { Otp } from "../ports/Provider.ts"
import { ProviderRegistry, sentWith } from "../ports/ProviderRegistry.ts"
import { Transactions } from "../ports/Transactions.ts"
import { Vault } from "../ports/Vault.ts"
import { Records } from "../Records.ts"
import { requireWithinNetworkLimits } from "../routing/NetworkLimits.ts"
import { Routes } from "../routing/Routes.ts"
import { OutcomePoller } from "../settlement/OutcomePoller.ts"
import type { FinalError, UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"
import { ChargeDispatch, WRONG_CODES_AT_MOST } from "./ChargeDispatch.ts"
import { ChargeGuard } from "./ChargeGuard.ts"

export interface AuthorizeCommand {
  readonly reference: string
  readonly otp: Otp
  /** The payer again; in the record's country by default. */
  readonly source: { readonly msisdn: Redacted.Redacted; readonly network: string; readonly country: string | null }
}

type AuthorizeRefusal =
  | CapabilityNotAllowed
  | TenantFrozen
  | NotFound
  | CorridorUnsupported
  | ScreeningDenied
  | ValidationFailed
  | AmountAboveMaximum
  | AmountBelowMinimum
  | DuplicateChargeInFlight
  | OtpIncorrect
  | RateLimited
  | RequestInProgress
  | ProviderError
  | FinalError
  | UnknownOutcomeError

type Begun =
  | Exclude<CodeAttemptOutcome, { readonly _tag: "PayerBusy" | "Leased" }>
  | { readonly _tag: "Leased"; readonly wrong: number; readonly takenAt: Instant }
  | { readonly _tag: "Expired" }

/** The second half of the code flow (contract CODE-2 to CODE-10). */
export class CodeFlow extends Context.Service<
  CodeFlow,
  {
    /**
     * Places the charge of a transaction that waits for a code. Amount, currency and country are the record's. A transaction
     * that no longer waits for a code is returned as it is; nothing is charged twice, with or without a key. A code is
     * identified together with its pin_id, which may differ from the record's when the code was sent again on request. A code
     * that was not sent to this payer for this tenant and mode counts as a wrong code.
     */
    readonly authorize: (
      caller: Caller,
      command: AuthorizeCommand,
      claim: Claim | null
    ) => Effect.Effect<Transaction, AuthorizeRefusal>
  }
>()("gateway/services/CodeFlow") {
  static readonly layer = layerOf(CodeFlow)(function* () {
    const { admit, applyUnheard, collectionOf, unlessPlaced } = yield* chargeAdmission
    const transactions = yield* Transactions
    const registry = yield* ProviderRegistry
    const routes = yield* Routes
    const poller = yield* OutcomePoller
    const guard = yield* ChargeGuard
    const dispatch = yield* ChargeDispatch
    const codes = yield* Codes
    const policy = yield* Policy

    /** The provider that sent the code. Fails while calls to it are held back: the code is kept and can be submitted later. */
    const chargerOf = Effect.fnUntraced(function* (collection: Collection, source: MomoParty, corridor: Corridor) {
      const provider = Option.getOrUndefined(sentWith(registry, collection))
      yield* beginCandidates([collection.provider], provider?.collections === undefined ? "no_account" : "not_asked")
      if (provider?.collections === undefined) return yield* new ProviderError({})
      yield* routes.requireReady(provider, "charge")
      yield* requireWithinNetworkLimits(provider.collections, source, corridor, collection.amount).pipe(
        orPassOver(provider.name, outsideLimits)
      )
      yield* routes.requireTurn(provider, collection.corridor.country)
      return { provider, operations: provider.collections }
    })

    const authorize: CodeFlow["Service"]["authorize"] = Effect.fn("CodeFlow.authorize")(function* (caller, command, claim) {
      const admitted = yield* Effect.result(admit(caller, command))
      if (Result.isFailure(admitted)) return yield* unlessPlaced(caller, command, admitted.failure)
      const { collection, corridor, partyHash, source } = admitted.success
      if (collection.status !== "requires_action") return collection
      const action = collection.nextAction
      if (action === null) return yield* new RequestInProgress({ reference: collection.reference })
      if (action._tag !== "otp") return yield* invalid("authorization", "this collection does not wait for a code")
      const at = yield* Clock.currentTimeMillis
      if (at >= action.expiresAt) return yield* answerExpired(caller, collection)
      const charger = yield* chargerOf(collection, source, corridor)

      const { appId, mode, reference } = collection
      const attempt = {
        appId,
        mode,
        reference,
        partyHash,
        claim,
        at,
        codeHash: dispatch.codeHash(reference, command.otp),
        leaseMs: policy.idempotencyLeaseMs,
        wrongAtMost: WRONG_CODES_AT_MOST
      }
      // The guard may have polled the provider about earlier charges, so the clock is read just before the code is submitted.
      const attempted = yield* guard.placeWhenFree({ appId, mode, partyHash, own: reference }, ({ holder }) =>
        Effect.gen(function* (): Effect.fn.Return<Option.Option<Begun>> {
          const now = yield* Clock.currentTimeMillis
          if (now >= action.expiresAt) return Option.some({ _tag: "Expired" })
          const result = yield* codes.begin({ ...attempt, at: now, holder })
          if (result._tag === "PayerBusy") return Option.none()
          return Option.some(result._tag === "Leased" ? { ...result, takenAt: now } : result)
        })
      )
      switch (attempted._tag) {
        case "Leased": {
          const found = attempted.wrong > 0 ? yield* findCharge(collection, attempt) : Option.none()
          if (Option.isSome(found)) return found.value
          const payment = { collection, corridor, source, partyHash, otp: command.otp, redirectUrl: null, payer: null, claim }
          return yield* dispatch.place(charger, { ...payment, takenAt: attempted.takenAt, by: "authorize" })
        }
        case "Expired":
          return yield* answerExpired(caller, collection)
        case "Frozen":
          return yield* new TenantFrozen({})
        case "KnownWrong":
          return yield* new OtpIncorrect({ reference, attempts_remaining: WRONG_CODES_AT_MOST - attempted.wrong })
        case "Spent":
          return yield* new RateLimited({ scope: "code", retry_after_seconds: Math.ceil((action.expiresAt - at) / 1000) })
        case "Unheard":
          return yield* applyUnheard(collection, at)
        case "Busy":
        case "Moved":
          return yield* answerMoved(caller, collection)
      }
    }, withMoneyTurn)

    const answerMoved = Effect.fnUntraced(function* (caller: Caller, collection: Collection) {
      const now = yield* collectionOf(caller, collection.reference)
      return now.status === "requires_action" ? yield* new RequestInProgress({ reference: collection.reference }) : now
    })

    /**
     * A code of this charge was rejected as wrong, which the provider may contradict later. Another code is submitted only
     * after a poll has found nothing. Some: the record with what the poll found. When the provider does not answer, the code is
     * not used up.
     */
    const findCharge = Effect.fnUntraced(function* ({ reference }: Collection, attempt: Parameters<typeof codes.unsaid>[0]) {
      const stored = yield* transactions.byReference(reference)
      if (Option.isNone(stored)) return yield* Effect.die(new Error("a collection vanished"))
      const { isAbsent = false, record } = yield* poller.poll(stored.value, "request")
      if (isAbsent && waitsForCode(record)) return Option.none()
      yield* codes.unsaid(attempt)
      return waitsForCode(record) ? yield* new ProviderError({}) : Option.some(record)
    })

    const answerExpired = Effect.fnUntraced(function* (caller: Caller, collection: Collection) {
      const stored = yield* transactions.byReference(collection.reference)
      if (Option.isSome(stored)) yield* poller.poll(stored.value, "request")
      return yield* collectionOf(caller, collection.reference)
    })

    return { authorize }
  })
}

/** Who may authorize which charge, for which payer, and how a charge is answered that an earlier request may have placed. */
const chargeAdmission = Effect.gen(function* () {
  const admission = yield* Admission
  const screening = yield* PartyScreening
  const records = yield* Records
  const settlement = yield* Settlement
  const codes = yield* Codes
  const vault = yield* Vault
  const policy = yield* Policy

  const collectionOf = Effect.fnUntraced(function* (caller: Caller, reference: string) {
    const found = yield* records.transaction(caller, reference, "collection")
    return found.kind === "collection" ? found : yield* new NotFound({})
  })

  /** 422: a reference cannot go to another payer. The masked number is compared, and the keyed hash while it is stored. */
  const payerOf = Effect.fnUntraced(function* (collection: Collection, payer: MomoParty) {
    const { msisdn, network } = payer
    const partyHash = vault.hash("party", payerIdentity(payer))
    const stored = yield* codes.partyHash(collection.reference)
    const same =
      maskedNumber(Redacted.value(msisdn)) === collection.maskedSource &&
      Option.match(stored, { onNone: () => true, onSome: (hash) => Buffer.from(hash).equals(partyHash) })
    if (!same) return yield* invalid("source.msisdn", "must be the payer of this collection")
    return { partyHash, network }
  })

  const sourceOf = Effect.fnUntraced(function* (collection: Collection, { source }: AuthorizeCommand) {
    const country = source.country ?? collection.corridor.country
    if (country !== collection.corridor.country) return yield* invalid("source.country", "must be the charge's own country")
    const msisdn = msisdnOf(Redacted.value(source.msisdn), country)
    if (Option.isNone(msisdn))
      return yield* invalid("source.msisdn", "must be a phone number with its country's prefix and a possible length")
    return { _tag: "momo", msisdn: Redacted.make(msisdn.value), network: source.network, country } satisfies MomoParty
  })

  /** Refuses whatever the charge's state, in the contract's order. */
  const admit = Effect.fnUntraced(function* (caller: Caller, command: AuthorizeCommand) {
    yield* admission.requireMoneyCapability(caller, "collections")
    const collection = yield* collectionOf(caller, command.reference)
    const corridor = yield* admission.corridor(collection.corridor)
    const given = yield* sourceOf(collection, command)
    const network = yield* requireNetwork(corridor, given.country, given.network, "source.network")
    yield* screening.payer(given, null)
    const source = { ...given, network }
    return { collection, corridor, source, ...(yield* payerOf(collection, source)) }
  })

  /**
   * A refusal for what an operator has changed since an earlier request would say that nothing moved, although that one has
   * placed the charge or may have: then the answer comes from the charge (contract CODE-15).
   */
  const unlessPlaced = Effect.fnUntraced(function* <E>(caller: Caller, command: AuthorizeCommand, refusal: E) {
    const collection = yield* Effect.mapError(collectionOf(caller, command.reference), () => refusal)
    const at = yield* Clock.currentTimeMillis
    const placed = yield* placement(collection, at)
    if (placed === "not placed") return yield* Effect.fail(refusal)
    yield* payerOf(collection, yield* sourceOf(collection, command))
    if (placed === "in progress") return yield* new RequestInProgress({ reference: collection.reference })
    return placed === "unheard" ? yield* applyUnheard(collection, at) : collection
  })

  const placement = Effect.fnUntraced(function* ({ nextAction, reference, status }: Collection, at: Instant) {
    if (status !== "requires_action") return "placed"
    if (nextAction?._tag === "redirect") return "not placed"
    // A create with a code is on its way.
    if (nextAction === null) return "in progress"
    const state = yield* codes.stateOf(reference, at)
    if (state === "unheard") return state
    return state === "leased" ? "in progress" : "not placed"
  })

  /** A process died while it was submitting a code: the charge may have been placed, and is polled from now on. */
  const applyUnheard = ({ reference }: Collection, at: number) =>
    settlement.apply({
      reference,
      fact: {
        _tag: "Charged",
        expiresAt: at + policy.collectionExpiryMs,
        note: "the answer to an earlier code was lost"
      },
      actor: "request"
    })

  return { admit, applyUnheard, collectionOf, unlessPlaced }
})
