import { Clock, Effect, Option, Schema } from "effect"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { Reference } from "../../src/domain/Ids.ts"
import type {
  Answer,
  AskOrder,
  ChargeOrder,
  ExchangeOrder,
  ExchangeQuote,
  PayoutOrder,
  PayoutOutcome,
  Provider
} from "../../src/services/ports/Provider.ts"
import type { Random } from "../support/Random.ts"
import {
  collectionFee,
  GRACE_MS,
  type Hint,
  type Kind,
  MINUTE,
  type Mode,
  type Movement,
  PAYOUT_FEE,
  SHORT_BY
} from "./Movement.ts"
import { brought, executed, lost, quoted, refused, succeeded, unseen } from "./ProviderWords.ts"

/** How long those who promise no question by our reference may not find what they took. */
const LATE_MS = 360 * MINUTE

/** What is asked of a provider, whatever its kind. */
interface Wish {
  readonly kind: Kind
  readonly mode: Mode
  readonly reference: string
  readonly amount: bigint
  readonly brings: Movement["brings"]
}

/**
 * The outside: providers that lose, delay, repeat and lie as much as their promises allow, and remember every movement. `alpha` documents
 * the question by our reference and takes a reference once; `beta` does neither; `gamma` exchanges, each quote once. Deterministic: every
 * choice comes from `random`.
 */
export class World {
  readonly movements: Array<Movement> = []
  readonly hints: Array<Hint> = []
  /** Nothing goes wrong any more, so that what is open can come to its end. */
  calm = false
  readonly #random: Random
  readonly #spent = new Set<string>()
  #serial = 0

  constructor(random: Random) {
    this.#random = random
  }

  providers(mode: Mode): ReadonlyArray<Provider> {
    return [this.#mover("alpha", mode), this.#mover("beta", mode), this.#exchanger("gamma", mode)]
  }

  /** The hints whose time has come, in an order that nobody can rely on; some come twice and some never. */
  dueHints(now: number): ReadonlyArray<Hint> {
    const due = this.hints.filter(({ at }) => at <= now)
    for (const hint of due) this.hints.splice(this.hints.indexOf(hint), 1)
    const shuffled: Array<Hint> = []
    for (const hint of due) shuffled.splice(this.#random.below(shuffled.length + 1), 0, hint)
    return shuffled.flatMap((hint) => (this.#chance(0.2) ? [] : this.#chance(0.2) ? [hint, hint] : [hint]))
  }

  /** What really happened to a reference; undefined where nothing moved. */
  moved(reference: string): Movement | undefined {
    return this.movements.find((one) => one.reference === reference && one.outcome === "successful")
  }

  #mover(name: "alpha" | "beta", mode: Mode): Provider {
    const isAlpha = name === "alpha"
    const take = (kind: Kind, order: PayoutOrder | ChargeOrder) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const amount = "quote" in order ? order.quote.principal : order.amount
        return this.#take(name, { kind, mode, reference: order.reference, amount, brings: null }, now)
      })
    return {
      name,
      mode,
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
          this.#chance(0.04) ? Effect.fail(new ProviderError()) : Effect.succeed(quoted(amount, corridor.currency)),
        send: (order) => take("payout", order),
        ask: (order) => this.#asked(name, mode, order)
      },
      collections: { charge: (order) => take("collection", order), ask: (order) => this.#asked(name, mode, order) }
    }
  }

  #exchanger(name: "gamma", mode: Mode): Provider {
    return {
      name,
      mode,
      promises: {
        clientReference: "none",
        lookup: "by_client_ref_inferred",
        webhookAuth: "hmac",
        quoteTtlMs: MINUTE,
        notFoundGraceMs: GRACE_MS
      },
      callbacks: { verify: ({ body }) => readHint(Buffer.from(body).toString("utf8")) },
      exchange: {
        quote: (order) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            this.#chance(0.04) ? Effect.fail(new ProviderError()) : Effect.succeed(this.#rate(order, now))
          ),
        execute: (order) => Effect.map(Clock.currentTimeMillis, (now) => this.#exchange(name, mode, order, now)),
        ask: (order) => this.#asked(name, mode, order)
      }
    }
  }

