import { type ChildProcess, execFile, spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect, Redacted } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { providers as known, storyOf, trialOf } from "../../test/support/EveryProvider.ts"
import { type Key, send } from "../chaos/Client.ts"
import type { CallbackPath, Target } from "./Case.ts"

// `gateway start` as a user types it, in a data folder that is thrown away: the gateway, PostgreSQL and every provider's simulator.

const MAIN = resolve(import.meta.dirname, "..", "..", "src", "gateway.js")
const RUNTIME = ["--max-semi-space-size=16", "--heap-growing-percent=100"]
/** More than any run spends. */
const CREDIT = "1000000000000"
const CALLBACKS_SETTLE_MS = 3_000
/** Of the log, for whoever asks why the gateway did not start. */
const LINES_KEPT = 20

export interface Stage {
  readonly target: Target
  readonly databaseUrl: string
  /** How the gateway ended; undefined while it runs. */
  readonly ended: () => string | undefined
  /** Lines of its log that tell of a broken request or worse. */
  readonly brokenLines: () => ReadonlyArray<string>
  readonly residentMegabytes: () => number
  /** Until what was begun by callbacks has been looked into for the first time. */
  readonly rested: () => Promise<void>
  readonly verify: () => Promise<{ readonly ok: boolean; readonly text: string }>
  readonly close: () => Promise<void>
}

interface Started {
  readonly url: string
  readonly tenant: Key
}

export const openStage = async (): Promise<Stage> => {
  const dataDir = mkdtempSync(join(tmpdir(), "payment-gateway-fuzz-"))
  // The account that PostgreSQL runs as must reach the cluster in it.
  chmodSync(dataDir, 0o711)
  const env = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    DATA_DIR: dataDir,
    LOG_LEVEL: "warn",
    LOG_FORMAT: "json",
    PORT: "0",
    MANAGEMENT_PORT: "0",
    CONSOLE_PORT: "0",
    SIMULATOR_PORT: "0",
    SIMULATOR_DELAY_MS: "0",
    PROVIDER_TIMEOUT_MS: "2000",
    RATE_LIMIT_READS: "off",
    RATE_LIMIT_MONEY: "off",
    RATE_LIMIT_DELIVERIES: "off",
    RATE_LIMIT_REFUSALS: "off"
  }
  const gateway = begun(env)
  const close = async () => {
    await gateway.stop()
    await Effect.runPromise(Effect.ignore(EmbeddedPostgres.stop(dataDir)))
    await removed(dataDir)
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void close().finally(() => process.exit(130)))
  try {
    const { tenant, url } = await gateway.started
    const command = (...args: ReadonlyArray<string>) => run(env, args)
    const target = await prepared(url, tenant, command)
    const database = await Effect.runPromise(EmbeddedPostgres.ensureRunning(dataDir))
    return {
      target,
      databaseUrl: Redacted.value(EmbeddedPostgres.url(database)),
      ended: gateway.ended,
      brokenLines: gateway.brokenLines,
      residentMegabytes: gateway.residentMegabytes,
      rested: () => pause(CALLBACKS_SETTLE_MS),
      verify: async () => {
        const { code, text } = await command("ledger", "verify")
        return { ok: code === 0, text }
      },
      close
    }
  } catch (error) {
    await close()
    throw error
  }
}

const begun = (env: NodeJS.ProcessEnv) => {
  const child = spawn(process.execPath, [...RUNTIME, MAIN, "start", "--json"], { env, stdio: ["ignore", "pipe", "pipe"] })
  const broken: Array<string> = []
  const last: Array<string> = []
  let output = ""
  let rest = ""
  child.stderr.on("data", (chunk) => {
    const lines = `${rest}${chunk}`.split("\n")
    rest = lines.pop() ?? ""
    last.push(...lines)
    last.splice(0, last.length - LINES_KEPT)
    // A simulated provider's refusal of our account is what the case asked for.
    broken.push(...lines.filter((line) => /"level":"(ERROR|FATAL)"/i.test(line) && !line.includes('"alarm":')))
  })
  const ended = () =>
    child.exitCode === null && child.signalCode === null ? undefined : String(child.exitCode ?? child.signalCode)
  const started = new Promise<Started>((done, failed) => {
    child.stdout.on("data", (chunk) => {
      output += chunk
      if (output.includes("\n")) done(JSON.parse(output.slice(0, output.indexOf("\n"))))
    })
    child.once("close", () => failed(new Error(`gateway start ended with ${ended()}: ${[output, ...last, rest].join("\n")}`)))
  })
  started.catch(() => undefined)
  return { started, ended, brokenLines: () => broken, stop: () => stopped(child), residentMegabytes: () => residentOf(child) }
}

