import { type Posting, slotOf } from "../../domain/Ledger.ts"
import type { ApplyStep } from "../../services/ports/FloatLedger.ts"
import { callOf, callOfTenant, columnsOf, storable } from "../connection/Columns.ts"
import { stepColumns } from "./StepColumns.ts"
import type { Traced } from "./StepTracing.ts"

type Step = Traced<ApplyStep>

/** One value of each posting, as PostgreSQL writes an array: currencies, accounts and amounts need no quotes. */
const arrayOf = ({ entry }: Step, of: (posting: Posting) => string | bigint): string =>
  `{${entry === null ? "" : entry.postings.map(of).join(",")}}`

const steps = columnsOf<Step>({
  ...stepColumns,
  expected_revision: { type: "bigint", of: ({ expectedRevision }) => expectedRevision },
  raw_request: { type: "text", of: ({ raw }) => raw?.request ?? null },
  raw_response: { type: "text", of: ({ raw }) => raw?.response ?? null },
  slot: { type: "text", of: ({ entry }) => (entry === null ? null : slotOf(entry)) },
  phase: { type: "text", of: ({ entry }) => entry?.phase ?? null },
  currencies: { type: "text", of: (step) => arrayOf(step, ({ currency }) => currency) },
  accounts: { type: "text", of: (step) => arrayOf(step, ({ account }) => account) },
  amounts: { type: "text", of: (step) => arrayOf(step, ({ amount }) => amount) },
  give_back: { type: "boolean", of: ({ restoreLimits }) => restoreLimits },
  accepted: { type: "boolean", of: ({ savesBeneficiary }) => savesBeneficiary },
  wipe: { type: "boolean", of: ({ wipeDestination }) => wipeDestination },
  endpoint: { type: "text", of: ({ response }) => response?.claim.scope.endpoint ?? null },
  key: { type: "text", of: ({ response }) => response?.claim.scope.key ?? null },
  fence: { type: "bigint", of: ({ response }) => response?.claim.fence ?? null },
  answer_status: { type: "int", of: ({ response }) => response?.response.status ?? null },
  answer_body: {
    type: "bytea",
    of: ({ response }) => (response === null ? null : Buffer.from(storable(response.response.body)))
  }
})

/** Applies one fact, and a batch of them: the functions of the database say how. */
const applyStepCall = `SELECT applied FROM ${callOf("apply_step", steps.names)}`
const applyStepsCall = `SELECT applied FROM ${callOf("apply_steps", steps.names)}`
/** The same on Citus, of steps of one tenant. */
const applyStepOfTenantCall = `SELECT applied FROM ${callOfTenant("apply_step", steps.names)}`
const applyStepsOfTenantCall = `SELECT applied FROM ${callOfTenant("apply_steps", ["app", ...steps.names])}`

/** The statement for these steps, and its parameters. A step that is alone costs less by itself, several less together. */
export const applyStatement = (all: ReadonlyArray<Step>): readonly [string, ReadonlyArray<unknown>] => {
  const [step] = all
  return step !== undefined && all.length === 1 ? [applyStepCall, steps.values(step)] : [applyStepsCall, steps.arrays(all)]
}

/** The same on Citus, where all steps are of one tenant. */
export const applyStatementOfTenant = (all: ReadonlyArray<Step>): readonly [string, ReadonlyArray<unknown>] => {
  const [step] = all
  return step !== undefined && all.length === 1
    ? [applyStepOfTenantCall, steps.values(step)]
    : [applyStepsOfTenantCall, [step?.next.appId ?? "", ...steps.arrays(all)]]
}
