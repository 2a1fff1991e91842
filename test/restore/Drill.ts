import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { executionsOf } from "../chaos/Accounting.ts"
import { tellCallbacks } from "../chaos/Callbacks.ts"
import type { Key } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { playedOn } from "../chaos/PlayedOn.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { after, lookAgain, settle } from "../chaos/Settling.ts"
import { openStage, type Stage } from "../chaos/Stage.ts"
import { CREDIT, makeTenants } from "../chaos/Tenants.ts"
import { type Evidence, type Execution, judge, PAYOUT_FEE } from "../chaos/Verdict.ts"
import { runRecorder } from "../runs/Runs.ts"
import { seeded } from "../support/Random.ts"
import { archivedServer } from "./ArchivedServer.ts"
import { changeBy, type Difference, type Forgotten, forgottenAfter, movedTwice, ownersOf, unexplainedOf } from "./Forgotten.ts"
import { bookAll, freeze, reconciled, unfreeze, wrongFloats } from "./Operators.ts"
import { type Any, load, planned, repeated } from "./Payments.ts"

// The database is lost with its only copy while tenants pay, and restored from a base backup and the archived write-ahead log, as
// docs/operations.md says. What was answered after the archive's end is forgotten. Exits 1 where anything of that is not found again.

const usage =
  "npm run restore-drill -- [--seconds N] [--archive-timeout SECONDS] [--clients N] [--seed N] [--without-freeze] [--record]"
