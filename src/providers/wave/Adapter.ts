import { Clock, Effect } from "effect"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { ProviderGuarantees, StatusQuery } from "../../services/ports/Provider.ts"
import { isAnswered } from "../AnswerParsing.ts"
import { balancesAt } from "../Balances.ts"
import { adapterOf, type Connection } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { openBranches } from "../CountryBranches.ts"
import { chargesBy, expectedOf, lookingBy, payoutsBy } from "../Movements.ts"
import { QUOTE_LIFE_MS } from "../Quotes.ts"
import { waveCallbacks } from "./Callback.ts"
import { openWallet, type WaveSettings } from "./Client.ts"
import { NETWORK, places } from "./Networks.ts"
import { payoutBody, sessionBody } from "./Order.ts"
import { identity, withoutPage } from "./Refusals.ts"
import { transactions } from "./Statement.ts"
import { payoutFound, payoutPlaced, sessionFound, sessionPlaced, toClose } from "./Translate.ts"
import {
  BALANCE_PATH,
  BalanceAnswer,
  expirePath,
  IDEMPOTENCY_KEY,
  PAYOUT_PATH,
  payoutsPath,
  SESSIONS_PATH,
  sessionsPath
} from "./Wire.ts"

/**
 * A payout's idempotency key is our reference: the same key and body is the same payout. A repeated checkout session is a new
 * one. Both can be searched by our reference. For how long Wave's search may miss what was created despite an error is not
 * documented: for a day "not found" proves nothing, and by then an operator handles the payment.
 */
const guarantees: ProviderGuarantees = {
  clientReference: "idempotent",
  chargeReference: "none",
  lookup: "by_client_ref",
  callbackAuth: "weak",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 86_400_000
}

/** Our wallets at Wave. A call takes at most `timeoutMs`; the search after a refusal takes as long again. */
export const wave = adapterOf(identity, guarantees, function* (settings: WaveSettings, transport) {
  const { baseUrl, fees, timeoutMs, wallets: accounts } = settings
  const open = openWallet(baseUrl)
  const branches = yield* openBranches(identity, { accounts, network: NETWORK, open, transport, timeoutMs })
  const { looking, placing, reaches: reachesNetwork } = branches
  const payouts = payoutsBy(branches, {
    place: (order) =>
      placing(order.corridor, order.destination, ({ account, connection }, to) => {
        const headers = { [IDEMPOTENCY_KEY]: order.reference }
        const body = payoutBody(order, to, account)
        const call = { operation: "payout", method: "POST", path: PAYOUT_PATH, body, headers } as const
        const expected = { ...expectedOf(order), party: to.msisdn }
        return Effect.map(connection.call(call), (response) => payoutPlaced(response, expected))
      }),
    look: looking(({ connection }) => lookingBy(connection, "search", payoutsPath, payoutFound))
  })
  const charges = chargesBy(branches, {
    place: (order) =>
      placing(order.corridor, order.source, ({ account, connection }) => {
        const body = sessionBody(order, account)
        if (body === undefined) return Effect.succeed(withoutPage)
        const call = { operation: "session", method: "POST", path: SESSIONS_PATH, body } as const
        return Effect.map(connection.call(call), (response) => sessionPlaced(response, order))
      }),
    look: looking(({ connection }) => findingCharge(connection, fees))
  })
  return {
    callbacks: waveCallbacks(accounts.map(({ webhookSecret }) => webhookSecret)),
    // A reversal returns the fee together with the payout.
    payouts: { reachesNetwork, quote: branches.quote(fees, { feeReturns: true }), ...payouts },
    collections: {
      reachesNetwork,
      contractFee: (charge) => contractFee(fees, { ...charge, direction: "collection" }),
      ...charges
    },
    // Wave lists no banks, and compares a holder's name without disclosing it.
    reference: {
      countries: branches.countries((country) => places[country]),
      balances: branches.balances(({ connection: { get, name } }) =>
        Effect.flatMap(get(BalanceAnswer, "balance", BALANCE_PATH), (held) => balancesAt(name, [held], fromDecimalDown))
      )
    },
    statement: branches.statement(transactions)
  }
})

/** Longer than a request lives: by then the payer has the session's page, or never will. */
const STRAY_AFTER_MS = 300_000

/** Finds a charge. Expires pages that no payer was sent to and, once the payer's time is over, all of its pages. */
const findingCharge = ({ client }: Connection, fees: WaveSettings["fees"]) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number) {
    const search = client({ operation: "search", method: "GET", path: sessionsPath(order) }, until)
    const found = yield* search
    const isOld = (yield* Clock.currentTimeMillis) - order.sentAt >= STRAY_AFTER_MS
    const open = toClose(found, order, isOld)
    const closed = new Set<string>()
    for (const id of open) {
      const answer = yield* client({ operation: "expire", method: "POST", path: expirePath(id) }, until)
      if (isAnswered(answer, 200)) closed.add(id)
    }
    // A session that was paid or expired in the meantime cannot be expired; the second search shows its state.
    return sessionFound(open.length === 0 ? found : yield* search, { ...order, fee: chargeFee(fees, order), closed })
  })
