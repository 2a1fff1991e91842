import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { portalKeyText } from "../../../src/simulator/airtel/Signature.ts"
import { knownSimulators } from "../../../src/simulator/Registry.ts"
import { abilitiesOf } from "../../../test/providers/contract/Abilities.ts"
import { freePorts } from "../../../test/support/FreePort.ts"
import { singleServer } from "../SingleServer.ts"
import type { Stage, StageDatabase, Variables } from "../Stage.ts"

// Every provider that is simulated, and an account of each in both modes.

export const modes = ["live", "test"] as const
export type Mode = (typeof modes)[number]

interface Settings {
  readonly of: (mode: Mode) => Variables
  readonly shared?: Variables
}

const mtnUsers = {
  live: "5a1e0000-0000-4000-8000-000000000001",
  test: "7e570000-0000-4000-8000-000000000002"
} as const
const COLLECTION_FEE = "1.5%"
const ghanaFees = { PAYOUT_FEES: "GHS:momo:500" }

/** Of nobody: what is encrypted for it nobody can read. */
const certificate =
  "MIIDGTCCAgGgAwIBAgIUFub6OMWn6wgjN7lBw7Dja5q4EmcwDQYJKoZIhvcNAQELBQAwGzEZMBcGA1UEAwwQYXBpY3J5cHQuZXhhbXBsZTAgFw0yNjExMzAwMTI4MjhaGA" +
  "8yMTI2MTEwNjAxMjgyOFowGzEZMBcGA1UEAwwQYXBpY3J5cHQuZXhhbXBsZTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAK21jxzFo7Nlb7uUGQ2xqESpM4vo" +
  "s8dzWgOC/7VTyBUsvaX52BwAfo0VbeiDpZCRodY4xjnm44JmeyGCbJbGpuumhvOW8WPhe6yT/MpulA0uSF5PebKUWMZd/FsBF5eQbVzHPVKRnBG9/1XkHK4CGupKPQvz5W" +
  "2fi4PXuWt4O0p7oarHOeXo9esSSFhAaAg5ocCDsDIslf8YY2D5iMXvUdQ7Ck8/ik8g7/gaKw9DGt9ZXwfjD5JdygVk3HhTorJkCq1vyWBUYT8c8qLf1AtDOdYfKRq5G8aG" +
  "wYiboKBj3g1cxkgwMvuJH11B94GDe0aI8/5n2IijcaoclWmntsrtjLkCAwEAAaNTMFEwHQYDVR0OBBYEFP/Zzw+uHlxctdRwf2Gj/4QYd0+0MB8GA1UdIwQYMBaAFP/Zzw" +
  "+uHlxctdRwf2Gj/4QYd0+0MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAKsMY70QSErXOfxZdr8UV3uSjMqC3xwyE/FyZ3Iq/HfWujmai62Drv1WVkeQ" +
  "hllmGcY1alopDxey/EngyelHOmfKAsHr5+DZsAzdZptQIu0Wp0VVdf5tyhlUH4IboA119e7x717q0N6yEASkGLKGV15DIsRSVPaR4HsR7B1SuZz1uaR0Iv4CSQ34pO8smG" +
  "i0t0MGfp50mbB/B4etREh07u+WsZQjWS23dU2snK/e/t6VhRdzUJisnjTA99Au2OHthannVEOGQZn46frXI2I4eE93yG0PfAfhEhkkOsUU53AcpCIVHhM47Qqc6c+w5O8A" +
  "7ZwU9hFHuEbp15Nllkr72v4="

/** What their operators set, in the words of each provider: those of the accounts that its simulator knows by itself. */
const settings: Readonly<Record<string, Settings>> = {
  // The stage has them.
  eversend: { of: () => ({}) },
  pawapay: {
    of: (mode) => ({ API_TOKEN: `simulated-${mode}-token` }),
    shared: { ...ghanaFees, COLLECTION_FEE }
  },
  flutterwave: {
    of: (mode) => ({ SECRET_KEY: `FLWSECK-simulated-${mode}`, WEBHOOK_SECRET_HASH: `simulated-${mode}-secret-hash` })
  },
  paystack: { of: (mode) => ({ SECRET_KEY: `sk_${mode}_simulated` }), shared: ghanaFees },
  mtn: {
    of: (mode) => ({
      USER_ID: `GH:${mtnUsers[mode]}`,
      API_KEY: `GH:simulated-${mode}-api-key`,
      COLLECTION_KEY: `GH:simulated-${mode}-collection-key`,
      DISBURSEMENT_KEY: `GH:simulated-${mode}-disbursement-key`
    }),
    shared: { ...ghanaFees, COLLECTION_FEE }
  },
  airtel: {
    of: (mode) => ({
      CLIENT_ID: `ZM:simulated-${mode}`,
      CLIENT_SECRET: `ZM:simulated-${mode}-client-secret`,
      PIN: "ZM:4821",
      PIN_KEY: `ZM:${portalKeyText}`,
      CALLBACK_KEY: `ZM:simulated-${mode}-callback-key`,
      STATEMENT_COUNTRIES: "ZM"
    }),
    shared: { PAYOUT_FEES: "ZMW:momo:1000", COLLECTION_FEE }
  },
  daraja: {
    of: (mode) => ({
      CONSUMER_KEY: `simulated-${mode}`,
      CONSUMER_SECRET: `simulated-${mode}-secret`,
      CALLBACK_URL: "https://gateway.example/hooks",
      SHORTCODE: { live: "605512", test: "174379" }[mode],
      PASSKEY: `simulated-${mode}-passkey`,
      PAYOUT_SHORTCODE: { live: "3004411", test: "600990" }[mode],
      INITIATOR: "simulated-initiator",
      INITIATOR_PASSWORD: "simulated-password",
      CERTIFICATE: certificate,
      PULL: "on"
    }),
    shared: { PAYOUT_FEES: "KES:momo:3000", COLLECTION_FEE }
  },
  wave: {
    of: (mode) => ({
      API_KEY: `CI:wave_ci_simulated_${mode}`,
      WEBHOOK_SECRET: `CI:wave_ci_WHS_simulated_${mode}`
    }),
    shared: { PAYOUT_FEES: "XOF:momo:300", COLLECTION_FEE }
  }
}

