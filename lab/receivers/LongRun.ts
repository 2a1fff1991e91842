import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { seeded } from "../../test/support/Random.ts"
import { perform } from "../chaos/Load.ts"
import { type Actor, openStage, type Stage } from "../chaos/Stage.ts"
import { runRecorder } from "../runs/Runs.ts"
import { openBooks } from "./Books.ts"
import { authority } from "./Certificates.ts"
import { kinds } from "./Kinds.ts"
import { type Settled, settle } from "./Settling.ts"
import { EVENT_TYPES, each, givenTenants, type Tenant } from "./Tenant.ts"
import type { Account } from "./Verdict.ts"

// Real payouts through two gateways that are killed on the way, told to one receiver of every kind. Each fails for a while and is then
// healed; what was parked meanwhile its tenant asks for again. Prints one JSON document; exits 1 if one event never arrived, or only because it
// was recovered though nothing had kept its delivery from being made.

const usage = "npm run receivers -- [--events N] [--seed N] [--record]"
const CLIENTS = 16
/** A receiver fails for at least so long, and until a share of the payouts, of its own and at most so large, has been sent. */
const SICK_MS = 10_000
const SICK_SHARE = 0.3
const LOOK_EVERY_MS = 250
/** Twelve attempts as in earnest, nearer to each other. */
const SCHEDULE = "0s,3s,10s,20s,30s,40s,40s,40s,40s,60s,60s,60s"
/** A gateway lives while such a share of the payouts, and at most so much more, is sent: a slow machine has no more kills than a fast one. */
const LIFE_SHARE = { least: 0.02, more: 0.08 }
const TELL_EVERY_MS = 15_000
/** What was not sent by then is counted as refused. */
const LOAD_WITHIN_MS = 1_800_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        events: { type: "string", default: "2000" },
        seed: { type: "string", default: "1" },
        record: { type: "boolean", default: false }
      }
    })
    const [events = 0, seed = 0] = [Number(values.events), Number(values.seed)]
    if (![events, seed].every((one) => Number.isSafeInteger(one) && one > 0)) throw new Error("not a whole number above 0")
    return { events, seed, record: values.record }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()
const putOnRecord = runRecorder("receivers", options.record)
const random = seeded(options.seed)
const begun = new Date().toISOString()
const say = (line: string) => console.error(line)

const main = async (): Promise<boolean> => {
  const folder = mkdtempSync(join(tmpdir(), "receivers-"))
  const authorities = join(folder, "authority.pem")
  writeFileSync(authorities, authority)
  const stage = await openStage({ NODE_EXTRA_CA_CERTS: authorities, WEBHOOK_SCHEDULE: SCHEDULE })
  try {
    return await play(stage)
  } finally {
    await stage.close()
    rmSync(folder, { recursive: true })
  }
}

const play = async (stage: Stage): Promise<boolean> => {
  const books = openBooks(stage.variables["DATABASE_URL"] ?? "")
  const any = () => random.pick(stage.gateways)
  const tenants = await givenTenants(stage, Math.ceil(options.events / EVENT_TYPES.length / kinds.length))
  say(`${tenants.length} tenants, each with a receiver of another kind`)
  const started = performance.now()
  const kills = await load(stage, tenants)
  const loaded = performance.now()
  say(`load over, all healed: ${payoutsOf(tenants).length} payouts, ${kills} kills; settling`)
  const settled = await settle(tenants, any, books, { since: begun, say })
  const ended = performance.now()
  const ledger = await stage.command("ledger", "verify")
  if (ledger.code !== 0) say(`ledger verify: ${ledger.errors} ${JSON.stringify(ledger.json)}`)
  const figures = {
    seed: options.seed,
    seconds: Math.round((ended - started) / 1000),
    seconds_of_load: Math.round((loaded - started) / 1000),
    receivers: tenants.length,
    kills,
    attempts: await books.attempts(),
    ledger_ok: ledger.code === 0,
    ...judged(tenants, settled)
  }
  for (const { receiver } of tenants) await receiver.close()
  await books.close()
  const { kinds: rows, ...figure } = figures
  console.log(JSON.stringify(figures, null, 1))
  for (const [name, value] of Object.entries(figure)) say(`${name.padEnd(16)} ${JSON.stringify(value)}`)
  for (const [name, row] of Object.entries(rows)) say(`  ${name.padEnd(40)} ${JSON.stringify(row)}`)
  const isRight =
    figure.lost + figure.changed_bytes + figure.stale_records + figure.faults.length + figure.refused + figure.parked === 0 &&
    figure.unexplained.length === 0 &&
    figure.ledger_ok
  putOnRecord(isRight, figure)
  return isRight
}

