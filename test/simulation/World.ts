import { Clock, Effect, Option, Schema } from "effect"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { type MinorUnits, minor } from "../../src/domain/Money.ts"
import type { Answer, AskOrder, ChargeOrder, PayoutOrder, PayoutOutcome, Provider } from "../../src/services/ports/Provider.ts"
import type { Random } from "../support/Random.ts"

/** One movement of money at a provider, as it really is; the gateway sees of it only what an answer shows. */
export interface Movement {
  readonly provider: string
  readonly kind: "payout" | "collection"
  readonly reference: string
  readonly amount: bigint
  /** What the provider charges in the end, whatever it quoted. */
  readonly fee: bigint
  /** From then on it can be found. */
  readonly from: number
  readonly settlesAt: number
  readonly outcome: "successful" | "failed"
  /** Null where it stays delivered. */
  readonly returnsAt: number | null
}

/** A provider's word that something happened, true or not, waiting to be brought. */
export interface Hint {
  readonly provider: string
  readonly reference: string
  readonly at: number
  readonly genuine: boolean
  /** Makes the bytes of two hints differ. */
  readonly serial: number
}

const MINUTE = 60_000
/** How long after the call alpha may still execute it, and its "not found" proves nothing. */
const GRACE_MS = 10 * MINUTE
export const PAYOUT_FEE = 1_000n
export const collectionFee = (amount: bigint): bigint => (amount * 15n + 999n) / 1000n

/**
 * The outside: two providers that lose, delay, repeat and lie as much as their promises allow, and remember every movement. `alpha` documents
 * the question by our reference and takes a reference once; `beta` does neither. Deterministic: every choice comes from `random`.
 */
export class World {
  readonly movements: Array<Movement> = []
  readonly hints: Array<Hint> = []
  /** Nothing goes wrong any more, so that what is open can come to its end. */
  calm = false
  readonly #random: Random
  #serial = 0

  constructor(random: Random) {
    this.#random = random
  }

  provider(name: "alpha" | "beta"): Provider {
    const isAlpha = name === "alpha"
    return {
      name,
      mode: "live",
      promises: {
        clientReference: isAlpha ? "idempotent" : "none",
        lookup: isAlpha ? "by_client_ref" : "by_client_ref_inferred",
        webhookAuth: "hmac",
        quoteTtlMs: 30 * MINUTE,
        notFoundGraceMs: GRACE_MS
      },
      callbacks: { verify: ({ body }) => readHint(Buffer.from(body).toString("utf8")) },
      payouts: {
        quote: ({ amount, corridor }) =>
          this.#chance(0.04)
            ? Effect.fail(new ProviderError())
            : Effect.succeed({
                principal: amount,
                fee: minor(PAYOUT_FEE),
                destinationAmount: amount,
                destinationCurrency: corridor.currency,
                rate: null,
                expiresInMs: 30 * MINUTE,
                token: ""
              }),
        send: (order) => this.#taking(name, "payout", order),
        ask: (order) => this.#asked(name, order)
      },
      collections: {
        charge: (order) => this.#taking(name, "collection", order),
        ask: (order) => this.#asked(name, order)
      }
    }
  }

