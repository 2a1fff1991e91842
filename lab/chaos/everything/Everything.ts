import { appendFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { parseArgs } from "node:util"
import { seeded } from "../../../test/support/Random.ts"
import { commitPlayed, mustStillPlay } from "../../runs/Commit.ts"
import { openReceiver } from "../Receiver.ts"
import { after, each } from "../Settling.ts"
import { openStage, type Stage } from "../Stage.ts"
import { providers, tellCallbacks, withAccounts } from "./Accounts.ts"
import { openBooks } from "./Books.ts"
import { judge } from "./Judge.ts"
import { type Operation, type OperationKind, perform, planner, type World } from "./Load.ts"
import { operate, passed } from "./Operators.ts"
import { killEverything, openProxy } from "./Processes.ts"
import { type Difference, explained } from "./Reconciled.ts"
import { settle } from "./Settle.ts"
import { nextSeed, RECORD } from "./Sums.ts"
import { commandOn, makeHolders } from "./Tenants.ts"

// Everything at once: every provider and ending, both modes, exchanges, codes, rulings, keys, freezes and settings, while gateways,
// a proxy, the simulator and PostgreSQL are killed. Each part is a stage of its own, and with --record a line of docs/reliability/kills.jsonl:
// without a seed a run goes on after the last one.

const usage = "npm run chaos -- --everything [--parts N] [--seconds N] [--seed N] [--clients N] [--record]"

/** Settling goes on while something still changes; a machine that does other work besides needs long. */
const SETTLE_WITHIN_MS = 1_800_000
const SHOWN = 60

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        everything: { type: "boolean" },
        parts: { type: "string", default: "1" },
        seconds: { type: "string", default: "150" },
        seed: { type: "string", default: String(nextSeed()) },
        clients: { type: "string", default: "96" },
        record: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${text} is not a whole number above 0`)
      return Number(text)
    }
    const { clients, parts, record, seconds, seed } = values
    return { parts: number(parts), seconds: number(seconds), seed: number(seed), clients: number(clients), record }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

/** Short where only time would pass; what is decided by time is as in production, only sooner. */
const settings = {
  SIMULATOR_DELAY_MS: "50",
  PROVIDER_TIMEOUT_MS: "1500",
  NOT_FOUND_GRACE: "50s",
  REDIRECT_EXPIRY: "40s",
  COLLECTION_EXPIRY: "40s",
  OTP_EXPIRY: "40s"
}

const part = async (seed: number) => {
  const { database, variables } = await withAccounts()
  const stage = await openStage({ ...settings, ...variables }, database)
  const played = await play(stage, seed).finally(stage.close)
  // What a fault left behind is looked into.
  if (played.faults.length === 0) await rm(stage.dataDir, { recursive: true, force: true })
  return played
}

const play = async (stage: Stage, seed: number) => {
  const random = seeded(seed)
  const heard = await openReceiver()
  const command = commandOn(stage)
  const proxy = await openProxy(stage)
  const [first, ...others] = await makeHolders(command, heard)
  if (first === undefined) throw new Error("no tenant")
  const holders = [first, ...others] as const
  await tellCallbacks(stage, proxy.url)
  const books = openBooks(stage.dataDir)
  const isOver = after(options.seconds * 1000)
  const any = () => (random.chance(0.7) ? proxy : random.pick(stage.gateways))
  const world: World = { any, random, isOver, simulatorUrl: stage.simulatorUrl }
  const plan = planner(random, holders, `p${seed}`)
  const operations: Array<Operation> = []
  const client = async () => {
    while (!isOver()) {
      const operation = plan()
      operations.push(operation)
      await perform(operation, world)
    }
  }
  const operating = { command, holders, world, books, random: seeded(seed * 17), isOver }
  const [kills, changes] = await Promise.all([
    killEverything([...stage.actors, proxy], seed, isOver),
    operate(operating),
    ...Array.from({ length: options.clients }, client)
  ])
  console.error(`load over: ${operations.length} operations, ${sum(Object.values(kills))} kills; settling`)

  const tooLate = after(SETTLE_WITHIN_MS)
  await each(
    operations.filter(({ settled }) => settled === undefined),
    (operation) => perform(operation, { ...world, isOver: tooLate })
  )
  const settling = { operations, holders, world, books, heard, command, tooLate }
  const before = await settle(settling)
  for (const provider of providers) await reconciled(stage, provider, "--book-fees", "--apply")
  const settled = await settle(settling)
  const verdict = judge(settled.evidence)
  const gates = passed(changes.gates, operations)
  const [ledger, audit] = [await stage.command("ledger", "verify"), await stage.command("audit", "verify")]
  const byReference = new Map(operations.flatMap((one) => (one.reference === undefined ? [] : [[one.reference, one] as const])))
  const differences: Array<Difference> = []
  for (const provider of providers) differences.push(...(await reconciled(stage, provider)))
  const { because, unexplained } = explained(differences, byReference, books.of)
  await heard.close()
  const of = (kind: OperationKind) => operations.filter((one) => one.kind === kind && one.reference !== undefined).length
  const ran = {
    seed,
    seconds: options.seconds,
    clients: options.clients,
    // Those of which there is a record; the others were refused before.
    operations: { total: byReference.size, payouts: of("payout"), collections: of("collection"), exchanges: of("exchange") },
    wanted: operations.length,
    sent: sum(operations.map(({ attempts }) => attempts)),
    kills: { total: sum(Object.values(kills)), ...kills },
    executed: sum(books.references().map((reference) => books.of(reference).executions.length)),
    webhooks: heard.count(),
    rulings: changes.rulings + before.rulings + settled.rulings,
    keys_revoked: changes.keysRevoked,
    revoked_refused: changes.revokedRefused,
    freezes: changes.freezes,
    settings_changed: changes.settings,
    refused: counted(operations.flatMap(({ error, settled }) => (settled === "refused" ? (error ?? []) : []))),
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    invented: verdict.invented.length,
    wrong_floats: verdict.floats.length,
    missed_webhooks: verdict.webhooks.length,
    passed_gates: gates.length + changes.faults.length,
    open: verdict.open,
    ledger_ok: ledger.code === 0,
    audit_ok: audit.code === 0,
    reconciled: because,
    unexplained: unexplained.length
  }
  const faults = [
    ...verdict.lost,
    ...verdict.doubled,
    ...verdict.invented,
    ...verdict.floats,
    ...verdict.webhooks,
    ...gates,
    ...changes.faults,
    ...unexplained,
    ...(ran.ledger_ok ? [] : [`ledger verify: ${ledger.errors}`]),
    ...(ran.audit_ok ? [] : [`audit verify: ${audit.errors}`])
  ]
  return { ran, faults }
}

const RECONCILED_AT_MOST = 5

/**
 * As an operator does: a provider that was slow to list its account, or to answer about one transaction, is asked again. With the options that book
 * the fees of its statement there are no differences in the answer.
 */
const reconciled = async (
  stage: Stage,
  provider: string,
  ...options: ReadonlyArray<string>
): Promise<ReadonlyArray<Difference>> => {
  for (let attempt = 1; ; attempt++) {
    const { errors, json } = await stage.command("reconcile", provider, ...options)
    const isLast = attempt === RECONCILED_AT_MOST
    if (json === null && isLast) throw new Error(`gateway reconcile ${provider}: ${errors}`)
    const { differences: all = [] } = JSON.parse(JSON.stringify(json ?? {}))
    const differences: ReadonlyArray<Difference> = all.map((one: object) => ({ ...one, provider }))
    if (json !== null && (isLast || differences.every(({ kind }) => kind !== "unanswered"))) return differences
  }
}

const sum = (all: ReadonlyArray<number>): number => all.reduce((one, other) => one + other, 0)

const counted = (all: ReadonlyArray<string>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const one of all) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

const commit = commitPlayed(options.record)

process.exitCode = 0
for (let at = 0; at < options.parts; at++) {
  const seed = options.seed + at
  const { faults, ran } = await part(seed)
  const line = {
    date: new Date().toISOString().slice(0, 10),
    commit,
    command: `npm run chaos -- --everything --seconds ${options.seconds} --seed ${seed} --clients ${options.clients}`,
    ...ran
  }
  console.log(JSON.stringify(line))
  if (options.record) {
    mustStillPlay(commit)
    appendFileSync(RECORD, `${JSON.stringify(line)}\n`)
  }
  for (const fault of faults.slice(0, SHOWN)) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