const BACKUP_AFTER_MS = 3_000
const SETTLE_WITHIN_MS = 300_000
/** Where floats are wrong on purpose, waiting does not mend them. */
const SETTLE_WRONG_WITHIN_MS = 30_000
/** What was sent just before the loss has moved its money by then. */
const MOVED_WITHIN_MS = 3_000
const FROZEN = "tenant_frozen"
const SHOWN = 30

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "45" },
        "archive-timeout": { type: "string", default: "10" },
        clients: { type: "string", default: "8" },
        seed: { type: "string", default: "1" },
        "without-freeze": { type: "boolean", default: false },
        record: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${text} is not a whole number above 0`)
      return Number(text)
    }
    const { clients, record, seconds, seed } = values
    const archiveTimeout = number(values["archive-timeout"])
    const isWithoutFreeze = values["without-freeze"]
    return { isWithoutFreeze, seconds: number(seconds), archiveTimeout, clients: number(clients), seed: number(seed), record }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const putOnRecord = runRecorder("restore-drill", options.record)
const server = archivedServer(options.archiveTimeout)

const main = async () => playedOn(await openStage({}, server.database), play)

const play = async (stage: Stage) => {
  const heard = await openReceiver()
  const [calm, ...busy] = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage)
  const random = seeded(options.seed)
  const any = () => random.pick(stage.gateways)
  const { clients } = options
  const { answeredAt, lostAt, operations } = await load({
    random,
    tenants: busy,
    any,
    clients,
    untilLost: () => untilLost(stage)
  })
  await pause(MOVED_WITHIN_MS)
  const first = planned(calm, "payout", operations.length)
  const { forgotten, known, ...found } = await recovered({ stage, operations, concerned: busy, first, any })

  // Everybody whose answer is gone, or who never had one, asks again.
  const again = await repeated(forgotten.answered, any)
  const unanswered = operations.filter(({ settled }) => settled === undefined)
  const answers = await repeated(unanswered, any)
  const isKnown = ({ client_reference }: Execution) => known.has(client_reference ?? "")
  const evidence = await settle({
    operations: operations.filter(({ reference }) => known.has(reference ?? "")),
    tenants: busy,
    any,
    executions: async () => (await executions(stage)).filter(isKnown),
    heard,
    tooLate: after(options.isWithoutFreeze ? SETTLE_WRONG_WITHIN_MS : SETTLE_WITHIN_MS),
    lookAgain: () => lookAgain(stage)
  })
  const remembered = judge(evidence)
  const ownerOf = ownersOf([...operations, first])
  await bookAll({ stage, listed: forgotten.listed, ownerOf })
  for (const tenant of busy) await unfreeze(stage, tenant)
  const moved = await executions(stage)
  const floatOf = ({ app_id }: Key) =>
    moved.reduce((sum, one) => (ownerOf(one).app_id === app_id ? sum + changeBy(one) : sum), CREDIT) -
    reservedOf(evidence, app_id)
  const wrong = await wrongFloats(any, [calm, ...busy], floatOf)
  const twice = movedTwice(moved)
  const unexplained = unexplainedOf(await reconciled(stage), forgotten)
  const earliest = Math.min(lostAt, ...forgotten.answered.map(({ key }) => answeredAt.get(key) ?? lostAt))
  report(
    {
      operations: operations.length,
      accepted: operations.filter(({ settled }) => settled === "accepted").length,
      forgotten: forgotten.answered.length,
      seconds_forgotten: Math.round((lostAt - earliest) / 100) / 10,
      moved_and_forgotten: forgotten.moved.length,
      listed_by_reconcile: forgotten.moved.length - forgotten.unlisted.length,
      repeated: again.length + answers.length,
      moved_twice: twice.length,
      open: remembered.open,
      ...found
    },
    [
      ...[remembered.lost, remembered.doubled, remembered.invented, remembered.floats, remembered.webhooks].flat(),
      ...wrong,
      ...wrongAnswers(again, answers, known),
      ...notFoundAgain(forgotten, found, unexplained),
      ...twice.map((name) => `moved twice: ${name}`)
    ]
  )
  await heard.close()
}

/** Of those whose answer was forgotten, and of those who had none, whose key may be remembered. */
const wrongAnswers = (
  again: ReadonlyArray<string>,
  late: ReadonlyArray<string>,
  known: ReadonlySet<string>
): ReadonlyArray<string> => [
  ...again.filter((answer) => answer !== FROZEN).map((answer) => `a repeat of what is forgotten was answered ${answer}`),
  ...late
    .filter((answer) => answer !== FROZEN && !known.has(answer))
    .map((answer) => `a repeat of what had no answer was answered ${answer}`)
]

const notFoundAgain = (
  { unlisted }: Forgotten,
  { audit_ok, ledger_ok }: { readonly audit_ok: boolean; readonly ledger_ok: boolean },
  unexplained: ReadonlyArray<Difference>
): ReadonlyArray<string> => [
  ...(ledger_ok ? [] : ["ledger verify found a difference"]),
  ...(audit_ok ? [] : ["audit verify found a difference"]),
  ...unlisted.map((reference) => `${reference}: executed, forgotten, and not listed by reconcile`),
  ...unexplained.map(({ kind, reference }) => `reconcile still says ${kind} of ${reference}`)
]

const report = (figures: Readonly<Record<string, unknown>>, faults: ReadonlyArray<string>) => {
  for (const [name, value] of Object.entries({ ...figures, faults: faults.length })) console.log(`${name.padEnd(24)} ${value}`)
  for (const fault of faults.slice(0, SHOWN)) console.error(fault)
  process.exitCode = faults.length === 0 ? 0 : 1
  putOnRecord(faults.length === 0, { ...figures, faults: faults.length })
}

const executions = (stage: Stage) => executionsOf(stage, () => true)

/** Of payouts that are still open. */
const reservedOf = ({ operations, records }: Evidence, appId: string): number =>
  operations
    .filter(({ kind, reference, tenant }) => kind === "payout" && tenant.app_id === appId && isPending(records, reference))
    .reduce((sum, { amount }) => sum + amount + PAYOUT_FEE, 0)

const isPending = (records: Evidence["records"], reference = "") => records.get(reference)?.["status"] === "pending"

/** A base backup soon after the beginning; at the end everything but the archive is gone at once. */
const untilLost = async ({ actors: [one, two] }: Stage) => {
  await pause(BACKUP_AFTER_MS)
  await server.backUp()
  await pause(options.seconds * 1000 - BACKUP_AFTER_MS)
  const lostAt = performance.now()
  await Promise.all([server.lose(), one.kill(), two.kill()])
  return lostAt
}

interface Recovering {
  readonly stage: Stage
  readonly operations: ReadonlyArray<Operation>
  /** Whose answers may be forgotten. */
  readonly concerned: ReadonlyArray<Key>
  /** The first payment afterwards, of a tenant that is not concerned. */
  readonly first: Operation
  readonly any: Any
}

/** What docs/operations.md asks for before a restored database takes traffic, and how long after the order to restore each was done. */
const recovered = async ({ any, concerned, first, operations, stage }: Recovering) => {
  const began = performance.now()
  const since = () => Math.round(performance.now() - began)
  const restored = await server.restore()
  const restored_after_ms = since()
  const [ledger, audit] = [await stage.command("ledger", "verify"), await stage.command("audit", "verify")]
  const differences = await reconciled(stage)
  // A repeated request would be a second payout.
  if (!options.isWithoutFreeze) for (const tenant of concerned) await freeze(stage, tenant)
  const checked_after_ms = since()
  const [one, two] = stage.actors
  await Promise.all([one.start(), two.start()])
  const known = new Set((await restored.sql("SELECT reference FROM transactions")).map(({ reference }) => String(reference)))
  const forgotten = forgottenAfter({ operations, known, executions: await executions(stage), differences })
  await perform(first, any, () => false)
  const first_201_after_ms = since()
  const isOk = { ledger_ok: ledger.code === 0, audit_ok: audit.code === 0 }
  return { known, forgotten, restored_after_ms, checked_after_ms, first_201_after_ms, ...isOk }
}

await main()
