import { Effect } from "effect"
import { gateway } from "../../test/commands/Gateway.ts"
import { withSession } from "../../test/support/DatabaseSession.ts"
import type { Key } from "../chaos/Client.ts"
import type { Heard } from "../chaos/Receiver.ts"
import type { Stage } from "../chaos/Stage.ts"
import { CREDIT } from "../chaos/Tenants.ts"

/** So many tenants on the last worker, and so many on the others; each with float and an endpoint. */
export const tenantsOfTwoWorkers = async (stage: Stage, count: number, heard: Heard) => {
  const placed = await places(stage.variables["DATABASE_URL"] ?? "", count * 20)
  const last = Math.max(...placed.map(({ node }) => node))
  const names = (isLast: boolean) =>
    placed
      .filter(({ node }) => (node === last) === isLast)
      .map(({ name }) => name)
      .slice(0, count)
  const make = (names: ReadonlyArray<string>) =>
    names.reduce(
      async (made: Promise<ReadonlyArray<Key>>, name) => [...(await made), await tenant(stage, name, heard)],
      Promise.resolve([])
    )
  return { disturbed: await make(names(true)), others: await make(names(false)) }
}

/** On which worker names would be. */
const places = (url: string, count: number) => {
  const { hostname, password, pathname, port, username } = new URL(url)
  return withSession(
    { host: hostname, port: Number(port), username, password, database: pathname.slice(1) },
    (sql) =>
      sql<{ name: string; node: number }>`SELECT n.name, w.nodeid AS node
        FROM (SELECT 'drill-' || n AS name FROM generate_series(1, ${count}::int) AS n) n
        JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('transactions', n.name)
        JOIN pg_dist_node w ON w.groupid = p.groupid ORDER BY w.nodeid`
  )
}

const tenant = async ({ variables }: Stage, appId: string, heard: Heard): Promise<Key> => {
  // In this process: a command's own start takes longer than what it does.
  const must = async (...args: ReadonlyArray<string>): Promise<Readonly<Record<string, string>>> => {
    const { code, errors, output } = await Effect.runPromise(gateway(variables, ...args, "--json"))
    if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
    return JSON.parse(output)
  }
  await must("tenant", "create", appId)
  const { api_key = "", key_id = "", signing_secret = "" } = await must("key", "issue", appId, "--mode", "live")
  const money = ["--currency", "UGX", "--amount-minor", String(CREDIT)]
  await must("float", "credit", appId, "--mode", "live", ...money, "--external-id", "drill", "--note", "drill")
  for (const direction of ["payout", "collection"])
    for (const window of ["hour", "day"])
      await must("limit", "set", appId, "--mode", "live", "--direction", direction, "--window", window, "--count", "1000000")
  const { secret = "" } = await must("webhook", "endpoint", appId, "--mode", "live", "--url", heard.url(appId))
  heard.learn(appId, secret)
  return { app_id: appId, api_key, key_id, signing_secret }
}
