import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { sessionSettings } from "../../src/persistence/connection/SessionSettings.ts"
import { type Member, type MemberMachine, type Members, openMembers } from "../../test/support/PostgresMembers.ts"
import { startHaproxy, startPgbouncer } from "../../test/support/Proxies.ts"
import type { Random } from "../../test/support/Random.ts"
import type { Life, Stage, StageDatabase } from "./Stage.ts"

// A primary and its synchronous standby change places again and again under load, as with a machine that loses its power.

const STEADY_MS = 1_000
const LONGEST_DETECTION_MS = 500
const ARRIVES_EVERY_MS = 100
const FIRST_WITHIN_MS = 60_000
/** One failover in so many, the old primary comes back as it was, alone, while a gateway is started. */
const COMES_BACK_EVERY = 4
const ALONE_MS = 1_500

export interface Failover {
  /** From the order to promote until the server says that it is no standby any more. */
  readonly promotedMs: number
  /** From the order to promote until the first 201. */
  readonly milliseconds: number
  /** What the old primary was told to write when it came back alone; null where it did not. */
  readonly written: number | null
}

/** How gateways come to the servers: they know both, or what stands in front of them. PgBouncer has HAProxy behind it, and two modes. */
export const ways = ["direct", "haproxy", "pgbouncer", "pgbouncer-session"] as const
export type Way = (typeof ways)[number]

/** Two servers, `a` and `b`: the stage's database. The second one's clock is ahead by `skewSeconds`. */
export const pairOfServers = (way: Way, skewSeconds: number, hosts: Readonly<Record<string, MemberMachine>> = {}) => {
  let pair: Members | undefined
  const database: StageDatabase = async (dataDir, life) => {
    const machines = skewSeconds === 0 ? hosts : { ...hosts, b: { ...hosts["b"], secondsOff: skewSeconds } }
    const opened = await openMembers(join(dataDir, "members"), ["a", "b"], "full", machines)
    pair = opened
    life.ends.push(opened.close)
    const [primary, standby] = both(opened)
    if (way !== "direct") await admitProxies(primary)
    await standby.follow(primary)
    await primary.awaitCommitsOf(standby)
    const direct = opened.url(opened.all)
    const url = way === "direct" ? direct : await proxied(opened, way, life, hosts["haproxy"]?.host)
    const never = async () => {
      throw new Error("the servers of a pair are killed by failovers alone")
    }
    return { name: "postgres", url, direct, kill: never, start: never, signal: () => undefined }
  }
  return { database, members: () => (pair === undefined ? undefined : both(pair)) }
}

const both = ({ all: [a, b] }: Pick<Members, "all">): readonly [Member, Member] => {
  if (a === undefined || b === undefined) throw new Error("a pair has two")
  return [a, b]
}

/** HAProxy logs in to look, and what PgBouncer does not pass on the role brings. */
const admitProxies = async (primary: Member) => {
  const rules = join(primary.folder, "pg_hba.conf")
  // The first line that fits counts.
  await writeFile(rules, `host postgres haproxy 127.0.0.1/32 trust\n${await readFile(rules, "utf8")}`)
  await primary.sql("SELECT pg_reload_conf()")
  await primary.sql("CREATE ROLE haproxy LOGIN")
  for (const [name, value] of Object.entries(sessionSettings))
    await primary.sql(`ALTER ROLE CURRENT_USER SET ${name} = '${value}'`)
}

const proxied = async (
  { all, url }: Members,
  way: Exclude<Way, "direct">,
  life: Life,
  host: MemberMachine["host"]
): Promise<string> => {
  const [a, b] = both({ all })
  const haproxy = await startHaproxy([a.port, b.port], host)
  life.ends.push(haproxy.close)
  const read = "?target_session_attrs=read-write"
  if (way === "haproxy") return url([haproxy], read)
  const { password, pathname, username } = new URL(url([haproxy]))
  const pooled = {
    server: haproxy.port,
    database: pathname.slice(1),
    username,
    password,
    mode: way === "pgbouncer" ? "transaction" : "session"
  } as const
  const pgbouncer = await startPgbouncer(pooled)
  life.ends.push(pgbouncer.close)
  return url([pgbouncer], read)
}

interface Load {
  /** Answers when the next 201 arrives. */
  readonly created: () => Promise<void>
  /** One more tenant asks for something. */
  readonly arrive: () => void
  readonly random: Random
  /** Whether the old primary comes back now and then. Behind HAProxy, which takes it for a primary, nodes could not be sure to start. */
  readonly comesBack: boolean
  readonly told: (made: number, failover: Failover) => void
}

/** Ends when it is done. */
export const PROMOTED = `SELECT pg_promote(false);
  DO $$ BEGIN WHILE pg_is_in_recovery() LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`

export const failOver = async (
  stage: Stage,
  [first, second]: readonly [Member, Member],
  count: number,
  { arrive, comesBack, created, random, told }: Load
): Promise<ReadonlyArray<Failover>> => {
  const failovers: Array<Failover> = []
  let [primary, standby] = [first, second]
  while (failovers.length < count) {
    await within(created())
    await pause(STEADY_MS)
    primary.kill()
    await pause(random.below(LONGEST_DETECTION_MS))
    const from = performance.now()
    const again = created()
    // Clients of before may wait for a provider, or for the lease of the key that they repeat.
    const arrivals = setInterval(arrive, ARRIVES_EVERY_MS)
    const passed = () => Math.round(performance.now() - from)
    const promoted = standby.sql(PROMOTED).then(passed)
    await within(again).finally(() => clearInterval(arrivals))
    const milliseconds = passed()
    const promotedMs = await promoted
    const written =
      comesBack && failovers.length % COMES_BACK_EVERY === 0 ? await aloneAgain(stage, primary, failovers.length) : null
    await primary.follow(standby)
    await standby.awaitCommitsOf(primary)
    const failover = { promotedMs, milliseconds, written }
    failovers.push(failover)
    told(failovers.length, failover)
    ;[primary, standby] = [standby, primary]
  }
  return failovers
}

/** What anybody wrote to it, or tried to. */
const WRITTEN = `
  SELECT (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int FROM pg_stat_user_tables)
    + (SELECT count(*)::int FROM pg_stat_activity WHERE backend_xid IS NOT NULL OR wait_event = 'SyncRep') AS written`

/** The old primary runs as it was left, and a gateway is started that knows of nothing; answers what they wrote. */
const aloneAgain = async ({ actors }: Stage, old: Member, made: number): Promise<number> => {
  const gateway = actors[(made / COMES_BACK_EVERY) % 2 === 0 ? 0 : 1]
  await gateway.kill()
  await old.start()
  await gateway.start()
  await pause(ALONE_MS)
  const [row] = await old.sql(WRITTEN)
  old.kill()
  return Number(row?.["written"])
}

const within = async (what: Promise<void>): Promise<void> => {
  const over = new AbortController()
  const late = pause(FIRST_WITHIN_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`no 201 within ${FIRST_WITHIN_MS / 1000} s of a failover`)
  })
  late.catch(() => undefined)
  try {
    await Promise.race([what, late])
  } finally {
    over.abort()
  }
}
