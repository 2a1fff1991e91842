import { Redacted } from "effect"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { type MinorUnits, toDecimal } from "../../../src/domain/Money.ts"
import type { Destination } from "../../../src/domain/Party.ts"
import type { PayoutOrder } from "../../../src/services/ports/Provider.ts"

const networks: Readonly<Record<string, ReadonlyArray<string>>> = { "UG UGX": ["MTN", "AIRTEL"], "KE KES": ["MPESA", "AIRTEL"] }

interface Order extends Pick<PayoutOrder, "reference"> {
  readonly corridor: Pick<Corridor, "currency">
  readonly amount: MinorUnits
  readonly party: Destination
}

/** POST /transfers, POST /charges; undefined where Tumbuka Pay does not reach the number. */
export const movementBody = ({ amount, corridor: { currency }, party, reference }: Order): object | undefined =>
  party._tag !== "momo" || networks[`${party.country} ${currency}`]?.includes(party.network) !== true
    ? undefined
    : {
        client_ref: reference,
        amount: toDecimal(amount, currency),
        currency,
        country: party.country,
        network: party.network,
        msisdn: Redacted.value(party.msisdn).replace(/\D/g, "")
      }
