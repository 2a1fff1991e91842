import type { Currency } from "../domain/Currency.ts"
import { type ContractFees, collectionFee as contractCollectionFee, payoutFees } from "../providers/ContractFees.ts"

export type PayoutMethod = "momo" | "bank" | "wallet"

type Flat = Partial<Record<PayoutMethod | "other", bigint>>

// Minor units of the source wallet's currency. Fees for XAF, XOF, USD, EUR, GBP and KES wallets are the simulator's choice.
const flat: Readonly<Record<Currency, Flat>> = {
  UGX: { bank: 5400n, momo: 1000n, wallet: 500n },
  KES: { other: 3000n },
  RWF: { other: 300n },
  GHS: { other: 500n },
  NGN: { other: 5000n },
  TZS: { other: 100_000n },
  ZMW: { other: 1000n },
  XAF: { other: 300n },
  XOF: { other: 300n },
  USD: { other: 100n },
  EUR: { other: 100n },
  GBP: { other: 100n }
}

const share = (amount: bigint, perMille: bigint): bigint => (amount * perMille + 999n) / 1000n

const KES_BANK_PER_MILLE = 10n
const COLLECTION_PER_MILLE = 15n

export const payoutFee = (currency: Currency, method: PayoutMethod, amount: bigint): bigint => {
  if (currency === "KES" && method === "bank") return share(amount, KES_BANK_PER_MILLE)
  return flat[currency][method] ?? flat[currency].other ?? 0n
}

export const collectionFee = (amount: bigint): bigint => share(amount, COLLECTION_PER_MILLE)

/** The same in the form of a contract's settings. */
export const simulatedPayoutFees: ContractFees = readFees(
  payoutFees,
  "UGX:bank:5400,UGX:momo:1000,UGX:wallet:500,KES:momo:3000,KES:bank:1%,KES:wallet:3000,RWF:momo:300,RWF:wallet:300,GHS:momo:500," +
    "GHS:bank:500,GHS:wallet:500,NGN:bank:5000,NGN:wallet:5000,TZS:momo:100000,TZS:wallet:100000,ZMW:momo:1000,XAF:momo:300,XOF:momo:300"
)

export const simulatedFees: ContractFees = [...simulatedPayoutFees, ...readFees(contractCollectionFee, "1.5%")]

function readFees({ of }: Pick<typeof payoutFees, "of">, text: string): ContractFees {
  const fees = of(text)
  if (fees === undefined) throw new Error("the simulator's fees cannot be read")
  return fees
}
