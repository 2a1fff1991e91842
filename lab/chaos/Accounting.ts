import { setTimeout as pause } from "node:timers/promises"
import type { Key } from "./Client.ts"
import { type Operation, perform } from "./Load.ts"
import type { Heard } from "./Receiver.ts"
import { after, each, lookAgain, reconciliation, settle } from "./Settling.ts"
import type { Address, Stage } from "./Stage.ts"
import { type Evidence, type Execution, judge, unexplained, type Verdict } from "./Verdict.ts"

const SETTLE_WITHIN_MS = 600_000
/** So much more for each operation: the machine may be busy with something else. */
const SETTLE_EACH_WITHIN_MS = 10
const ASK_AGAIN_AFTER_MS = 1_000

interface Account {
  readonly operations: ReadonlyArray<Operation>
  readonly tenants: ReadonlyArray<Key>
  /** Any of the gateways. */
  readonly any: () => Address
  readonly heard: Heard
  /** Whether each operation has to end: where no ending of the load stays open for hours. */
  readonly isEachToEnd?: boolean
  /** Whose account is reconciled; undefined where it does not list its movements. */
  readonly provider: string | undefined
}

interface Accounted {
  readonly evidence: Evidence
  readonly verdict: Verdict
  readonly ledgerOk: boolean
  readonly auditOk: boolean
  readonly unexplained: ReadonlyArray<string>
  /** All that is wrong. */
  readonly faults: ReadonlyArray<string>
}

/** After the load: every operation is asked for until it is settled, and then every cent is accounted for. */
export const account = async (
  stage: Stage,
  { any, heard, isEachToEnd = false, operations, provider, tenants }: Account
): Promise<Accounted> => {
  const tooLate = after(SETTLE_WITHIN_MS + operations.length * SETTLE_EACH_WITHIN_MS)
  await each(
    operations.filter(({ settled }) => settled === undefined),
    (operation) => perform(operation, any, tooLate)
  )
  const evidence = await settle({
    operations,
    tenants,
    any,
    executions: () => executionsOf(stage, tooLate),
    heard,
    tooLate,
    lookAgain: () => lookAgain(stage),
    isEachToEnd
  })
  const verdict = judge(evidence)
  const { doubled, floats, invented, lost, open, webhooks } = verdict
  const [ledger, audit] = [await stage.command("ledger", "verify"), await stage.command("audit", "verify")]
  const differences = provider === undefined ? [] : unexplained(await reconciliation(stage, provider), operations)
  const [ledgerOk, auditOk] = [ledger.code === 0, audit.code === 0]
  const faults = [
    ...lost,
    ...doubled,
    ...invented,
    ...floats,
    ...webhooks,
    ...differences,
    ...(ledgerOk ? [] : [`ledger verify: ${ledger.errors}`]),
    ...(auditOk ? [] : [`audit verify: ${audit.errors}`]),
    ...(isEachToEnd && open > 0 ? [`${open} are still open`] : [])
  ]
  return { evidence, verdict, ledgerOk, auditOk, unexplained: differences, faults }
}

/** Only what is judged of each: there may be hundreds of thousands. */
export const executionsOf = async (stage: Stage, tooLate: () => boolean): Promise<ReadonlyArray<Execution>> => {
  for (;;) {
    try {
      const answer = await fetch(`${stage.simulatorUrl}/__simulator/executions`)
      const all: ReadonlyArray<Execution> = JSON.parse(await answer.text())
      return all.map(({ amount_minor, client_reference, direction, provider }) => ({
        amount_minor,
        client_reference,
        direction,
        ...(provider === undefined ? {} : { provider })
      }))
    } catch (cause) {
      if (tooLate()) throw cause
      await pause(ASK_AGAIN_AFTER_MS)
    }
  }
}
