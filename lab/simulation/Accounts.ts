import { Effect } from "effect"
import { type Random, seeded } from "../../test/support/Random.ts"
import { isDeclared } from "./Declared.ts"
import { EXCHANGER, MOVERS } from "./Movers.ts"
import { isRestored } from "./Restores.ts"
import type { Stage } from "./Stage.ts"
import { isUnsteady } from "./Unsteady.ts"

/** Stories of these seeds have accounts that are swapped, as well; those before are played as they always were. */
export const SWAPPING_FROM = 2_000_000

const names = [...MOVERS, EXCHANGER].map(({ name }) => name)

/** Two accounts at each provider, of which neither knows what the other moved, and which of them the gateway has in its settings. */
export class Accounts {
  /** What was asked of an account that another one was sent: nobody may believe its answer, so that nobody is to ask. */
  readonly strays: Array<string> = []
  /** The account that each provider is swapped to; before that it is the first, alone. */
  readonly #current = new Map<string, 1 | 2>()
  /** Where the one before was left out of the settings, by mistake. */
  readonly #alone = new Set<string>()
  readonly #sent = new Map<string, string>()

  /** The one that money is moved with first. */
  set(provider: string): ReadonlyArray<string> {
    const current = this.#current.get(provider)
    const account = `${provider} ${current ?? 1}`
    return current === undefined || this.#alone.has(provider) ? [account] : [account, `${provider} ${3 - current}`]
  }

  /** Swaps those of one provider, or puts back what was left out; answers what was done. */
  swap(random: Random): string {
    const provider = random.pick(firstOf(names))
    if (this.#alone.delete(provider)) return `${provider} has its account before in the settings again`
    this.#current.set(provider, this.#current.get(provider) === 2 ? 1 : 2)
    if (random.chance(0.3)) this.#alone.add(provider)
    return `${provider} has another account: ${this.set(provider).join(", before it ")}`
  }

  /** All that was left out is put back. */
  mend(): boolean {
    const wasWhole = this.#alone.size === 0
    this.#alone.clear()
    return !wasWhole
  }

  sent(provider: string, account: string, reference: string): void {
    this.#sent.set(`${provider} ${reference}`, account)
  }

  asked(provider: string, account: string, reference: string): void {
    const sentWith = this.#sent.get(`${provider} ${reference}`) ?? account
    if (sentWith !== account) this.strays.push(`${reference}: sent with ${sentWith}, and ${account} was asked what became of it`)
  }
}

/** What an operator does with the settings while a story is played. Its chances are its own, so that a story is the same with and without it. */
export class Swaps {
  readonly #random: Random | null
  readonly #stage: Stage
  readonly #accounts: Accounts

  constructor(seed: number, { stage, world }: { readonly stage: Stage; readonly world: { readonly accounts: Accounts } }) {
    this.#random =
      seed >= SWAPPING_FROM && !isRestored(seed) && !isUnsteady(seed) && !isDeclared(seed) ? seeded(seed ^ 0x2545f491) : null
    this.#stage = stage
    this.#accounts = world.accounts
  }

  /** Now and then another account is put into the settings, at times without the one before, and every process begins with them. */
  readonly one = Effect.suspend(() => {
    if (this.#random === null || !this.#random.chance(0.1)) return Effect.void
    this.#stage.log.push(this.#accounts.swap(this.#random))
    return this.#stage.restart
  })

  /** Nothing is left out any more. */
  readonly over = Effect.suspend(() => (this.#accounts.mend() ? this.#stage.restart : Effect.void))
}

const firstOf = ([first = "", ...others]: ReadonlyArray<string>): readonly [string, ...Array<string>] => [first, ...others]
