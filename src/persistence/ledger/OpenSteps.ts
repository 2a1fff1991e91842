import type { Beneficiary } from "../../domain/Beneficiary.ts"
import { iso } from "../../domain/Instant.ts"
import type { Entry } from "../../domain/Ledger.ts"
import { REFUND_WINDOW } from "../../domain/Refund.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { OpenStep } from "../../services/ports/FloatLedger.ts"
import { callOf, callOfTenant, columnsOf, storableJson } from "../connection/Columns.ts"
import { stepColumns } from "./StepColumns.ts"
import type { Traced } from "./StepTracing.ts"

type TracedOpenStep = Traced<OpenStep>

/** A step, and the rows that it locks, by their numbers in the batch. */
interface Numbered {
  readonly step: TracedOpenStep
  readonly tenant: number
  readonly payer: number | null
  readonly position: number | null
}

/** The amount that a reservation takes from `available`. */
const amountHeld = (entry: Entry | null): bigint =>
  entry?.postings.reduce((sum, { account, amount }) => (account === "reserved" ? sum + amount : sum), 0n) ?? 0n

/** The currency of the position that its success will credit; null when nothing is credited. */
const creditedCurrency = (record: Transaction): string | null =>
  record.kind === "exchange" ? record.destinationCurrency : record.kind === "collection" ? record.currency : null

/**
 * The windows as stored with their transaction, so that their counts can be given back: without what follows from the
 * transaction (`counted_windows`), and without the fence of refunds.
 */
const storedWindows = ({ counters, partyHash, transaction }: TracedOpenStep): string => {
  const party = Buffer.from(partyHash ?? []).toString("hex")
  return JSON.stringify(
    counters.filter(isGivenBack).map(({ amount, appId, mode, name, startsAt, subject }) => ({
      app_id: appId === transaction.appId ? undefined : appId,
      mode: mode === transaction.mode ? undefined : mode,
      name,
      subject: subject === "" ? undefined : subject === party ? "#" : subject,
      starts_at: iso(startsAt),
      amount: amount === 1n ? undefined : amount.toString()
    }))
  )
}

/** A decision about a collection's refunds is never taken back. */
const isGivenBack = ({ name }: WindowUse): boolean => name !== REFUND_WINDOW

/** The values from which the database builds a beneficiary; owner and time come from the payout. */
const ofRecipient = [
  "id",
  "type",
  "country",
  "currency",
  "network",
  "bankCode",
  "branchCode",
  "bankName",
  "accountName",
  "maskedDestination"
] as const satisfies ReadonlyArray<keyof Beneficiary>

/**
 * Without nulls, and with the account's hash, which the database extracts (`account_hash_in`), so that the functions keep their
 * parameters.
 */
const recipientOf = ({ accountHash, beneficiary }: TracedOpenStep): string | null => {
  if (beneficiary === null) return null
  const known = ofRecipient.map((name) => [name, beneficiary[name] ?? undefined] as const)
  return storableJson({
    ...Object.fromEntries(known),
    accountHash: accountHash && Buffer.from(accountHash).toString("hex")
  })
}

const steps = columnsOf<TracedOpenStep>({
  ...stepColumns,
  kind: { type: "text", of: ({ transaction }) => transaction.kind },
  sealed_destination: { type: "bytea", of: ({ sealedDestination }) => sealedDestination },
  beneficiary: { type: "text", of: recipientOf },
  party_hash: { type: "bytea", of: ({ partyHash }) => partyHash },
  counted: { type: "text", of: storedWindows },
  traceparent: { type: "text", of: ({ traceparent }) => traceparent },
  endpoint: { type: "text", of: ({ claim }) => claim.scope.endpoint },
  key: { type: "text", of: ({ claim }) => claim.scope.key },
  fence: { type: "bigint", of: ({ claim }) => claim.fence },
  held: { type: "bigint", of: ({ entry }) => amountHeld(entry) },
  credited_currency: { type: "text", of: ({ transaction }) => creditedCurrency(transaction) },
  last_charge_seen: { type: "text", of: ({ payer }) => payer?.holder ?? null }
})

/** The additional columns of a single step; in a batch the numbers replace them. */
const alone = columnsOf<TracedOpenStep>({
  currency: { type: "text", of: ({ transaction }) => transaction.currency },
  guarded: { type: "boolean", of: ({ payer }) => payer !== undefined }
})

const numbers = columnsOf<Numbered>({
  windows: { type: "int", of: ({ step }) => step.counters.length },
  tenant: { type: "int", of: ({ tenant }) => tenant },
  payer: { type: "int", of: ({ payer }) => payer },
  position: { type: "int", of: ({ position }) => position }
})

const tenants = columnsOf<TracedOpenStep>({ tenant_app_id: { type: "text", of: ({ transaction }) => transaction.appId } })

const payers = columnsOf<TracedOpenStep>({
  payer_app_id: { type: "text", of: ({ transaction }) => transaction.appId },
  payer_mode: { type: "text", of: ({ transaction }) => transaction.mode },
  payer_hash: { type: "bytea", of: ({ partyHash }) => partyHash }
})

const windows = columnsOf<WindowUse>({
  window_app_id: { type: "text", of: ({ appId }) => appId },
  window_mode: { type: "text", of: ({ mode }) => mode },
  window_name: { type: "text", of: ({ name }) => name },
  window_subject: { type: "text", of: ({ subject }) => subject },
  window_starts_at: { type: "timestamptz", of: ({ startsAt }) => startsAt }
})

