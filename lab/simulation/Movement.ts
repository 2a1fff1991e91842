export type Mode = "live" | "test"
export type MovementKind = "payout" | "collection" | "exchange"

/** One movement of money at a provider, as it really is; the gateway sees of it only what an answer shows. */
export interface Movement {
  readonly provider: string
  /** Which account of the provider's it was. */
  readonly account: string
  readonly mode: Mode
  readonly kind: MovementKind
  readonly reference: string
  readonly currency: string
  /** What really moves, which need not be what was asked for. */
  readonly amount: bigint
  /** What the provider charges in the end, whatever it quoted. */
  readonly fee: bigint
  /** What an exchange brings; null for all else. */
  readonly brings: { readonly currency: string; readonly amount: bigint } | null
  /** When the provider took it. */
  readonly takenAt: number
  /** It came with the code that its payer was sent. */
  readonly hasCode: boolean
  /** From then on it can be found. */
  readonly from: number
  readonly settlesAt: number
  readonly outcome: "successful" | "failed"
  /** When a payout came back, or a charge was taken back; null where it stays as it is. */
  readonly returnsAt: number | null
}

/** A provider's word that something happened, true or not, waiting to be brought. */
export interface Hint {
  readonly provider: string
  readonly mode: Mode
  readonly reference: string
  readonly at: number
  /** False where somebody else made it up. */
  readonly genuine: boolean
  /** The provider sends it until it is taken: nobody asks about a charge that was paid. */
  readonly isRepeated: boolean
  /** Makes the bytes of two hints differ. */
  readonly serial: number
}

export const MINUTE = 60_000
/** What is recorded has the database's time: two records may be so much nearer to each other, or further apart, than they were. */
export const OFF_AT_MOST_MS = 6_000
export const PAYOUT_FEE = 1_000n
/** What is missing where another amount moves than was asked for. */
export const SHORT_BY = 500n
export const collectionFee = (amount: bigint): bigint => (amount * 15n + 999n) / 1000n

/** What the tenant is debited of a payout's fee: never more than was held for it. */
export const feeCharged = (fee: bigint): bigint => (fee < PAYOUT_FEE ? fee : PAYOUT_FEE)

export const isReversed = ({ kind, returnsAt }: Movement): boolean => kind === "collection" && returnsAt !== null

export const executedOf = (movements: ReadonlyArray<Movement>, reference: string | undefined): ReadonlyArray<Movement> =>
  movements.filter((one) => one.reference === reference && one.outcome === "successful")