const payoutsOf = (tenants: ReadonlyArray<Tenant>) => tenants.flatMap(({ operations }) => operations)

/** Every payout is sent, and every receiver healed, while the gateways are killed again and again; answers how often. */
const load = async (stage: Stage, tenants: ReadonlyArray<Tenant>): Promise<number> => {
  const limit = performance.now() + LOAD_WITHIN_MS
  const isLate = () => performance.now() > limit
  const operations = inTurn(tenants)
  const telling = setInterval(() => say(`${sent} of ${operations.length} payouts sent, ${kills} kills`), TELL_EVERY_MS)
  let isLoading = true
  let kills = 0
  let sent = 0
  const haunt = async ({ kill, start }: Actor, index: number) => {
    const own = seeded(options.seed * 31 + index)
    for (;;) {
      const until = sent + operations.length * LIFE_SHARE.least + own.below(Math.ceil(operations.length * LIFE_SHARE.more))
      const isSpared = () => isLoading && sent < until
      while (isSpared()) await pause(LOOK_EVERY_MS)
      if (!isLoading) return
      await kill()
      kills++
      await start()
    }
  }
  const healed = async ({ receiver }: Tenant) => {
    const until = random.below(Math.ceil(operations.length * SICK_SHARE))
    const isSick = () => sent < until
    await pause(SICK_MS)
    while (isSick()) await pause(LOOK_EVERY_MS)
    await receiver.heal()
  }
  const working = Promise.all([
    each(operations, CLIENTS, async (operation) => {
      if (!isLate()) await perform(operation, () => random.pick(stage.gateways), isLate)
      sent++
    }),
    ...tenants.map(healed)
  ]).finally(() => {
    clearInterval(telling)
    isLoading = false
  })
  const [first, second] = stage.actors
  await Promise.all([working, ...[first, second].map((actor, index) => (actor === undefined ? undefined : haunt(actor, index)))])
  return kills
}

/** Each tenant's first, then each tenant's second: all of them have something to tell at all times. */
const inTurn = (tenants: ReadonlyArray<Tenant>) => {
  const share = Math.max(...tenants.map(({ operations }) => operations.length))
  return Array.from({ length: share }, (_, place) => tenants.flatMap(({ operations }) => operations[place] ?? [])).flat()
}

const judged = (tenants: ReadonlyArray<Tenant>, { accounts, open, parked, recoveries, unexplained }: Settled) => {
  const sum = (of: (one: Account) => number) => accounts.reduce((total, [, one]) => total + of(one), 0)
  const operations = payoutsOf(tenants)
  return {
    payouts: operations.length,
    refused: operations.filter(({ settled }) => settled !== "accepted").length,
    open,
    parked,
    recoveries: [...recoveries.values()].reduce((total, count) => total + count, 0),
    unexplained,
    events: sum(({ events }) => events),
    whole_arrivals: sum(({ attempts }) => attempts),
    lost: sum(({ lost }) => lost),
    changed_bytes: sum(({ changed }) => changed),
    overtaken: sum(({ overtaken }) => overtaken),
    stale_records: sum(({ stale }) => stale),
    most_at_once: Math.max(...tenants.map(({ receiver }) => receiver.heard.mostUnderWay)),
    faults: accounts.flatMap(([, { faults }]) => faults).slice(0, 20),
    kinds: Object.fromEntries(
      accounts.map(([name, { attempts, changed, events, lost, overtaken }]) => [
        name,
        { events, attempts, lost, changed, overtaken, recoveries: recoveries.get(name) ?? 0 }
      ])
    )
  }
}

// What a failed run leaves behind must not keep it from ending.
process.exit(
  (await main().catch((error) => {
    console.error(error)
    return false
  }))
    ? 0
    : 1
)