const residentOf = ({ pid }: ChildProcess): number =>
  Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024)

const stopped = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((ended) => child.once("close", ended))
  child.kill("SIGTERM")
  await gone
}

/** Also what PostgreSQL had to put elsewhere. */
const removed = async (dataDir: string): Promise<void> => {
  try {
    const { cluster } = JSON.parse(readFileSync(join(dataDir, "postgres.json"), "utf8"))
    const home = dirname(resolve(dataDir, cluster))
    if (basename(home).startsWith("payment-gateway-")) await rm(home, { recursive: true, force: true })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

const run = async (env: NodeJS.ProcessEnv, args: ReadonlyArray<string>): Promise<{ code: number; text: string }> =>
  promisify(execFile)(process.execPath, [MAIN, ...args, "--json"], { env, maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (failed: { code: number; stdout: string; stderr: string }) => ({
      code: failed.code,
      text: `${failed.stdout}${failed.stderr}`
    })
  )

type Command = (...args: ReadonlyArray<string>) => Promise<{ code: number; text: string }>

/** A second tenant that spends, and an open payment of the first at each provider. */
const prepared = async (url: string, victim: Key, command: Command): Promise<Target> => {
  const must = async (...args: ReadonlyArray<string>) => {
    const { code, text } = await command(...args)
    if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${text}`)
    return JSON.parse(text)
  }
  const credit = (appId: string, currency: string) =>
    must(
      "float",
      "credit",
      appId,
      "--mode",
      "live",
      "--currency",
      currency,
      "--amount-minor",
      CREDIT,
      "--external-id",
      `fuzz-${currency}`,
      "--note",
      "fuzz"
    )
  await must("tenant", "create", "spender")
  const spender: Key = await must("key", "issue", "spender", "--mode", "live")
  await credit("spender", "UGX")
  for (const window of ["hour", "day"])
    await must("limit", "set", "spender", "--mode", "live", "--window", window, "--count", "1000000")
  for (const currency of new Set(known.map((provider) => trialOf(provider).currency))) await credit(victim.app_id, currency)
  const gateway = { url, host: new URL(url).host }
  const rows: ReadonlyArray<{ provider: string; mode: "live" | "test"; callback_path: string }> = await must("provider", "list")
  const pending = await openPayments(gateway, victim, [...new Set(rows.map(({ provider }) => provider))], must)
  const callbacks = rows.map(
    ({ callback_path, mode, provider }): CallbackPath => ({
      provider,
      mode,
      path: callback_path,
      pending: pending.get(provider) ?? []
    })
  )
  const unauthorized = await (await fetch(`${url}/v1/float`)).text()
  return { port: Number(new URL(url).port), unauthorized, victim, spender, callbacks }
}

type Must = (...args: ReadonlyArray<string>) => Promise<unknown>

/** A payout and a charge that each provider leaves open, of whose outcome only the provider can tell. */
const openPayments = async (gateway: { url: string; host: string }, key: Key, providers: ReadonlyArray<string>, must: Must) => {
  for (const provider of providers) {
    const { country, currency } = trialOf(provider)
    const there = providers.filter((one) => trialOf(one).country === country).join(",")
    for (const direction of ["payout", "collection"])
      await must("corridor", "set", country, currency, direction, "momo", "--active", "true", "--provider", there)
  }
  const opened = new Map<string, ReadonlyArray<string>>()
  for (const [index, provider] of providers.entries()) {
    await must("tenant", "pin", key.app_id, provider, "--reason", "fuzz")
    // Every node follows within a second.
    await pause(1_100)
    const ending = `${index}0010`.slice(-5)
    const { charge, payout } = storyOf(provider)
    const made = [
      { target: "/v1/payouts", body: withNumber(payout("0010"), provider, "destination", ending) },
      { target: "/v1/collections", body: withNumber(charge("0010"), provider, "source", ending) }
    ]
    const references = []
    for (const { body, target } of made) {
      const answer = await send(gateway, key, { method: "POST", target, body, idempotencyKey: `open-${target}-${provider}` })
      const data: { reference?: string; provider?: string } = JSON.parse(JSON.stringify(answer?.body.data ?? {}))
      if (data.reference === undefined || data.provider !== provider)
        throw new Error(`${provider} has nothing open: ${JSON.stringify(answer)}`)
      references.push(data.reference)
    }
    opened.set(provider, references)
  }
  return opened
}

const withNumber = (body: object, provider: string, party: string, ending: string): object => {
  const { country, network, prefix } = trialOf(provider)
  return { ...body, [party]: { type: "momo", msisdn: `${prefix.slice(0, -1)}${ending}`, network, country } }
}