const positions = columnsOf<TracedOpenStep>({
  position_app_id: { type: "text", of: ({ transaction }) => transaction.appId },
  position_mode: { type: "text", of: ({ transaction }) => transaction.mode },
  position_currency: { type: "text", of: ({ transaction }) => transaction.currency }
})

const needs = columnsOf<{ readonly window: number; readonly use: WindowUse }>({
  need_window: { type: "int", of: ({ window }) => window },
  need_amount: { type: "bigint", of: ({ use }) => use.amount },
  need_bound: { type: "bigint", of: ({ use }) => use.bound }
})

const ownNeeds = columnsOf<{ readonly place: number; readonly use: WindowUse }>({
  window_amount: { type: "bigint", of: ({ use }) => use.amount },
  window_bound: { type: "bigint", of: ({ use }) => use.bound },
  window_place: { type: "int", of: ({ place }) => place }
})

const windowKey = ({ appId, mode, name, startsAt, subject }: WindowUse): string =>
  [appId, mode, name, subject, iso(startsAt)].join("\u0000")

/** A window with its key, which is built once because comparing windows needs it repeatedly. */
interface Keyed {
  readonly use: WindowUse
  readonly key: string
  /** Its place among its step's windows, from one. */
  readonly place: number
}

const keyedOf = ({ counters }: TracedOpenStep): ReadonlyArray<Keyed> =>
  counters.map((use, index) => ({ use, key: windowKey(use), place: index + 1 }))

/** Windows are locked in byte order of their keys: in a batch, in a single step, and when counts are given back. */
const inKeyOrder = (a: Keyed, b: Keyed): number => (a.key < b.key ? -1 : 1)

const useOf = ({ use }: Keyed): WindowUse => use

/** The distinct rows that several steps name, with their numbers, from one. */
const numbering = <Row>(rows: ReadonlyArray<Row>, keyOf: (row: Row) => string) => {
  const numbers = new Map<string, number>()
  const distinct: Array<Row> = []
  for (const row of rows) {
    const key = keyOf(row)
    if (!numbers.has(key)) numbers.set(key, distinct.push(row))
  }
  return { rows: distinct, of: (row: Row): number => numbers.get(keyOf(row)) ?? 0 }
}

const tenantKey = ({ transaction }: TracedOpenStep): string => transaction.appId
const payerKey = ({ partyHash, transaction: { appId, mode } }: TracedOpenStep): string =>
  [appId, mode, Buffer.from(partyHash ?? []).toString("hex")].join("|")
const positionKey = ({ transaction: { appId, currency, mode } }: TracedOpenStep): string => [appId, mode, currency].join("|")

const reserves = ({ entry }: TracedOpenStep): boolean => amountHeld(entry) > 0n
const isGuarded = ({ payer }: TracedOpenStep): boolean => payer !== undefined

const batchParameters = (all: ReadonlyArray<TracedOpenStep>): ReadonlyArray<unknown> => {
  const tenant = numbering(all, tenantKey)
  const payer = numbering(all.filter(isGuarded), payerKey)
  const position = numbering(all.filter(reserves), positionKey)
  const uses = all.flatMap(keyedOf)
  const window = numbering(uses.toSorted(inKeyOrder), ({ key }) => key)
  const numbered = all.map((step) => ({
    step,
    tenant: tenant.of(step),
    payer: isGuarded(step) ? payer.of(step) : null,
    position: reserves(step) ? position.of(step) : null
  }))
  return [
    ...steps.arrays(all),
    ...numbers.arrays(numbered),
    ...tenants.arrays(tenant.rows),
    ...payers.arrays(payer.rows),
    ...windows.arrays(window.rows.map(useOf)),
    ...positions.arrays(position.rows),
    ...needs.arrays(uses.map((one) => ({ use: one.use, window: window.of(one) })))
  ]
}

const singleParameters = (step: TracedOpenStep): ReadonlyArray<unknown> => {
  const own = keyedOf(step).toSorted(inKeyOrder)
  return [...steps.values(step), ...alone.values(step), ...windows.arrays(own.map(useOf)), ...ownNeeds.arrays(own)]
}

const namesOf = (groups: ReadonlyArray<{ readonly names: ReadonlyArray<string> }>) => groups.flatMap(({ names }) => names)

/** The functions that open one transaction, or a batch of them. */
const verdicts = "SELECT verdict, reservable, failed_window FROM"
const [single, batch] = [
  namesOf([steps, alone, windows, ownNeeds]),
  namesOf([steps, numbers, tenants, payers, windows, positions, needs])
]
const openStepCall = `${verdicts} ${callOf("open_step", single)}`
const openStepsCall = `${verdicts} ${callOf("open_steps", batch)}`
/** The same on Citus, for steps of one tenant. */
const openStepOfTenantCall = `${verdicts} ${callOfTenant("open_step", single)}`
const openStepsOfTenantCall = `${verdicts} ${callOfTenant("open_steps", ["app", ...batch])}`

/** The statement for these steps, and its parameters. For one step the single form is cheaper, for several the batch. */
export const openStatement = (all: ReadonlyArray<TracedOpenStep>): readonly [string, ReadonlyArray<unknown>] => {
  const [step] = all
  return step !== undefined && all.length === 1 ? [openStepCall, singleParameters(step)] : [openStepsCall, batchParameters(all)]
}

/** The same on Citus, where all steps are of one tenant. */
export const openStatementOfTenant = (all: ReadonlyArray<TracedOpenStep>): readonly [string, ReadonlyArray<unknown>] => {
  const [step] = all
  return step !== undefined && all.length === 1
    ? [openStepOfTenantCall, singleParameters(step)]
    : [openStepsOfTenantCall, [step?.transaction.appId ?? "", ...batchParameters(all)]]
}
