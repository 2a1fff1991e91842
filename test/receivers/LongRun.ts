import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { type Key, send } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { type Actor, openStage, type Stage } from "../chaos/Stage.ts"
import { seeded } from "../support/Random.ts"
import { authority } from "./Certificates.ts"
import { kinds } from "./Kinds.ts"
import { openReceiver, type Receiver } from "./Receiver.ts"
import { account } from "./Verdict.ts"

// Real payouts through two gateways that are killed on the way, told to one receiver of every kind. Each fails for a while and is then
// healed; what was parked meanwhile its tenant asks for again. Prints one JSON document; exits 1 if one event never arrived.

const usage = "npm run receivers -- [--events N] [--seed N]"
const EVENT_TYPES = ["payout.pending", "payout.successful"] as const
const CLIENTS = 12
const READS_AT_ONCE = 8
const CREDIT = 1_000_000_000
const DRIP_MS = 1_000
/** A receiver fails for at least so long, and at most so much longer. */
const SICK_MS = { least: 10_000, more: 50_000 }
const LIFE_MS = { least: 2_000, more: 6_000 }
const SETTLE_WITHIN_MS = 600_000
/** For so long what is open may still end. */
const REST_MS = 60_000

interface Tenant {
  readonly key: Key
  readonly receiver: Receiver
  readonly operations: Array<Operation>
}