const known = knownSimulators.map((one) => {
  const own = settings[one.name]
  if (own === undefined) throw new Error(`${one.name} has no settings here`)
  const accounts = one.accounts({ baseUrl: "", timeoutMs: 0 })
  return { ...one, own, of: accounts, mount: one.simulated(accounts).mount }
})

export const providers: ReadonlyArray<string> = known.map(({ name }) => name)

const knownAs = (provider: string) => {
  const found = known.find(({ name }) => name === provider)
  if (found === undefined) throw new Error(`${provider} is not simulated`)
  return found
}

/** The mobile money in which a provider is played. */
export interface Way {
  readonly country: string
  readonly currency: string
  readonly network: string
  /** Numbers are one of these, three digits, and the four of the ending. */
  readonly prefixes: readonly [string, ...ReadonlyArray<string>]
  /** Amounts are multiples of it, in minor units. */
  readonly step: number
  /** Its payers pay on a page wherever the corridor has one. */
  readonly redirects: boolean
}

/** One network: two charges of one number would lie closer together than the double-charge guard allows. */
const inGhana: Way["prefixes"] = ["23324", "23354", "23355", "23359"]
const OWN_DIGITS = 3
/** A provider takes whole units of a currency with two decimals. */
const WHOLE_UNIT = 100

export const wayOf = (provider: string): Way => {
  const { country, currency, network, prefix, redirects = false } = placeOf(provider)
  const isWhole = abilitiesOf(provider).charges.some(({ isFixed }) => isFixed === true)
  return {
    country,
    currency,
    network,
    prefixes: country === "GH" ? inGhana : [prefix.slice(0, -OWN_DIGITS)],
    step: isWhole ? WHOLE_UNIT : 1,
    redirects
  }
}

/** In Uganda payers say the codes of Eversend: Airtel is played in Zambia. */
const placeOf = (provider: string) => {
  const { trial } = knownAs(provider)
  return provider === "airtel" ? { ...trial, country: "ZM", currency: "ZMW", prefix: "26097000" } : trial
}

/** Those that serve one country. */
export const servingIn = (country: string): ReadonlyArray<string> =>
  providers.filter((provider) => wayOf(provider).country === country)

type Kind = "payout" | "collection" | "exchange"

/** What its wire says of money that arrived and came back, as its line of the contract suite has it. Where it says nothing, a person finds it out. */
const saysOfReturns = (provider: string, kind: Kind) => abilitiesOf(provider).sentBack[kind === "payout" ? "payouts" : "charges"]

export const tellsReturns = (provider: string, kind: Kind): boolean => saysOfReturns(provider, kind) === "Returned"

/** Whoever did not ask between the delivery and the return hears of a payout that failed. */
export const tellsReturnsAsFailures = (provider: string): boolean => saysOfReturns(provider, "payout") === "Refused"

/** Where the answer to a charge was lost, and then its only report, nothing that this provider says leads to it until it is paid. */
export const losesCharges = (provider: string): boolean => provider === "daraja"

/** The account that a mode's money has to move in. */
export const accountName = (provider: string, mode: Mode): string => {
  const { accountName: nameOf, of } = knownAs(provider)
  return nameOf(of, mode) ?? ""
}

/** A stage's database, beside the ports that the providers will have: whoever has an account has to know where it is. */
export const withAccounts = async (
  inner: StageDatabase = singleServer
): Promise<{ readonly database: StageDatabase; readonly variables: Variables }> => {
  const ports = await freePorts(providers.length)
  const portOf = (provider: string) => ports[providers.indexOf(provider)] ?? 0
  const database: StageDatabase = async (dataDir, life) => {
    await mkdir(join(dataDir, "simulator"), { recursive: true, mode: 0o700 })
    const remembered = Object.fromEntries(providers.map((provider) => [provider, portOf(provider)]))
    await writeFile(join(dataDir, "simulator", "ports.json"), JSON.stringify(remembered))
    return inner(dataDir, life)
  }
  const variables = providers.flatMap((provider) => {
    const {
      mount,
      own: { of, shared = {} }
    } = knownAs(provider)
    const prefix = provider.toUpperCase()
    const named = (part: string, all: Variables) =>
      Object.entries(all).map(([name, value]) => [`${prefix}_${part}${name}`, value] as const)
    return [
      [`${prefix}_BASE_URL`, `http://127.0.0.1:${portOf(provider)}${mount}`] as const,
      ...named("", shared),
      ...modes.flatMap((mode) => named(`${mode.toUpperCase()}_`, of(mode)))
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