  /** The hints whose time has come, in an order that nobody can rely on; some come twice and some never. */
  dueHints(now: number): ReadonlyArray<Hint> {
    const due = this.hints.filter(({ at }) => at <= now)
    for (const hint of due) this.hints.splice(this.hints.indexOf(hint), 1)
    const shuffled: Array<Hint> = []
    for (const hint of due) shuffled.splice(this.#random.below(shuffled.length + 1), 0, hint)
    return shuffled.flatMap((hint) => (this.#chance(0.2) ? [] : this.#chance(0.2) ? [hint, hint] : [hint]))
  }

  #chance(share: number): boolean {
    return !this.calm && this.#random.chance(share)
  }

  #taking(name: string, kind: Movement["kind"], order: PayoutOrder | ChargeOrder): Effect.Effect<PayoutOutcome> {
    return Effect.map(Clock.currentTimeMillis, (now) => this.#take(name, kind, order, now))
  }

  #take(name: string, kind: Movement["kind"], order: PayoutOrder | ChargeOrder, now: number): PayoutOutcome {
    const amount = "quote" in order ? order.quote.principal : order.amount
    const known = this.movements.find(({ provider, reference }) => provider === name && reference === order.reference)
    // Alpha keeps its promise; at beta the same reference moves money once more.
    if (known !== undefined && name === "alpha")
      return { _tag: "Accepted", ...unseen, providerReference: known.reference, note: "known" }
    if (this.#chance(0.08)) return { _tag: "NotSent", note: "connection refused" }
    if (this.#chance(0.06))
      return {
        _tag: "Refused",
        providerReference: null,
        kind: "party",
        failure: { code: "provider_rejected", message: "refused" },
        note: ""
      }
    if (this.#chance(0.08)) return lost
    const movement = this.#record(name, kind, order.reference, amount, now)
    if (this.#chance(0.2)) return lost
    if (movement.from > now) return lost
    if (movement.settlesAt <= now && movement.outcome === "successful") return succeeded(movement)
    return { _tag: "Accepted", ...unseen, providerReference: movement.reference, note: "taken" }
  }

  #record(provider: string, kind: Movement["kind"], reference: string, amount: MinorUnits, now: number): Movement {
    const from = this.#chance(0.1) ? now + this.#random.below(GRACE_MS) : now
    const settlesAt = from + (this.#chance(0.3) ? 0 : this.#random.below(this.calm ? 1000 : 20 * MINUTE))
    const outcome = this.#chance(0.15) ? "failed" : "successful"
    const returns = kind === "payout" && outcome === "successful" && this.#chance(0.1)
    const movement: Movement = {
      provider,
      kind,
      reference,
      amount,
      fee:
        kind === "collection" ? collectionFee(amount) : PAYOUT_FEE + (this.#chance(0.1) ? 200n : this.#chance(0.1) ? -300n : 0n),
      from,
      settlesAt,
      outcome,
      returnsAt: returns ? settlesAt + this.#random.below(60 * MINUTE) : null
    }
    this.movements.push(movement)
    const at = [...(this.#chance(0.2) ? [now] : []), settlesAt, ...(movement.returnsAt === null ? [] : [movement.returnsAt])]
    for (const when of at) this.hints.push({ provider, reference, at: when, genuine: true, serial: this.#serial++ })
    if (this.#chance(0.1)) this.hints.push({ provider, reference, at: now, genuine: false, serial: this.#serial++ })
    return movement
  }

  #asked(name: string, { reference }: AskOrder): Effect.Effect<Answer> {
    return Effect.map(Clock.currentTimeMillis, (now): Answer => {
      if (this.#chance(0.15)) return lost
      const found = this.movements.filter((one) => one.provider === name && one.reference === reference && one.from <= now)
      const [movement] = found
      // Beta may miss what is there; alpha may not, once its grace is over.
      if (movement === undefined || (this.#chance(0.1) && (name === "beta" || now < movement.from + GRACE_MS)))
        return { _tag: "NotFound", note: "" }
      if (now < movement.settlesAt) return { _tag: "StillPending", providerReference: movement.reference, note: "" }
      if (movement.outcome === "failed")
        return {
          _tag: "Refused",
          providerReference: movement.reference,
          kind: "party",
          failure: { code: "unknown", message: "failed" },
          note: ""
        }
      if (movement.returnsAt === null || now < movement.returnsAt) return succeeded(movement)
      return {
        _tag: "Returned",
        amount: minor(movement.amount),
        currency: "UGX",
        fee: minor(0n),
        charged: minor(movement.fee),
        at: movement.returnsAt,
        note: ""
      }
    })
  }
}

const unseen = { observedAmount: null, observedCurrency: null } as const
const lost = { _tag: "Unknown", reason: "timeout", note: "no answer" } as const

const succeeded = (movement: Movement) =>
  ({
    _tag: "Succeeded",
    providerReference: movement.reference,
    amount: minor(movement.amount),
    currency: "UGX",
    fee: minor(movement.fee),
    note: ""
  }) as const

const HintBody = Schema.fromJsonString(Schema.Struct({ reference: Reference, genuine: Schema.Boolean, serial: Schema.Number }))
export const hintBody = ({ genuine, reference, serial }: Hint): Uint8Array =>
  Buffer.from(JSON.stringify({ reference, genuine, serial }))

const readHint = (body: string) =>
  Schema.decodeUnknownOption(HintBody)(body).pipe(
    Option.filter(({ genuine }) => genuine),
    Option.map(({ reference }) => ({ reference, providerReference: null }))
  )