const options = (() => {
  try {
    const { values } = parseArgs({
      options: { events: { type: "string", default: "2000" }, seed: { type: "string", default: "1" } }
    })
    const [events = 0, seed = 0] = [Number(values.events), Number(values.seed)]
    if (![events, seed].every((one) => Number.isSafeInteger(one) && one > 0)) throw new Error("not a whole number above 0")
    return { events, seed }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()
const random = seeded(options.seed)
const BEGUN = new Date().toISOString()
const say = (line: string) => console.error(line)

const main = async () => {
  const authorities = join(mkdtempSync(join(tmpdir(), "receivers-")), "authority.pem")
  writeFileSync(authorities, authority)
  const stage = await openStage({ NODE_EXTRA_CA_CERTS: authorities })
  try {
    await play(stage)
  } finally {
    await stage.close()
  }
}

const play = async (stage: Stage) => {
  const any = () => random.pick(stage.gateways)
  const tenants = await givenTenants(stage)
  say(`${tenants.length} tenants, each with a receiver of another kind`)
  const operations = tenants.flatMap(({ operations }) => operations)
  const [first, second] = stage.actors
  let isLoading = true
  const kills = [first, second].map((actor) => (actor === undefined ? 0 : haunt(actor, () => isLoading)))
  const started = performance.now()
  await Promise.all([
    each([...operations], CLIENTS, (operation) => perform(operation, any, () => false)),
    ...tenants.map(({ receiver }) => pause(SICK_MS.least + random.below(SICK_MS.more)).then(receiver.heal))
  ])
  isLoading = false
  const killed = (await Promise.all(kills)).reduce((sum, one) => sum + one, 0)
  say(`load over, all healed: ${operations.length} payouts, ${killed} kills; settling`)

  const { accounts, open } = await settled(tenants, any)
  const seconds = Math.round((performance.now() - started) / 1000)
  const ledger = await stage.command("ledger", "verify")
  for (const { receiver } of tenants) await receiver.close()
  const sum = (of: (one: ReturnType<typeof account>) => number) => accounts.reduce((total, [, one]) => total + of(one), 0)
  const ran = {
    seed: options.seed,
    seconds,
    kills: killed,
    payouts: operations.length,
    refused: operations.filter(({ settled }) => settled !== "accepted").length,
    open,
    events: sum(({ events }) => events),
    deliveries: sum(({ attempts }) => attempts),
    lost: sum(({ lost }) => lost),
    changed_bytes: sum(({ changed }) => changed),
    stale_records: sum(({ stale }) => stale),
    faults: accounts.flatMap(([, { faults }]) => faults).slice(0, 20),
    ledger_ok: ledger.code === 0,
    kinds: Object.fromEntries(
      accounts.map(([name, { attempts, changed, events, lost }]) => [name, { events, attempts, lost, changed }])
    )
  }
  console.log(JSON.stringify(ran, null, 1))
  const isWell = ran.lost + ran.changed_bytes + ran.stale_records + ran.faults.length + ran.refused === 0 && ran.ledger_ok
  process.exitCode = isWell ? 0 : 1
}

const givenTenants = async (stage: Stage): Promise<ReadonlyArray<Tenant>> => {
  const tenants: Array<Tenant> = []
  const share = Math.ceil(options.events / EVENT_TYPES.length / kinds.length)
  await each([...kinds.entries()], 2, async ([index, kind]) => {
    const appId = `receiver-${index}`
    const must = async (...args: ReadonlyArray<string>): Promise<Readonly<Record<string, string>>> => {
      const { code, errors, json } = await stage.command(...args)
      if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
      return JSON.parse(JSON.stringify(json))
    }
    await must("tenant", "create", appId)
    const { api_key = "", key_id = "", signing_secret = "" } = await must("key", "issue", appId, "--mode", "live")
    const key = { app_id: appId, api_key, key_id, signing_secret }
    const money = ["--currency", "UGX", "--amount-minor", String(CREDIT)]
    await must("float", "credit", appId, "--mode", "live", ...money, "--external-id", "given", "--note", "given")
    const receiver = await openReceiver(kind, DRIP_MS)
    const put = await send(stage.gateways[0], key, "PUT", "/v1/webhooks/endpoint", { url: receiver.url, events: EVENT_TYPES })
    if (put?.status !== 200) throw new Error(`the endpoint of ${kind.name} was not set`)
    receiver.learn(String(put.body.data?.["secret"]))
    const operations = Array.from({ length: share }, (_, made) => payout(key, index, made))
    tenants.push({ key, receiver, operations })
  })
  return tenants
}

const payout = (tenant: Key, index: number, made: number): Operation => {
  const msisdn = `2567${String(made % 10_000).padStart(4, "0")}1000`
  const destination = { type: "momo", msisdn, network: "MTN", country: "UG" }
  const body = { amount_minor: 500 + made, currency: "UGX", country: "UG", method: "momo", destination, metadata: { made } }
  const key = `receiver-${index}-${made}`
  return {
    tenant,
    kind: "payout",
    ending: "1000",
    amount: 500 + made,
    key,
    body,
    attempts: 0,
    reference: undefined,
    settled: undefined
  }
}

/** Kills it again and again; answers how often. */
const haunt = async ({ kill, start }: Actor, isLoading: () => boolean): Promise<number> => {
  let kills = 0
  while (isLoading()) {
    await pause(LIFE_MS.least + random.below(LIFE_MS.more))
    await kill()
    kills++
    await start()
  }
  return kills
}

/** Lets every tenant repair what is its own until nothing is missing, or it is too late. */
const settled = async (tenants: ReadonlyArray<Tenant>, any: () => Stage["gateways"][0]) => {
  const started = performance.now()
  const [rest, limit] = [started + REST_MS, started + SETTLE_WITHIN_MS]
  const versions = new Map<string, number>()
  // What may never end by itself: a payout whose sender died is asked for, and where the provider proves nothing it waits for a person.
  const isOpen = ({ reference }: Operation) => !versions.has(reference ?? "")
  for (;;) {
    const open = tenants.flatMap(({ operations }) => operations).filter(isOpen)
    await each([...open], READS_AT_ONCE, async ({ reference = "", tenant }) => {
      const record = (await send(any(), tenant, "GET", `/v1/payouts/${reference}`))?.body.data
      if (record?.["status"] === "successful") versions.set(reference, Number(record["version"]))
    })
    await each([...tenants], READS_AT_ONCE, (tenant) => repaired(tenant, any))
    const accounts = tenants.map((tenant) => [tenant.receiver.kind.name, accountOf(tenant, versions)] as const)
    const missing = accounts.reduce((sum, [, { lost, stale }]) => sum + lost + stale, 0)
    if (performance.now() > limit || (missing === 0 && (open.length === 0 || performance.now() > rest)))
      return { accounts, open: open.filter(isOpen).length }
    say(`${missing} missing, ${open.length} payouts open`)
    await pause(5_000)
  }
}

const accountOf = ({ operations, receiver }: Tenant, versions: ReadonlyMap<string, number>) => {
  const ids = new Map<string, string>()
  for (const [id, body] of receiver.heard.bodies) {
    const { data, type }: { type: string; data: { reference: string } } = JSON.parse(body)
    ids.set(`${data.reference} ${type}`, id)
  }
  // What never came has no id to know it by. A payout that is not successful owes its first event only.
  const owed = operations.flatMap(({ reference = "" }) =>
    EVENT_TYPES.filter((type) => type === "payout.pending" || versions.has(reference)).map(
      (type) => ids.get(`${reference} ${type}`) ?? `${reference} ${type}`
    )
  )
  const ended = operations.flatMap(({ reference = "" }) => {
    const version = versions.get(reference)
    return version === undefined ? [] : [[reference, version] as const]
  })
  return account(receiver, owed, new Map(ended))
}

/** With its own calls only: the endpoint enabled again where it was disabled, and what is parked asked for again. */
const repaired = async ({ key, receiver }: Tenant, any: () => Stage["gateways"][0]) => {
  const list = await send(any(), key, "GET", "/v1/webhooks/deliveries?status=parked&limit=100")
  const { items = [] }: { items?: ReadonlyArray<{ id: string }> } = JSON.parse(JSON.stringify(list?.body.data ?? {}))
  const standing = await send(any(), key, "GET", "/v1/webhooks/endpoint")
  if (standing?.body.data?.["enabled"] === false) {
    await send(any(), key, "PUT", "/v1/webhooks/endpoint", { url: receiver.url, events: EVENT_TYPES })
    // What happened while it was disabled has no delivery yet.
    await send(any(), key, "POST", "/v1/webhooks/recover", { since: BEGUN })
  }
  for (const { id } of items) await send(any(), key, "POST", `/v1/webhooks/deliveries/${id}/redeliver`)
}

const each = async <A>(waiting: Array<A>, atOnce: number, work: (one: A) => Promise<void>): Promise<void> => {
  const worker = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

await main()
