import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { freePorts } from "../../../test/support/FreePort.ts"
import { singleServer } from "../SingleServer.ts"
import type { Stage, StageDatabase, Variables } from "../Stage.ts"

// Every provider that is simulated, and an account of each in both modes.

export const modes = ["live", "test"] as const
export type Mode = (typeof modes)[number]

interface Account {
  /** Where the provider's interface begins. */
  readonly mount: string
  /** By mode: what the simulator calls the account. */
  readonly accounts: Readonly<Record<Mode, string>>
  readonly settings: (mode: Mode) => Variables
  readonly shared?: Variables
  /** What its wire says of a payout that was delivered and came back. Where it says nothing, a person finds it out. */
  readonly returns: "came back" | "failed" | "nothing"
}

const named = { live: "simulated-live", test: "simulated-test" } as const
const mtnUsers = {
  live: "5a1e0000-0000-4000-8000-000000000001",
  test: "7e570000-0000-4000-8000-000000000002"
} as const
const fees = "GHS:momo:500"

const accounts = {
  eversend: { mount: "/v1", accounts: named, settings: () => ({}), returns: "came back" },
  flutterwave: {
    mount: "/v3",
    accounts: named,
    settings: (mode) => ({ SECRET_KEY: `FLWSECK-simulated-${mode}`, WEBHOOK_SECRET_HASH: `simulated-${mode}-secret-hash` }),
    returns: "failed"
  },
  mtn: {
    mount: "",
    accounts: mtnUsers,
    settings: (mode) => ({
      USER_ID: `GH:${mtnUsers[mode]}`,
      API_KEY: `GH:simulated-${mode}-api-key`,
      COLLECTION_KEY: `GH:simulated-${mode}-collection-key`,
      DISBURSEMENT_KEY: `GH:simulated-${mode}-disbursement-key`
    }),
    shared: { PAYOUT_FEES: fees, COLLECTION_FEE: "1.5%" },
    returns: "nothing"
  },
  pawapay: {
    mount: "/v2",
    accounts: named,
    settings: (mode) => ({ API_TOKEN: `simulated-${mode}-token` }),
    shared: { PAYOUT_FEES: fees, COLLECTION_FEE: "1.5%" },
    returns: "nothing"
  },
  paystack: {
    mount: "",
    accounts: named,
    settings: (mode) => ({ SECRET_KEY: `sk_${mode}_simulated` }),
    shared: { PAYOUT_FEES: fees },
    returns: "came back"
  }
} as const satisfies Readonly<Record<string, Account>>

export type Provider = keyof typeof accounts
export const providers = ["eversend", "flutterwave", "mtn", "pawapay", "paystack"] as const satisfies ReadonlyArray<Provider>

const accountOf = (provider: Provider): Account => accounts[provider]

const saysOfReturns = (provider: string, words: Account["returns"]): boolean =>
  providers.some((one) => one === provider && accountOf(one).returns === words)

export const tellsReturns = (provider: string): boolean => saysOfReturns(provider, "came back")

/** Whoever did not ask between the delivery and the return hears of a payout that failed. */
export const tellsReturnsAsFailures = (provider: string): boolean => saysOfReturns(provider, "failed")

/** The account that a mode's money has to move in. */
export const accountName = (provider: Provider, mode: Mode): string => accountOf(provider).accounts[mode]

/** A stage's database, beside the ports that the providers will have: whoever has an account has to know where it is. */
export const withAccounts = async (
  inner: StageDatabase = singleServer
): Promise<{ readonly database: StageDatabase; readonly variables: Variables }> => {
  const ports = await freePorts(providers.length)
  const portOf = (provider: Provider) => ports[providers.indexOf(provider)] ?? 0
  const database: StageDatabase = async (dataDir, life) => {
    await mkdir(join(dataDir, "simulator"), { recursive: true, mode: 0o700 })
    const remembered = Object.fromEntries(providers.map((provider) => [provider, portOf(provider)]))
    await writeFile(join(dataDir, "simulator", "ports.json"), JSON.stringify(remembered))
    return inner(dataDir, life)
  }
  const variables = providers.flatMap((provider) => {
    const { mount, settings, shared = {} } = accountOf(provider)
    const prefix = provider.toUpperCase()
    const named = (part: string, all: Variables) =>
      Object.entries(all).map(([name, value]) => [`${prefix}_${part}${name}`, value] as const)
    return [
      [`${prefix}_BASE_URL`, `http://127.0.0.1:${portOf(provider)}${mount}`] as const,
      ...named("", shared),
      ...modes.flatMap((mode) => named(`${mode.toUpperCase()}_`, settings(mode)))
    ]
  })
  return { database, variables: Object.fromEntries(variables.filter(([name]) => name !== "EVERSEND_BASE_URL")) }
}

/** Each account's callbacks go through the proxy, to whichever gateway it takes. */
export const tellCallbacks = async (stage: Stage, url: string) => {
  const { json } = await stage.command("provider", "list")
  const rows: ReadonlyArray<{ provider: string; mode: Mode; callback_path: string }> = JSON.parse(JSON.stringify(json))
  for (const provider of providers)
    for (const { callback_path, mode } of rows.filter((row) => row.provider === provider)) {
      const told = { provider, client_id: accountName(provider, mode), url: `${url}${callback_path}` }
      const answer = await fetch(`${stage.simulatorUrl}/__simulator/callbacks`, { method: "POST", body: JSON.stringify(told) })
      if (!answer.ok) throw new Error(`the simulator does not take the address of callbacks: ${await answer.text()}`)
    }
}
