import type { Key } from "./Client.ts"
import type { Stage } from "./Stage.ts"

const TENANTS = 4
export const CREDIT = 1_000_000_000

export const makeTenants = async (
  stage: Stage,
  url: (appId: string) => string,
  learn: (appId: string, secret: string) => void
) => {
  const keys: Array<Key> = []
  for (let index = 0; index < TENANTS; index++) {
    const appId = `chaos-${index}`
    const must = async (...args: ReadonlyArray<string>): Promise<Readonly<Record<string, string>>> => {
      const { code, errors, json } = await stage.command(...args)
      if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
      return JSON.parse(JSON.stringify(json))
    }
    await must("tenant", "create", appId)
    const { api_key = "", key_id = "", signing_secret = "" } = await must("key", "issue", appId, "--mode", "live")
    keys.push({ app_id: appId, api_key, key_id, signing_secret })
    const money = ["--currency", "UGX", "--amount-minor", String(CREDIT)]
    await must("float", "credit", appId, "--mode", "live", ...money, "--external-id", "chaos", "--note", "chaos")
    for (const direction of ["payout", "collection"])
      for (const window of ["hour", "day"])
        await must("limit", "set", appId, "--mode", "live", "--direction", direction, "--window", window, "--count", "1000000")
    const { secret = "" } = await must("webhook", "endpoint", appId, "--mode", "live", "--url", url(appId))
    learn(appId, secret)
  }
  const [first, ...others] = keys
  if (first === undefined) throw new Error("no tenant")
  return [first, ...others] as const
}
