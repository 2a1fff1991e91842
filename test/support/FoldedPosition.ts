import type { Currency } from "../../src/domain/Currency.ts"
import type { Account, FloatPosition, Posting } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"

/** What a float position is by definition (contract FLOAT-5): the fold of the tenant's postings in its currency. */
export const foldedPosition = (currency: Currency, postings: ReadonlyArray<Posting>): FloatPosition => {
  const sum = (account: Account): bigint =>
    postings.reduce((total, line) => (line.currency === currency && line.account === account ? total + line.amount : total), 0n)
  return {
    currency,
    available: minor(sum("available")),
    reserved: minor(sum("reserved")),
    collected: minor(-sum("collected")),
    paidOut: minor(sum("paid_out")),
    providerFees: minor(sum("provider_fees")),
    credited: minor(-sum("credited")),
    debited: minor(sum("debited")),
    fxIn: minor(-sum("fx_in")),
    fxOut: minor(sum("fx_out")),
    returned: minor(-sum("returned")),
    owed: minor(0n)
  }
}
