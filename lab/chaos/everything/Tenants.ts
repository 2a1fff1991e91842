import { Effect } from "effect"
import { gateway } from "../../../test/commands/Gateway.ts"
import type { Key } from "../Client.ts"
import type { Stage } from "../Stage.ts"
import { type Mode, modes, providers, servingIn, type Way, wayOf } from "./Accounts.ts"

/** What each holder has of each of its currencies at the beginning. */
export const CREDIT = 1_000_000_000
const ENOUGH = "100000000"

/** One tenant's float in one mode, and its client. */
export interface Holder {
  readonly name: string
  readonly appId: string
  readonly mode: Mode
  readonly provider: string
  readonly way: Way
  readonly currencies: ReadonlyArray<string>
  /** The client changes over to a new one while another is still good. */
  key: Key
}

/** Eversend is where wallets can be exchanged, and where a charge may need a code. */
const currenciesOf = (provider: string) => (provider === "eversend" ? ["GHS", "UGX", "KES"] : [wayOf(provider).currency])

export type Command = (...args: ReadonlyArray<string>) => Promise<string>

/** A command in this process, whose own start takes longer than what it does; fails where it is refused. */
export const commandOn =
  (stage: Pick<Stage, "variables">): Command =>
  async (...args) => {
    const { code, errors, output } = await Effect.runPromise(gateway(stage.variables, ...args, "--json"))
    if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
    return output
  }

export const issueKey = async (command: Command, appId: string, mode: Mode): Promise<Key> =>
  JSON.parse(await command("key", "issue", appId, "--mode", mode))

interface Endpoints {
  readonly url: (name: string) => string
  readonly learn: (name: string, secret: string) => void
}

/** A tenant pinned to each provider, with float in both modes, where that provider is played; and at Eversend in Uganda, too, by a code. */
export const makeHolders = async (command: Command, endpoints: Endpoints): Promise<ReadonlyArray<Holder>> => {
  for (const { country, currency, redirects } of providers.map(wayOf))
    for (const direction of ["payout", "collection"]) {
      const page = redirects && direction === "collection" ? ["--customer-action", "redirect"] : []
      const served = ["--active", "true", "--provider", servingIn(country).join(",")]
      await command("corridor", "set", country, currency, direction, "momo", ...served, ...page)
    }
  await command("corridor", "set", "UG", "UGX", "collection", "momo", "--customer-action", "otp")
  const holders: Array<Holder> = []
  for (const provider of providers) {
    const appId = `all-${provider}`
    await command("tenant", "create", appId)
    await command("tenant", "pin", appId, provider, "--reason", "chaos")
    for (const mode of modes) holders.push(await makeHolder(command, endpoints, { appId, mode, provider }))
  }
  return holders
}

const makeHolder = async (
  command: Command,
  { learn, url }: Endpoints,
  { appId, mode, provider }: Pick<Holder, "appId" | "mode" | "provider">
): Promise<Holder> => {
  const name = `${appId}-${mode}`
  const currencies = currenciesOf(provider)
  for (const currency of currencies) {
    const money = ["--currency", currency, "--amount-minor", String(CREDIT)]
    const why = ["--external-id", `chaos-${mode}-${currency}`, "--note", "chaos"]
    await command("float", "credit", appId, "--mode", mode, ...money, ...why)
  }
  for (const direction of ["payout", "collection", "code"])
    for (const window of ["hour", "day"])
      await command("limit", "set", appId, "--mode", mode, "--direction", direction, "--window", window, "--count", ENOUGH)
  const { secret } = JSON.parse(await command("webhook", "endpoint", appId, "--mode", mode, "--url", url(name)))
  learn(name, secret)
  return { name, appId, mode, provider, way: wayOf(provider), currencies, key: await issueKey(command, appId, mode) }
}
