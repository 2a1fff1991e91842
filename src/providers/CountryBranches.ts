import { Effect, Redacted } from "effect"
import type { Corridor } from "../domain/Corridor.ts"
import type { Currency } from "../domain/Currency.ts"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import type { Destination, MomoParty } from "../domain/Party.ts"
import type {
  MobileHolder,
  PayoutOperations,
  PayoutQuote,
  Provider,
  StatusOutcome,
  StatusQuery
} from "../services/ports/Provider.ts"
import type { Balance, PayableCountry } from "../services/ports/ProviderReads.ts"
import { alarmLogger, type FactWithAlarm, unreadable } from "./AnswerParsing.ts"
import { type Client, deadlineAfter } from "./Client.ts"
import { type Connection, connectionTo, type Identity } from "./Connection.ts"
import type { ContractFees } from "./ContractFees.ts"
import { countryQuote, quotingBy } from "./Quotes.ts"
import { misroutedTo, type Refused } from "./Refusals.ts"
import { type ListReader, statementOf, together } from "./Statements.ts"
import type { Transport } from "./Transport.ts"

/** Our account in one country, for providers whose keys and wallets are per country. There is at most one per country. */
export interface CountryAccount {
  readonly country: string
  readonly currency: Currency
}

/** A country account with its own connection. */
export interface Branch<Account extends CountryAccount> {
  readonly account: Account
  readonly connection: Connection
}

interface Opening<Account, Opened> {
  readonly accounts: ReadonlyArray<Account>
  /** For a provider with a single network. */
  readonly network: string
  readonly open: (account: Account, transport: Transport) => Effect.Effect<Opened>
  readonly transport: Transport
  readonly timeoutMs: number
}

type Look = (order: StatusQuery, until: number) => Effect.Effect<FactWithAlarm<StatusOutcome>>

/** Shorter than a payout waits for it. A lookup that hangs counts as failed, and an open circuit spares the next payouts. */
const HOLDER_WITHIN_MS = 2_500

/** Opens the country accounts, each with its own connection, and routes orders and queries to the right one. */
export const openBranches = Effect.fnUntraced(function* <
  Account extends CountryAccount,
  Opened extends Account & { readonly client: Client }
>(identity: Identity, { accounts, network, open, timeoutMs, transport }: Opening<Account, Opened>) {
  const all = yield* Effect.forEach(accounts, (account) => {
    const own: Transport = { call: (call) => transport.call({ ...call, account: account.country }) }
    return Effect.map(
      open(account, own),
      (opened): Branch<Opened> => ({
        account: opened,
        connection: connectionTo(identity, opened.client, timeoutMs)
      })
    )
  })
  const at = (country: string | undefined) => all.find(({ account }) => account.country === country)
  const holderDeadline = deadlineAfter(Math.min(timeoutMs, HOLDER_WITHIN_MS))

  const misfit = ({ country, currency }: Corridor, party: MomoParty): string | undefined => {
    const account = at(country)?.account
    if (account === undefined || party.country !== country) return "no account in this country"
    if (currency !== account.currency) return "no account in this currency"
    return party.network === network ? undefined : "another network"
  }

  /** Places an order in its country. An order that the provider cannot serve there is refused without being sent. */
  const placing = <A>(
    corridor: Corridor,
    party: Destination,
    place: (branch: Branch<Opened>, party: MomoParty) => Effect.Effect<A>
  ): Effect.Effect<A | FactWithAlarm<Refused>> => {
    const branch = at(corridor.country)
    const why = party._tag === "momo" ? misfit(corridor, party) : "another method"
    return branch === undefined || party._tag !== "momo" || why !== undefined
      ? Effect.succeed(misroutedTo(identity.title, "The provider does not serve it.", why ?? ""))
      : place(branch, party)
  }

  /** Asks in the payment's country: an account elsewhere, or in another currency, never had it and would prove nothing. */
  const looking =
    (look: (branch: Branch<Opened>) => Look): Look =>
    (order, until) => {
      const branch = at(order.country)
      if (branch !== undefined && branch.account.currency === order.currency) return look(branch)(order, until)
      const alarm = `a transaction at ${identity.title} is in a country or a currency in which there is no account`
      return Effect.succeed(unreadable(alarm, `${order.country ?? ""} ${order.currency}`))
    }

  /** Looks a number's holder up in its country. Numbers of other networks are not looked up. */
  const holder = (
    ask: (branch: Branch<Opened>, msisdn: MomoParty["msisdn"], until: number) => Effect.Effect<MobileHolder, ProviderError>
  ): NonNullable<PayoutOperations["holder"]> =>
    Effect.fn(`${identity.name}.holder`)(function* (recipient) {
      const branch = at(recipient.country)
      if (branch === undefined || recipient.network !== network) return unnamed
      return yield* ask(branch, recipient.msisdn, yield* holderDeadline)
    })

  return {
    all,
    placing,
    looking,
    holder,
    /** A quote from the contract. `always`: members of every quote. */
    quote: (fees: ContractFees, always: Pick<PayoutQuote, "feeReturns"> = {}): PayoutOperations["quote"] =>
      quotingBy((order, now) => {
        const quote = countryQuote({ accounts, network }, order, fees, now)
        return "_tag" in quote ? quote : { ...quote, ...always }
      }),
    /** The movements in these countries on a UTC day. */
    statement: (list: ListReader, among = all): NonNullable<Provider["statement"]> => {
      const ofCountries = among.map(({ connection }) => statementOf(connection, list))
      return (day) =>
        Effect.map(
          Effect.forEach(ofCountries, (read) => read(day)),
          together
        )
    },
    countries: (names: (country: Opened["country"]) => Pick<PayableCountry, "name" | "phonePrefix">) =>
      Effect.succeed(
        all.map(({ account: { country } }): PayableCountry => {
          const { name, phonePrefix } = names(country)
          return { country, name, phonePrefix, methods: ["momo"] }
        })
      ),
    balances: (of: (branch: Branch<Opened>) => Effect.Effect<ReadonlyArray<Balance>, ProviderError>) =>
      Effect.forEach(all, of, { concurrency: "unbounded" }).pipe(
        Effect.map((held) => held.flat()),
        Effect.withSpan(`${identity.name}.balances`)
      ),
    reaches: (party: Pick<MomoParty, "country" | "network">) => party.network === network && at(party.country) !== undefined,
    logAlarm: alarmLogger(identity.name),
    deadline: deadlineAfter(timeoutMs)
  }
})

/** The holder's name is not known. */
export const unnamed: MobileHolder = { name: null }

/** Joins the parts of a name that are present. */
export const holderNamed = (...parts: ReadonlyArray<string | null | undefined>): MobileHolder => {
  const name = parts.filter((part) => part).join(" ")
  return /\p{L}/u.test(name) ? { name: Redacted.make(name) } : unnamed
}
