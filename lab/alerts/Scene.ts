import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"
import { Client } from "pg"
import { gateway } from "../../test/commands/Gateway.ts"
import { type Answer, type Key, send } from "../chaos/Client.ts"
import type { Stage } from "../chaos/Stage.ts"

type Row = Readonly<Record<string, unknown>>

export interface Tenant extends Key {
  readonly post: (target: string, body: object) => Promise<Answer | undefined>
  readonly get: (target: string) => Promise<Answer | undefined>
}

/** What a fault is made of and mended with: tenants' requests, operators' commands, and the owner of the database. */
export interface Scene {
  readonly stage: Stage
  /** One statement of the database's owner, on a connection of its own. */
  readonly sql: (text: string, values?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<Row>>
  /** Runs a statement and keeps its session, and with it what it locked, until it is let go. */
  readonly hold: (text: string) => Promise<() => Promise<void>>
  /** An operator's command; its `--json` answer, whatever its exit code. */
  readonly command: (...args: ReadonlyArray<string>) => Promise<{ readonly code: number; readonly json: unknown }>
  /** As `command`, where only success will do. */
  readonly must: (...args: ReadonlyArray<string>) => Promise<unknown>
  readonly tenant: (appId: string, float?: number) => Promise<Tenant>
  /** Sets the simulated provider's switch. */
  readonly control: (path: string, body: object) => Promise<void>
}

const LOOK_EVERY_MS = 100
const PATIENCE_MS = 60_000

export const openScene = (stage: Stage): Scene => {
  const url = stage.variables["DATABASE_URL"] ?? ""
  const connected = async () => {
    const client = new Client({ connectionString: url })
    // A session that ends with its server was not needed any more.
    client.on("error", () => undefined)
    await client.connect()
    return client
  }
  const sql: Scene["sql"] = async (text, values) => {
    const client = await connected()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }
  const hold: Scene["hold"] = async (text) => {
    const client = await connected()
    await client.query(text)
    return () => client.end()
  }
  // In this process: a command's own start takes longer than what it does.
  const ran = async (args: ReadonlyArray<string>) => Effect.runPromise(gateway(stage.variables, ...args, "--json"))
  const command: Scene["command"] = async (...args) => {
    const { code, output } = await ran(args)
    return { code, json: output === "" ? null : JSON.parse(output) }
  }
  const must: Scene["must"] = async (...args) => {
    const { code, errors, output } = await ran(args)
    if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
    return JSON.parse(output)
  }
  const [first] = stage.gateways
  const tenant: Scene["tenant"] = async (appId, float = 0) => {
    await must("tenant", "create", appId)
    const issued: unknown = await must("key", "issue", appId, "--mode", "live")
    const { api_key, key_id, signing_secret }: Key = JSON.parse(JSON.stringify(issued))
    const key: Key = { app_id: appId, api_key, key_id, signing_secret }
    if (float > 0) await must("float", "credit", ...creditOf(appId, float))
    let made = 0
    return {
      ...key,
      post: (target, body) => send(first, key, { method: "POST", target, body, idempotencyKey: `${appId}-${++made}` }),
      get: (target) => send(first, key, { method: "GET", target })
    }
  }
  const control: Scene["control"] = async (path, body) => {
    const { ok } = await fetch(`${stage.simulatorUrl}/__simulator${path}`, { method: "POST", body: JSON.stringify(body) })
    if (!ok) throw new Error(`the simulator refused ${path}`)
  }
  return { stage, sql, hold, command, must, tenant, control }
}

export const creditOf = (appId: string, amount: number, externalId = "given"): ReadonlyArray<string> => [
  appId,
  ..."--mode live --currency UGX --note drill --amount-minor".split(" "),
  String(amount),
  "--external-id",
  externalId
]

/** Asks until the answer is the wanted one. */
export const eventually = async <A>(ask: () => Promise<A>, wanted: (answer: A) => boolean): Promise<A> => {
  const limit = performance.now() + PATIENCE_MS
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (performance.now() > limit) throw new Error(`never came: ${JSON.stringify(answer)}`)
    await pause(LOOK_EVERY_MS)
  }
}

/** The reference that an answer names, also where it refuses. */
export const referenceOf = (answer: Answer | undefined): string =>
  String(answer?.body.data?.["reference"] ?? answer?.body.error?.details["reference"] ?? "")

/** Until the tenant's record is as wanted. */
export const settled = async ({ get }: Tenant, target: string, wanted: (data: Row) => boolean): Promise<Row> => {
  const answer = await eventually(
    () => get(target),
    (one) => one?.body.data !== undefined && wanted(one.body.data)
  )
  return answer?.body.data ?? {}
}
