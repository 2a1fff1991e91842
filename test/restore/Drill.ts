import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { tellCallbacks } from "../chaos/Callbacks.ts"
import type { Key } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { after, lookAgain, settle } from "../chaos/Settling.ts"
import { openStage, type Stage } from "../chaos/Stage.ts"
import { makeTenants } from "../chaos/Tenants.ts"
import { type Execution, judge } from "../chaos/Verdict.ts"
import { recordRun } from "../runs/Runs.ts"
import { seeded } from "../support/Random.ts"
import { archivedServer } from "./ArchivedServer.ts"
import { forgottenAfter, unexplainedOf, withTenants } from "./Forgotten.ts"
import { bookAll, executions, freeze, reconciled } from "./Operators.ts"
import { type Any, load, planned, repeated } from "./Payments.ts"

// The database is lost with all its copies while tenants pay, and restored from a base backup and the archived write-ahead log, as
// docs/operations.md says. What was answered after the archive's end is forgotten. Exits 1 where anything of that is not found again.

const usage =
  "npm run restore-drill -- [--seconds N] [--archive-timeout SECONDS] [--clients N] [--seed N] [--without-freeze] [--record]"
const BACKUP_AFTER_MS = 3_000
const SETTLE_WITHIN_MS = 300_000
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
    const thawed = values["without-freeze"]
    return { thawed, seconds: number(seconds), archiveTimeout, clients: number(clients), seed: number(seed), record }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const server = archivedServer(options.archiveTimeout)

const main = async () => {
  const stage = await openStage({}, server.database)
  try {
    await play(stage)
  } catch (error) {
    // Such as a machine that is too busy to bring a process back in time: nothing was found out.
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await stage.close()
  }
}

const play = async (stage: Stage) => {
  const heard = await openReceiver()
  const [calm, ...busy] = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage)
  const random = seeded(options.seed)
  const any = () => random.pick(stage.gateways)
  const { clients } = options
  const { answeredAt, operations } = await load({ random, tenants: busy, any, clients, disturb: () => untilLost(stage) })
  const lostAt = performance.now()
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
    tooLate: after(SETTLE_WITHIN_MS),
    lookAgain: () => lookAgain(stage)
  })
  const { doubled, floats, invented, lost, open, webhooks } = judge(evidence)
  const owned = withTenants(forgotten.moved, operations)
  const wrong = await bookAll({ stage, tenants: busy, any, movements: owned, floats: evidence.floats })
  const atLast = (await executions(stage)).filter((one) => !isKnown(one) && one.client_reference !== first.reference)
  const unexplained = unexplainedOf(await reconciled(stage), forgotten)
  const earliest = Math.min(lostAt, ...forgotten.answered.map(({ key }) => answeredAt.get(key) ?? lostAt))
  const figures = {
    operations: operations.length,
    accepted: operations.filter(({ settled }) => settled === "accepted").length,
    forgotten: forgotten.answered.length,
    seconds_forgotten: Math.round((lostAt - earliest) / 100) / 10,
    moved_and_forgotten: forgotten.moved.length,
    listed_by_reconcile: forgotten.moved.length - forgotten.unlisted.length,
    booked_by_hand: owned.length,
    paid_twice: atLast.length - forgotten.moved.length,
    open,
    ...found
  }
  const faults = [
    ...lost,
    ...doubled,
    ...invented,
    ...floats,
    ...webhooks,
    ...wrong,
    ...(found.ledger_ok ? [] : ["ledger verify found a difference"]),
    ...(found.audit_ok ? [] : ["audit verify found a difference"]),
    ...forgotten.unlisted.map((reference) => `${reference}: executed, forgotten, and not listed by reconcile`),
    ...again
      .filter((answer) => answer !== FROZEN)
      .map((answer) => `who asked again for what is forgotten was answered ${answer}`),
    ...answers
      .filter((answer) => answer !== FROZEN && !known.has(answer))
      .map((answer) => `who had no answer and asked again was answered ${answer}`),
    ...(figures.paid_twice === 0 ? [] : [`${figures.paid_twice} were paid twice`]),
    ...unexplained.map(({ kind, reference }) => `reconcile still says ${kind} of ${reference}`)
  ]
  await heard.close()
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(28)} ${value}`)
  for (const fault of faults.slice(0, SHOWN)) console.error(fault)
  if (options.record) recordRun("restore-drill", faults.length === 0, { ...figures, faults: faults.length })
  process.exitCode = faults.length === 0 ? 0 : 1
}

/** A base backup soon after the beginning; at the end everything but the archive is gone at once. */
const untilLost = async ({ actors: [one, two] }: Stage) => {
  await pause(BACKUP_AFTER_MS)
  await server.backUp()
  await pause(options.seconds * 1000 - BACKUP_AFTER_MS)
  await Promise.all([server.lose(), one.kill(), two.kill()])
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
  if (!options.thawed) for (const tenant of concerned) await freeze(stage, tenant)
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
