import type { LedgerRecord } from "../../domain/Exchange.ts"
import { iso } from "../../domain/Instant.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { OpenStep } from "../../services/ports/FloatLedger.ts"
import { columnsOf, keyColumns, postingColumns, postingsOf, writtenColumns } from "./StepColumns.ts"
import type { Traced } from "./StepTracing.ts"

type Step = Traced<OpenStep>

const amountHeld = (record: LedgerRecord): bigint => {
  switch (record.kind) {
    case "collection":
      return 0n
    case "payout":
      return record.principal + record.heldFee
    case "exchange":
      return record.amount
  }
}

/** The position that its success will credit; null where nothing comes in. */
const creditedCurrency = (record: LedgerRecord): string | null =>
  record.kind === "exchange" ? record.destinationCurrency : record.kind === "collection" ? record.currency : null

const countersOf = ({ counters }: Step): ReadonlyArray<WindowUse> => counters

/** A window as its transaction keeps it, so that it can be given back. */
const storedCounter = ({ amount, appId, mode, name, startsAt, subject }: WindowUse) => ({
  app_id: appId,
  mode,
  name,
  subject,
  starts_at: iso(startsAt),
  amount: amount.toString()
})

export const steps = columnsOf<Step>(
  {
    ...keyColumns,
    ...writtenColumns,
    kind: { type: "text", of: ({ transaction }) => transaction.kind },
    currency: { type: "text", of: ({ transaction }) => transaction.currency },
    held: { type: "bigint", of: ({ transaction }) => amountHeld(transaction) },
    credited_currency: { type: "text", of: ({ transaction }) => creditedCurrency(transaction) },
    endpoint: { type: "text", of: ({ claim }) => claim.scope.endpoint },
    key: { type: "text", of: ({ claim }) => claim.scope.key },
    fence: { type: "bigint", of: ({ claim }) => claim.fence },
    sealed_destination: { type: "bytea", of: ({ sealedDestination }) => sealedDestination },
    party_hash: { type: "bytea", of: ({ partyHash }) => partyHash },
    guarded: { type: "boolean", of: ({ payer }) => payer !== undefined },
    payer_holder: { type: "text", of: ({ payer }) => payer?.holder ?? null },
    counted: { type: "text", of: (step) => JSON.stringify(countersOf(step).map(storedCounter)) },
    beneficiary: { type: "text", of: ({ beneficiary }) => (beneficiary === null ? null : JSON.stringify(beneficiary)) },
    traceparent: { type: "text", of: ({ traceparent }) => traceparent }
  },
  1
)

export const postings = columnsOf(postingColumns, steps.next)

export const windows = columnsOf<WindowUse>(
  {
    app_id: { type: "text", of: ({ appId }) => appId },
    mode: { type: "text", of: ({ mode }) => mode },
    name: { type: "text", of: ({ name }) => name },
    subject: { type: "text", of: ({ subject }) => subject },
    starts_at: { type: "timestamptz", of: ({ startsAt }) => startsAt }
  },
  postings.next
)

/** What a step needs of a window: both are named by their numbers in the batch, `pos` is its place in the order of refusals. */
interface Need {
  readonly step: number
  readonly pos: number
  readonly counter: number
  readonly amount: bigint
  readonly bound: bigint
}

export const needs = columnsOf<Need>(
  {
    step: { type: "int", of: ({ step }) => step },
    pos: { type: "int", of: ({ pos }) => pos },
    counter: { type: "int", of: ({ counter }) => counter },
    amount: { type: "bigint", of: ({ amount }) => amount },
    bound: { type: "bigint", of: ({ bound }) => bound }
  },
  windows.next
)

/** The windows of a batch, each once, and what is needed of them. */
const windowsOf = (all: ReadonlyArray<Step>) => {
  const numbers = new Map<string, number>()
  const found: Array<WindowUse> = []
  const needed = all.flatMap((step, index) =>
    countersOf(step).map((counter, place): Need => {
      const { amount, appId, bound, mode, name, startsAt, subject } = counter
      const window = [appId, mode, name, subject, startsAt].join("|")
      const known = numbers.get(window) ?? found.push(counter)
      numbers.set(window, known)
      return { step: index + 1, pos: place + 1, counter: known, amount, bound }
    })
  )
  return { found, needed }
}

/** The statement's parameters for these steps. */
export const openParameters = (all: ReadonlyArray<Step>): ReadonlyArray<unknown> => {
  const { found, needed } = windowsOf(all)
  return [
    ...steps.parameters(all),
    ...postings.parameters(postingsOf(all)),
    ...windows.parameters(found),
    ...needs.parameters(needed)
  ]
}
