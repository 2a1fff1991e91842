import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { seeded } from "../../test/support/Random.ts"
import { executionsOf } from "../chaos/Accounting.ts"
import type { Key } from "../chaos/Client.ts"
import { providers, tellCallbacks, withAccounts } from "../chaos/everything/Accounts.ts"
import { commandOn } from "../chaos/everything/Tenants.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { playedOn } from "../chaos/PlayedOn.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { after, lookAgain, settle } from "../chaos/Settling.ts"
import { openStage, type Stage } from "../chaos/Stage.ts"
import { CREDIT } from "../chaos/Tenants.ts"
import { type Evidence, type Execution, judge } from "../chaos/Verdict.ts"
import { runRecorder } from "../runs/Runs.ts"
import { archivedServer } from "./ArchivedServer.ts"
import {
  changeBy,
  type Difference,
  type Forgotten,
  forgottenAfter,
  listedIn,
  movedTwice,
  ownersOf,
  PAYOUT_FEE,
  unexplainedOf
} from "./Forgotten.ts"
import { makeHolders } from "./Holders.ts"
import { bookAll, freeze, reconciled, unfreeze, wrongFloats } from "./Operators.ts"
import { type Any, BOOKED, load, planned, repeated, wrongAnswers } from "./Payments.ts"

// The database is lost with its only copy while tenants pay and charge at every provider, and restored from a base backup and the archived
// write-ahead log, as docs/operations/durability.md says. What was answered after the archive's end is forgotten. Exits 1 where anything of that is not found again.

const usage =
  "npm run restore-drill -- [--seconds N] [--archive-timeout SECONDS] [--clients N] [--seed N] [--without-freeze] [--record]"
const BACKUP_AFTER_MS = 3_000
const SETTLE_WITHIN_MS = 300_000
/** Where floats are wrong on purpose, waiting does not mend them. */
const SETTLE_WRONG_WITHIN_MS = 30_000
/** What was sent just before the loss has moved its money by then. */
const MOVED_WITHIN_MS = 3_000
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

const main = async () => {
  const { database, variables } = await withAccounts(server.database)
  await playedOn(await openStage(variables, database), play)
}

