import { Effect } from "effect"
import type { Corridor } from "../domain/Corridor.ts"
import type { Currency } from "../domain/Currency.ts"
import type { Destination, MomoParty } from "../domain/Party.ts"
import type { Statement } from "../domain/ReconciliationDifference.ts"
import type { Provider, StatusOutcome, StatusQuery } from "../services/ports/Provider.ts"
import { alarmLogger, type FactWithAlarm, unreadable } from "./AnswerParsing.ts"
import { type Client, deadlineAfter } from "./Client.ts"
import { type Connection, connectionTo, type Identity } from "./Connection.ts"
import { misroutedTo, type Refused } from "./Refusals.ts"
import { type ListReader, statementOf } from "./Statements.ts"
import type { Transport } from "./Transport.ts"

/** Our account in one country, where a provider's keys and wallets end at the border. No two of them are of one country. */
export interface CountryAccount {
  readonly country: string
  readonly currency: Currency
}

export interface Branch<Account extends CountryAccount> {
  readonly account: Account
  readonly connection: Connection
}

interface Opening<Account> {
  /** Of a provider with one network. */
  readonly network: string
  readonly open: (account: Account, transport: Transport) => Client
  readonly timeoutMs: number
}

type Look = (order: StatusQuery, until: number) => Effect.Effect<FactWithAlarm<StatusOutcome>>

/** The countries of an account, each with calls of its own, and the way of an order or a question to its country. */
export const branchesOf = <Account extends CountryAccount>(
  identity: Identity,
  accounts: ReadonlyArray<Account>,
  transport: Transport,
  { network, open, timeoutMs }: Opening<Account>
) => {
  const all = accounts.map((account): Branch<Account> => {
    const own: Transport = { call: (call) => transport.call({ ...call, account: account.country }) }
    return { account, connection: connectionTo(identity, open(account, own), timeoutMs) }
  })
  const at = (country: string | undefined) => all.find(({ account }) => account.country === country)

  const misfit = ({ country, currency }: Corridor, party: MomoParty): string | undefined => {
    const account = at(country)?.account
    if (account === undefined || party.country !== country) return "no account in this country"
    if (currency !== account.currency) return "no account in this currency"
    return party.network === network ? undefined : "another network"
  }

  /** Places an order in its country. One that is none of this provider's there is refused, and nothing is sent. */
  const placing = <A>(
    corridor: Corridor,
    party: Destination,
    place: (branch: Branch<Account>, party: MomoParty) => Effect.Effect<A>
  ): Effect.Effect<A | FactWithAlarm<Refused>> => {
    const branch = at(corridor.country)
    const why = party._tag === "momo" ? misfit(corridor, party) : "another method"
    return branch === undefined || party._tag !== "momo" || why !== undefined
      ? Effect.succeed(misroutedTo(identity.title, "The provider does not serve it.", why ?? ""))
      : place(branch, party)
  }

  /** Asks in the payment's country: to the others it is not known. */
  const looking =
    (look: (branch: Branch<Account>) => Look): Look =>
    (order, until) => {
      const branch = at(order.country)
      const alarm = `a transaction at ${identity.title} is in a country in which there is no account`
      return branch === undefined ? Effect.succeed(unreadable(alarm, order.country ?? "")) : look(branch)(order, until)
    }

  return {
    all,
    placing,
    looking,
    /** The movements in all countries on a UTC day. */
    statement: (list: ListReader): NonNullable<Provider["statement"]> => {
      const ofCountries = all.map(({ connection }) => statementOf(connection, list))
      return (day) =>
        Effect.map(
          Effect.forEach(ofCountries, (read) => read(day)),
          together
        )
    },
    reaches: (party: Pick<MomoParty, "country" | "network">) => party.network === network && at(party.country) !== undefined,
    logAlarm: alarmLogger(identity.name),
    deadline: deadlineAfter(timeoutMs)
  }
}

const together = (all: ReadonlyArray<Statement>): Statement => ({
  lines: all.flatMap(({ lines }) => lines),
  unreadable: all.flatMap(({ unreadable }) => unreadable),
  unsteady: all.flatMap(({ unsteady }) => unsteady),
  ...(all.some(({ isPart }) => isPart) && { isPart: true as const })
})
