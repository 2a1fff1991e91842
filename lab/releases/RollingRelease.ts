import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Effect, Redacted, References } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { freePorts } from "../../test/support/FreePort.ts"
import { removeDataDir } from "../../test/support/Postgres.ts"
import { type Answer, type Key, send } from "../chaos/Client.ts"
import { runRecorder } from "../runs/Runs.ts"
import { openBalancer } from "./Balancer.ts"
import { ofNextRelease } from "./NextRelease.ts"
import { buildReleaseBefore, commandFrom, commitBefore, type Node, serveFrom, started } from "./ReleaseBefore.ts"

// npm run releases: two nodes of the release before behind a balancer are replaced by two of this one, and those by two of the release before, while
// payouts go on. Every request is answered with success.

const HERE = resolve(import.meta.dirname, "..", "..")
const FLOAT = 1_000_000_000
const CLIENTS = 4
const BETWEEN_REQUESTS_MS = 20
/** How long nodes work beside each other before the next one is replaced. */
const BESIDE_MS = 3_000
const SETTLED_WITHIN_MS = 60_000

const options = (() => {
  try {
    return parseArgs({ options: { record: { type: "boolean", default: false } } }).values
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: npm run releases -- [--record]`)
    process.exit(2)
  }
})()
const putOnRecord = runRecorder("releases", options.record)

const say = (line: string) => console.log(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${line}`)

const dataDir = mkdtempSync(join(tmpdir(), "payment-gateway-releases-"))
chmodSync(dataDir, 0o711)
const ends: Array<() => unknown> = [() => removeDataDir(dataDir)]

const main = async (): Promise<boolean> => {
  const before = buildReleaseBefore()
  ends.unshift(before.remove)
  const server = await Effect.runPromise(EmbeddedPostgres.ensureRunning(dataDir))
  const databaseUrl = Redacted.value(EmbeddedPostgres.url(server))
  const [balancerPort = 0] = await freePorts(1)
  const balancer = await openBalancer(balancerPort)
  ends.unshift(balancer.close)
  const simulator = await started(HERE, { SIMULATOR_PORT: "0", SIMULATOR_DELAY_MS: "100", DATA_DIR: dataDir }, ["simulator"])
  ends.unshift(() => simulator.child.kill("SIGTERM"))
  const { base_urls: baseUrls }: { readonly base_urls: Record<string, string> } = JSON.parse(simulator.line)
  const variables = {
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString("base64"),
    DATA_DIR: dataDir,
    ALLOW_SIMULATOR: "true",
    LOG_LEVEL: "warn",
    LOG_FORMAT: "json",
    PUBLIC_HOSTS: balancer.host,
    EVERSEND_BASE_URL: baseUrls["eversend"] ?? "",
    EVERSEND_LIVE_CLIENT_ID: "simulated-live",
    EVERSEND_LIVE_CLIENT_SECRET: "simulated-live-secret",
    EVERSEND_LIVE_WEBHOOK_SECRET: "simulated-live-webhook-secret",
    RECONCILER_SCHEDULE: "300ms,600ms,1s",
    RATE_LIMIT_MONEY: "100000/s:200000",
    RATE_LIMIT_READS: "100000/s:200000"
  }
  const command = async (folder: string, ...args: ReadonlyArray<string>) => {
    const output = await commandFrom(folder, variables, args)
    return output === "" ? {} : JSON.parse(output)
  }
  const all: Array<Node> = []
  const start = async (folder: string): Promise<Node> => {
    const [port, management] = await freePorts(2)
    const node = await serveFrom(folder, { ...variables, PORT: String(port), MANAGEMENT_PORT: String(management) })
    ends.unshift(node.stop)
    all.push(node)
    balancer.nodes.add(node)
    return node
  }

  await command(before.folder, "migrate")
  await command(before.folder, "tenant", "create", "shop")
  const key: Key = await command(before.folder, "key", "issue", "shop", "--mode", "live")
  await command(
    before.folder,
    ..."float credit shop --mode live --currency UGX --note release --external-id given --amount-minor".split(" "),
    String(FLOAT)
  )
  // The run is as long as it is on a quick machine as well.
  for (const window of ["hour", "day", "destination", "destination_day"])
    await command(before.folder, "limit", "set", "shop", "--mode", "live", "--window", window, "--count", "1000000")
  let nodes = [await start(before.folder), await start(before.folder)]
  await pause(1_000)
  say("two nodes of the release before; payouts begin")
  const load = paying(balancer, key)
  await pause(BESIDE_MS)

  const replaceAll = async (folder: string, what: string) => {
    const next: Array<Node> = []
    for (const old of nodes) {
      next.push(await start(folder))
      await pause(BESIDE_MS)
      const code = await old.stop()
      balancer.nodes.delete(old)
      say(`${what}: one more node; the one before it ended with ${code}`)
      if (code !== 0) throw new Error(`a node ended with ${code}`)
    }
    nodes = next
    await pause(BESIDE_MS)
  }
  await replaceAll(HERE, "this release")
  await Effect.runPromise(
    Migrations.apply([...Migrations.all, ofNextRelease]).pipe(
      Effect.provide(Database.layer({ url: Redacted.make(databaseUrl) })),
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )
  )
  say("the schema of a next release, under the nodes of this one")
  await pause(BESIDE_MS)
  await replaceAll(before.folder, "back to the release before")

  const { failed, references, requests } = await load.end()
  const limit = performance.now() + SETTLED_WITHIN_MS
  const left = new Map(references.map((reference) => [reference, "never looked at"]))
  while (left.size > 0 && performance.now() < limit)
    for (const reference of left.keys()) {
      const answer = await send(balancer, key, { method: "GET", target: `/v1/payouts/${reference}` })
      if (answer?.body.data?.["status"] === "successful") left.delete(reference)
      else left.set(reference, JSON.stringify(answer?.body ?? "no answer"))
    }
  const verdict: { readonly ok?: boolean } = await command(HERE, "ledger", "verify")
  say(
    `${requests} requests, ${references.length} payouts; failed: ${failed.length}; not settled: ${left.size}; ledger ok: ${verdict.ok}`
  )
  for (const one of failed.slice(0, 10)) say(one)
  if (failed.length > 0) for (const node of all) for (const line of node.logged()) say(`${node.host}: ${line}`)
  for (const [reference, last] of [...left].slice(0, 10)) say(`not settled: ${reference}: ${last}`)
  const isRight = failed.length === 0 && left.size === 0 && verdict.ok === true
  const figures = { requests, payouts: references.length, failed: failed.length, not_settled: left.size, ledger_ok: verdict.ok }
  putOnRecord(isRight, { release_before: commitBefore.slice(0, 12), ...figures })
  return isRight
}

/** Payouts, the same again, and a look at each, through the balancer. */
const paying = (to: { readonly host: string; readonly url: string }, key: Key) => {
  const failed: Array<string> = []
  const references: Array<string> = []
  const end = new AbortController()
  let [requests, made] = [0, 0]
  const expectStatus = (what: string, status: number, answer: Answer | undefined) => {
    requests++
    if (answer?.status !== status)
      failed.push(`${(performance.now() / 1000).toFixed(1)} s ${what}: ${JSON.stringify(answer?.body ?? "no answer")}`)
    return String(answer?.body.data?.["reference"] ?? "")
  }
  const client = async () => {
    while (!end.signal.aborted) {
      const number = made++
      const msisdn = `25677${String(number % 1_000).padStart(3, "0")}5000`
      const body = {
        amount_minor: 1_000,
        currency: "UGX",
        country: "UG",
        method: "momo",
        destination: { type: "momo", msisdn, network: "MTN", country: "UG" }
      }
      const request = { method: "POST", target: "/v1/payouts", body, idempotencyKey: `payout-${number}` }
      const reference = expectStatus("payout", 201, await send(to, key, request))
      if (reference === "") continue
      references.push(reference)
      const again = expectStatus("the same again", 201, await send(to, key, request))
      if (again !== reference) failed.push(`${reference} became ${again}`)
      expectStatus("look", 200, await send(to, key, { method: "GET", target: `/v1/payouts/${reference}` }))
      await pause(BETWEEN_REQUESTS_MS)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return {
    end: async () => {
      end.abort()
      await Promise.all(clients)
      return { failed, references, requests }
    }
  }
}

const close = async () => {
  for (const end of ends.splice(0)) await end()
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void close().finally(() => process.exit(130)))
try {
  process.exitCode = (await main()) ? 0 : 1
} finally {
  await close()
}