const play = async (stage: Stage) => {
  const heard = await openReceiver()
  const { calm, busy } = await makeHolders(commandOn(stage), heard)
  await tellCallbacks(stage, stage.gateways[0].url)
  const random = seeded(options.seed)
  const any = () => random.pick(stage.gateways)
  const { clients } = options
  const { answeredAt, lostAt, operations } = await load({
    random,
    holders: busy,
    any,
    clients,
    untilLost: () => untilLost(stage)
  })
  await pause(MOVED_WITHIN_MS)
  const first = planned(calm.key, "payout", operations.length)
  const unpromised = busy.filter(({ isPromised }) => !isPromised).map(({ key }) => key)
  const { forgotten, known, ...found } = await recovered({ stage, operations, concerned: unpromised, first, any })

  // Everybody whose answer is gone, or who never had one, asks again; of those who are frozen half wait until that is over.
  const isFrozen = ({ tenant }: Operation) => !options.isWithoutFreeze && unpromised.includes(tenant)
  const isLate = (one: Operation) => isFrozen(one) && one.amount % 2 === 1
  const unanswered = operations.filter(({ settled }) => settled === undefined)
  const answers = await repeated(
    [...forgotten.answered, ...unanswered].filter((one) => !isLate(one)),
    any
  )
  const now = await server.references()
  const isKnown = ({ client_reference }: Execution) => now.has(client_reference ?? "")
  const evidence = await settle({
    operations: [...operations, first].filter(({ reference }) => now.has(reference ?? "")),
    tenants: busy.map(({ key }) => key),
    any,
    executions: async () => (await executions(stage)).filter(isKnown),
    heard,
    tooLate: after(options.isWithoutFreeze ? SETTLE_WRONG_WITHIN_MS : SETTLE_WITHIN_MS),
    lookAgain: () => lookAgain(stage),
    payoutFee: PAYOUT_FEE
  })
  const remembered = judge(evidence)
  const ownerOf = ownersOf([...operations, first])
  const listed = (await reconciled(stage)).flatMap(listedIn)
  await bookAll({ stage, listed, ownerOf })
  if (!options.isWithoutFreeze) for (const tenant of unpromised) await unfreeze(stage, tenant)
  const booked = new Set(listed.map(({ amount_minor }) => amount_minor))
  const late = await repeated(
    [...forgotten.answered, ...unanswered].filter((one) => isLate(one) && booked.has(one.amount)),
    any
  )
  const moved = await executions(stage)
  const floatOf = ({ app_id }: Key) =>
    moved.reduce((sum, one) => (ownerOf(one).app_id === app_id ? sum + changeBy(one) : sum), CREDIT) -
    reservedOf(evidence, app_id)
  const wrong = await wrongFloats(
    any,
    [calm, ...busy].map(({ key }) => key),
    floatOf
  )
  const twice = movedTwice(moved)
  const unexplained = unexplainedOf(await reconciled(stage), forgotten)
  const earliest = Math.min(lostAt, ...forgotten.answered.map(({ key }) => answeredAt.get(key) ?? lostAt))
  const holderOf = new Map(busy.map((holder) => [holder.key.app_id, holder]))
  const byProvider = providers.flatMap((provider) => {
    const own = [...answers, ...late].filter(({ operation }) => holderOf.get(operation.tenant.app_id)?.provider === provider)
    return [
      [`${provider}_repeated`, own.length],
      [`${provider}_moved_twice`, movedTwice(moved.filter((one) => one.provider === provider)).length]
    ]
  })
  report(
    {
      operations: operations.length,
      accepted: operations.filter(({ settled }) => settled === "accepted").length,
      forgotten: forgotten.answered.length,
      seconds_forgotten: Math.round((lostAt - earliest) / 100) / 10,
      moved_and_forgotten: forgotten.moved.length,
      repeated: answers.length + late.length,
      moved_twice: twice.length,
      ...Object.fromEntries(byProvider),
      booked_by_hand: listed.length,
      refused_as_booked: late.length,
      open: remembered.open,
      ...found
    },
    [
      ...[remembered.lost, remembered.doubled, remembered.invented, remembered.floats, remembered.webhooks].flat(),
      ...wrong,
      ...wrongAnswers(answers, isFrozen, known),
      ...late.filter(({ code }) => code !== BOOKED).map(({ code }) => `a repeat of what was booked was answered ${code}`),
      ...notFoundAgain(forgotten, found, unexplained),
      ...twice.map((name) => `moved twice: ${name}`)
    ]
  )
  await heard.close()
}

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

/** What docs/operations/durability.md asks for before a restored database takes traffic, and how long after the order to restore each was done. */
const recovered = async ({ any, concerned, first, operations, stage }: Recovering) => {
  const began = performance.now()
  const since = () => Math.round(performance.now() - began)
  await server.restore()
  const restored_after_ms = since()
  const [ledger, audit] = [await stage.command("ledger", "verify"), await stage.command("audit", "verify")]
  const differences = await reconciled(stage)
  // Where the provider does not promise to take a reference once, a repeated request would move the money again.
  if (!options.isWithoutFreeze) for (const tenant of concerned) await freeze(stage, tenant)
  const checked_after_ms = since()
  const [one, two] = stage.actors
  await Promise.all([one.start(), two.start()])
  const known = await server.references()
  const forgotten = forgottenAfter({ operations, known, executions: await executions(stage), differences })
  await perform(first, any, () => false)
  const first_201_after_ms = since()
  const isOk = { ledger_ok: ledger.code === 0, audit_ok: audit.code === 0 }
  return { known, forgotten, restored_after_ms, checked_after_ms, first_201_after_ms, ...isOk }
}

await main()