  #rate(order: ExchangeOrder, now: number): ExchangeQuote {
    return { ...order, ...brought(order.amount), rate: "0.03", expiresAt: now + MINUTE, token: `quote-${this.#serial++}` }
  }

  #exchange(name: string, mode: Mode, order: ExchangeOrder & { reference: string; token: string }, now: number): PayoutOutcome {
    if (this.#spent.has(order.token)) return refused("quote spent")
    const { destinationAmount } = brought(order.amount)
    // A floor elsewhere, or a market that moved: a little is booked, and a lot is a person's.
    const other = this.#chance(0.1) ? 2n : this.#chance(0.1) ? -(destinationAmount / 10n) : 0n
    const brings = { currency: order.destinationCurrency, amount: destinationAmount + other }
    const wish: Wish = { kind: "exchange", mode, reference: order.reference, amount: order.amount, brings }
    const outcome = this.#take(name, wish, now)
    if (outcome._tag !== "NotSent") this.#spent.add(order.token)
    return outcome
  }

  #chance(share: number): boolean {
    return !this.calm && this.#random.chance(share)
  }

  #take(name: string, wish: Wish, now: number): PayoutOutcome {
    const known = this.movements.find(({ provider, reference }) => provider === name && reference === wish.reference)
    // Alpha keeps its promise; at beta the same reference moves money once more.
    if (known !== undefined && name === "alpha")
      return { _tag: "Accepted", ...unseen, providerReference: known.reference, note: "known" }
    if (this.#chance(0.08)) return { _tag: "NotSent", note: "connection refused" }
    if (this.#chance(0.06)) return refused("refused")
    if (this.#chance(0.08)) return lost
    const movement = this.#record(name, wish, now)
    if (this.#chance(0.2)) return lost
    if (movement.from > now) return lost
    if (movement.settlesAt <= now && movement.outcome === "successful") return succeeded(movement)
    return { _tag: "Accepted", ...unseen, providerReference: movement.reference, note: "taken" }
  }

  #record(provider: string, { amount, brings, kind, mode, reference }: Wish, now: number): Movement {
    const from = this.#chance(0.1) ? now + this.#random.below(provider === "alpha" ? GRACE_MS : LATE_MS) : now
    const settlesAt = from + (this.#chance(0.3) ? 0 : this.#random.below(this.calm ? 1000 : 20 * MINUTE))
    const outcome = this.#chance(0.15) ? "failed" : "successful"
    const isShort = kind !== "exchange" && this.#chance(0.06)
    const moved = isShort ? amount - SHORT_BY : amount
    const returns = kind === "payout" && outcome === "successful" && !isShort && this.#chance(0.1)
    const surprise = isShort ? 0n : this.#chance(0.1) ? 200n : this.#chance(0.1) ? -300n : 0n
    const movement: Movement = {
      provider,
      mode,
      kind,
      reference,
      currency: "UGX",
      amount: moved,
      fee: kind === "exchange" ? 0n : kind === "collection" ? collectionFee(moved) : PAYOUT_FEE + surprise,
      brings,
      from,
      settlesAt,
      outcome,
      returnsAt: returns ? settlesAt + this.#random.below(60 * MINUTE) : null
    }
    this.movements.push(movement)
    const at = [...(this.#chance(0.2) ? [now] : []), settlesAt, ...(movement.returnsAt === null ? [] : [movement.returnsAt])]
    const hint = { provider, mode, reference }
    for (const when of at) this.hints.push({ ...hint, at: when, genuine: true, serial: this.#serial++ })
    if (this.#chance(0.1)) this.hints.push({ ...hint, at: now, genuine: false, serial: this.#serial++ })
    return movement
  }

  #asked(name: string, mode: Mode, { reference }: AskOrder): Effect.Effect<Answer> {
    return Effect.map(Clock.currentTimeMillis, (now): Answer => {
      if (this.#chance(0.15)) return lost
      const movement = this.movements.find(
        (one) => one.provider === name && one.mode === mode && one.reference === reference && one.from <= now
      )
      // Beta may miss what is there; alpha may not, once its grace is over.
      if (movement === undefined || (this.#chance(0.1) && (name !== "alpha" || now < movement.from + GRACE_MS)))
        return { _tag: "NotFound", note: "" }
      return executed(movement, now)
    })
  }
}

const HintBody = Schema.fromJsonString(Schema.Struct({ reference: Reference, genuine: Schema.Boolean, serial: Schema.Number }))
export const callbackOf = ({ genuine, reference, serial }: Hint) => ({
  method: "POST",
  path: "/",
  headers: {},
  body: Buffer.from(JSON.stringify({ reference, genuine, serial }))
})

const readHint = (body: string) =>
  Schema.decodeUnknownOption(HintBody)(body).pipe(
    Option.filter(({ genuine }) => genuine),
    Option.map(({ reference }) => ({ reference, providerReference: null }))
  )
