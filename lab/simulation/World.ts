import { Clock, Effect, Redacted } from "effect"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import type {
  ChargeOrder,
  ChargeOutcome,
  ExchangeOrder,
  ExchangeQuote,
  PayoutOrder,
  PayoutOutcome,
  Provider,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../src/services/ports/Provider.ts"
import type { Random } from "../../test/support/Random.ts"
import { Accounts } from "./Accounts.ts"
import { drawMovement, type Wish } from "./Fate.ts"
import { readHint } from "./Hints.ts"
import { Kept } from "./Kept.ts"
import { type Hint, isReversed, MINUTE, type Mode, type Movement } from "./Movement.ts"
import { EXCHANGER, type Mover } from "./Movers.ts"
import { brought, duplicate, executed, lost, quoted, redirected, refused, succeeded, unseen } from "./ProviderWords.ts"
import { SentCodes } from "./SentCodes.ts"

interface InMode {
  readonly account: string
  readonly mode: Mode
}

interface Ways {
  /** Some charges are taken back after their success. */
  readonly reverses: boolean
  /** What providers take for the time; null: that of the node that calls. */
  readonly time: (() => number) | null
}

/**
 * The outside: providers that lose, delay, repeat and lie as much as their promises allow, and remember every movement. The movers
 * pay and charge; `gamma` exchanges, each quote once. Deterministic: every choice comes from `random`.
 */
export class World {
  readonly movements: Array<Movement> = []
  readonly hints: Array<Hint> = []
  readonly codes = new SentCodes()
  readonly accounts = new Accounts()
  /** The references of what came to a provider; after a restore, since that. */
  readonly arrived = new Set<string>()
  /** Nothing goes wrong any more, so that what is open can come to its end. */
  calm = false
  readonly #random: Random
  readonly #spent = new Set<string>()
  readonly #kept = new Kept()
  readonly movers: ReadonlyArray<Mover>
  #serial = 0

  readonly #reverses: boolean

  /** What providers take for the time. */
  readonly #time: Effect.Effect<number>

  constructor(random: Random, movers: ReadonlyArray<Mover>, { reverses, time }: Ways) {
    this.#random = random
    this.movers = movers
    this.#reverses = reverses
    this.#time = time === null ? Clock.currentTimeMillis : Effect.sync(time)
  }

  /** Of each the account that money is moved with, and after it the one before, where the gateway still has that. */
  providers(mode: Mode): ReadonlyArray<Provider> {
    return [
      ...this.movers.flatMap((mover) => this.accounts.set(mover.name).map((account) => this.#mover(mover, account, mode))),
      ...this.accounts.set(EXCHANGER.name).map((account) => this.#exchanger(account, mode))
    ]
  }

  /** The hints whose time has come, in an order that nobody can rely on; some come twice and some never. */
  dueHints(now: number): ReadonlyArray<Hint> {
    const due = this.hints.filter(({ at }) => at <= now)
    for (const hint of due) this.hints.splice(this.hints.indexOf(hint), 1)
    const shuffled: Array<Hint> = []
    for (const hint of due) shuffled.splice(this.#random.below(shuffled.length + 1), 0, hint)
    return shuffled.flatMap((hint) =>
      hint.isRepeated ? [hint] : this.#chance(0.2) ? [] : this.#chance(0.2) ? [hint, hint] : [hint]
    )
  }

  /** What really happened to a reference in the end; undefined where nothing moved, or a charge was taken back. */
  moved(reference: string): Movement | undefined {
    return this.movements.find((one) => one.reference === reference && one.outcome === "successful" && !isReversed(one))
  }

  #mover(mover: Mover, account: string, mode: Mode): Provider {
    const { name, guarantees } = mover
    return {
      name,
      mode,
      fingerprints: () => [account],
      guarantees,
      callbacks: {
        verify: ({ body }) => readHint(Buffer.from(body).toString("utf8"), guarantees.callbackAuth === "none"),
        ...(mover.declared?.answersLater === true && {
          keep: ({ body }) => Effect.map(this.#time, (now) => this.#kept.report(this.movements, body, now))
        })
      },
      payouts: {
        quote: ({ amount, corridor }) =>
          this.#chance(0.04) ? Effect.fail(new ProviderError({})) : Effect.succeed(quoted(amount, corridor.currency)),
        send: ({ quote, reference }: PayoutOrder) =>
          Effect.map(this.#time, (now) => {
            const wish: Wish = { account, kind: "payout", mode, reference, amount: quote.principal, brings: null, hasCode: false }
            return this.#take(mover, wish, now)
          }),
        fetchStatus: (order) => this.#asked(mover, { account, mode }, order)
      },
      collections: {
        charge: (order) => Effect.map(this.#time, (now) => this.#charge(mover, { account, mode }, order, now)),
        sendCode: (source) =>
          Effect.flatMap(this.#time, (now) => {
            if (this.#chance(0.05)) return Effect.fail(new ProviderError({}))
            const pinId = this.codes.send(account, mode, Redacted.value(source.msisdn), now)
            // The payer has it, and the gateway does not know.
            return Effect.succeed(this.#chance(0.05) ? "unknown" : { pinId })
          }),
        fetchStatus: (order) => this.#asked(mover, { account, mode }, order)
      }
    }
  }

  #charge(
    mover: Mover,
    { account, mode }: InMode,
    { amount, corridor, otp, reference, source }: ChargeOrder,
    now: number
  ): ChargeOutcome {
    const wish: Wish = { account, kind: "collection", mode, reference, amount, brings: null, hasCode: otp !== null }
    if (otp !== null) {
      if (this.#chance(0.08)) return { _tag: "NotSent", note: "connection refused" }
      const said = { provider: account, mode, party: Redacted.value(source.msisdn), reference, otp }
      const isLost = this.#chance(0.08)
      const isTaken = this.#isKnown(account, reference) !== undefined || (!isLost && this.codes.isRight(said, now))
      if (!isLost && !isTaken && !this.#chance(0.1)) return { _tag: "CodeRejected", note: "" }
      this.codes.unrefused.push(reference)
      this.accounts.sent(mover.name, account, reference)
      if (!isTaken) return lost
    }
    const outcome = this.#take(mover, wish, now)
    return outcome._tag === "Accepted" && corridor.customerAction === "redirect" ? redirected(reference) : outcome
  }

  #exchanger(account: string, mode: Mode): Provider {
    return {
      name: EXCHANGER.name,
      mode,
      fingerprints: () => [account],
      guarantees: EXCHANGER.guarantees,
      callbacks: { verify: ({ body }) => readHint(Buffer.from(body).toString("utf8"), false) },
      exchange: {
        quote: (order) =>
          Effect.flatMap(this.#time, (now) =>
            this.#chance(0.04) ? Effect.fail(new ProviderError({})) : Effect.succeed(this.#rate(account, order, now))
          ),
        execute: (order) => Effect.map(this.#time, (now) => this.#exchange(EXCHANGER, { account, mode }, order, now)),
        fetchStatus: (order) => this.#asked(EXCHANGER, { account, mode }, order)
      }
    }
  }

  #rate(account: string, order: ExchangeOrder, now: number): ExchangeQuote {
    return { ...order, ...brought(order.amount), rate: "0.03", expiresAt: now + MINUTE, token: `${account} ${this.#serial++}` }
  }

  #exchange(
    seller: Mover,
    { account, mode }: InMode,
    order: ExchangeOrder & { reference: string; token: string },
    now: number
  ): PayoutOutcome {
    if (this.#spent.has(order.token)) return refused("quote spent")
    if (!order.token.startsWith(`${account} `)) return refused("a quote of another account")
    const { destinationAmount } = brought(order.amount)
    // A floor elsewhere, or a market that moved: a little is booked, and a lot is a person's.
    const other = this.#chance(0.1) ? 2n : this.#chance(0.1) ? -(destinationAmount / 10n) : 0n
    const brings = { currency: order.destinationCurrency, amount: destinationAmount + other }
    const wish: Wish = {
      account,
      kind: "exchange",
      mode,
      reference: order.reference,
      amount: order.amount,
      brings,
      hasCode: false
    }
    const outcome = this.#take(seller, wish, now)
    if (outcome._tag !== "NotSent") this.#spent.add(order.token)
    return outcome
  }

  #chance(share: number): boolean {
    return !this.calm && this.#random.chance(share)
  }

  #isKnown(account: string, reference: string): Movement | undefined {
    return this.movements.find((one) => one.account === account && one.reference === reference)
  }

  #take(mover: Mover, wish: Wish, now: number): PayoutOutcome {
    const known = this.#isKnown(wish.account, wish.reference)
    this.arrived.add(wish.reference)
    this.accounts.sent(mover.name, wish.account, wish.reference)
    // Who promises nothing about our reference moves the money once more.
    if (known !== undefined && mover.guarantees.clientReference === "idempotent")
      return { _tag: "Accepted", ...unseen, providerReference: known.reference, note: "known" }
    if (known !== undefined && mover.guarantees.clientReference === "unique_reject") return duplicate
    if (this.#chance(0.08)) return { _tag: "NotSent", note: "connection refused" }
    if (this.#chance(0.06)) return refused("refused")
    if (this.#chance(0.08)) return lost
    const movement = this.#record(mover, wish, now)
    if (this.#chance(0.2)) return lost
    if (movement.from > now) return lost
    if (movement.settlesAt <= now && movement.outcome === "successful") return succeeded(movement)
    return { _tag: "Accepted", ...unseen, providerReference: movement.reference, note: "taken" }
  }

  #record(mover: Mover, wish: Wish, now: number): Movement {
    const chances = { random: this.#random, chance: (share: number) => this.#chance(share), isCalm: this.calm }
    const movement = drawMovement(mover, wish, now, { ...chances, reverses: this.#reverses })
    this.movements.push(movement)
    const { account: _, kind, mode, provider, reference, settlesAt } = movement
    const at = [...(this.#chance(0.2) ? [now] : []), settlesAt, ...(movement.returnsAt === null ? [] : [movement.returnsAt])]
    const hint = { provider, mode, reference }
    if (kind === "payout" && mover.declared?.tellsPayouts === false) return movement
    for (const when of at) {
      const isRepeated = kind === "collection" && when === movement.returnsAt
      this.hints.push({ ...hint, at: when, genuine: true, isRepeated, serial: this.#serial++ })
    }
    if (this.#chance(0.1)) this.hints.push({ ...hint, at: now, genuine: false, isRepeated: false, serial: this.#serial++ })
    return movement
  }

  #asked(mover: Mover, { account, mode }: InMode, query: StatusQuery): Effect.Effect<StatusOutcome> {
    const { declared, name } = mover
    const { reference } = query
    return Effect.map(this.#time, (now): StatusOutcome => {
      this.arrived.add(reference)
      this.accounts.asked(name, account, reference)
      if (this.#chance(0.15)) return lost
      const late = this.#kept.late(reference)
      if (late !== undefined) return late
      const movement = this.movements.find(
        (one) => one.account === account && one.mode === mode && one.reference === reference && one.from <= now
      )
      const told = this.#told(mover, query, movement, now)
      // The question is given up, and its answer is there when it is asked again.
      if (declared?.answersLater !== true || !this.#chance(0.1)) return told
      this.#kept.answer(reference, told)
      return lost
    })
  }

  #told({ declared, guarantees }: Mover, query: StatusQuery, found: Movement | undefined, now: number): StatusOutcome {
    const movement = declared?.hasPages === true && query.isOver === true ? this.#closed(found, now) : found
    // Who documents the question may miss what is there only while its grace lasts.
    const mayMiss =
      guarantees.lookup !== "by_client_ref" ||
      (movement !== undefined && now < movement[declared === undefined ? "from" : "takenAt"] + graceOf(guarantees, movement))
    if (movement === undefined || (mayMiss && this.#chance(0.1))) return { _tag: "NotFound", note: "" }
    const isUnnamed = movement.kind === "collection" && declared?.isUnaskable === true && query.providerReference === null
    if (isUnnamed && !this.#kept.leadsTo(movement, now)) return { _tag: "NotFound", note: "nothing that proves anything" }
    return executed(movement, now)
  }

  /** Nobody pays any more on a page whose time is over. */
  #closed(movement: Movement | undefined, now: number): Movement | undefined {
    if (movement?.kind !== "collection" || movement.settlesAt <= now) return movement
    const closed: Movement = { ...movement, settlesAt: now, outcome: "failed", returnsAt: null }
    this.movements.splice(this.movements.indexOf(movement), 1, closed)
    return closed
  }
}

const graceOf = ({ chargeNotFoundGraceMs, notFoundGraceMs }: ProviderGuarantees, { kind }: Movement): number =>
  (kind === "collection" ? chargeNotFoundGraceMs : undefined) ?? notFoundGraceMs
