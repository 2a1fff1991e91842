import { generateKeyPairSync } from "node:crypto"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { reader } from "../../../src/ConfigRules.ts"
import { airtelProvider } from "../../../src/providers/airtel/Settings.ts"
import { simulatedAirtel } from "../../../src/simulator/airtel/Simulator.ts"

const KEY = generateKeyPairSync("rsa", { modulusLength: 1024 })
  .publicKey.export({ format: "der", type: "spki" })
  .toString("base64")

/** What the portal prints: 128 bytes under its key. */
const PRINTED = Buffer.alloc(128, 7).toString("base64")

const live = {
  AIRTEL_BASE_URL: "https://openapi.airtel.example",
  AIRTEL_PAYOUT_FEES: "UGX:momo:1000,ZMW:momo:1%",
  AIRTEL_COLLECTION_FEE: "1.5%",
  AIRTEL_LIVE_CLIENT_ID: "UG:client-ug, ZM:client-zm",
  AIRTEL_LIVE_CLIENT_SECRET: "ZM:secret-zm,UG:secret-ug",
  AIRTEL_LIVE_PIN: `UG:4821,ZM:${PRINTED}`,
  AIRTEL_LIVE_PIN_KEY: `UG:${KEY},ZM:printed`
}

const read = (variables: Readonly<Record<string, string>>) => {
  const mistakes: Array<string> = []
  const bounds = { timeoutMs: 1000, refuseLoopback: true, refuseRemote: false }
  const accounts = airtelProvider.configured(reader(variables, mistakes), mistakes, bounds)
  return { mistakes, accounts: accounts === undefined ? [] : airtelProvider.accountsOf(accounts).map(({ account }) => account) }
}

describe("the settings of Airtel Money", () => {
  it("are an application of each country, unsigned, in the first version, with the common host", () => {
    const { accounts, mistakes } = read(live)
    expect(mistakes).toStrictEqual([])
    const [account] = accounts
    const common = { baseUrl: "https://openapi.airtel.example", version: "v1", isSigned: false, pinPadding: "pkcs1" }
    expect(account?.countries).toMatchObject([
      { ...common, country: "UG", currency: "UGX", clientId: "client-ug" },
      { ...common, country: "ZM", currency: "ZMW", clientId: "client-zm", pinKey: "printed" }
    ])
    expect(account).toMatchObject({ holderCheck: "name", callbackKeys: [], statementCountries: [] })
    expect(account?.countries.map(({ clientSecret }) => Redacted.value(clientSecret))).toStrictEqual(["secret-ug", "secret-zm"])
  })

  it("say by country where it is, how bodies are signed and PINs padded, and what is read", () => {
    const { accounts, mistakes } = read({
      ...live,
      AIRTEL_LIVE_HOSTS: "ZM:https://openapi.airtel.co.example",
      AIRTEL_LIVE_SIGNED_COUNTRIES: "ZM",
      AIRTEL_LIVE_VERSIONS: "ZM:v3,UG:v2",
      AIRTEL_LIVE_PIN_PADDING: "UG:oaep-sha1",
      AIRTEL_LIVE_CALLBACK_KEY: "UG:callback-key",
      AIRTEL_LIVE_HOLDER_CHECK: "off",
      AIRTEL_LIVE_STATEMENT_COUNTRIES: "ZM,UG"
    })
    expect(mistakes).toStrictEqual([])
    expect(accounts[0]).toMatchObject({
      countries: [
        { version: "v2", isSigned: false, pinPadding: "oaep-sha1" },
        { version: "v3", isSigned: true, baseUrl: "https://openapi.airtel.co.example" }
      ],
      holderCheck: "off",
      statementCountries: ["ZM", "UG"]
    })
    expect(accounts[0]?.callbackKeys).toHaveLength(1)
  })

  it("are empty when nothing is set", () => {
    expect(read({})).toStrictEqual({ mistakes: [], accounts: [] })
  })

  const mistakes: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, RegExp]> = [
    [
      "a secret without its country",
      { AIRTEL_LIVE_CLIENT_SECRET: "UG:s" },
      /^AIRTEL_LIVE_CLIENT_SECRET must be .* with exactly UG, ZM/
    ],
    ["a country that is switched off", { AIRTEL_LIVE_CLIENT_ID: "CG:c" }, /^AIRTEL_LIVE_CLIENT_ID must be .* UG, KE, RW, TZ, ZM/],
    ["a key that is none", { AIRTEL_LIVE_PIN_KEY: "UG:a2V5,ZM:printed" }, /^AIRTEL_LIVE_PIN_KEY must be .*base64/],
    ["a PIN with a letter", { AIRTEL_LIVE_PIN: `UG:48a1,ZM:${PRINTED}` }, /^AIRTEL_LIVE_PIN must be .*four digits/],
    ["a PIN of five digits", { AIRTEL_LIVE_PIN: `UG:48211,ZM:${PRINTED}` }, /^AIRTEL_LIVE_PIN must be .*four digits/],
    ["a printed PIN in clear", { AIRTEL_LIVE_PIN: "UG:4821,ZM:4821" }, /^AIRTEL_LIVE_PIN must be .*portal printed$/],
    ["another padding", { AIRTEL_LIVE_PIN_PADDING: "UG:none" }, /^AIRTEL_LIVE_PIN_PADDING must be .*oaep-sha256/],
    ["a third version that is not signed", { AIRTEL_LIVE_VERSIONS: "UG:v3" }, /^AIRTEL_LIVE_VERSIONS must be .*SIGNED_COUNTRIES/],
    ["a host in plain text", { AIRTEL_LIVE_HOSTS: "UG:http://openapi.airtel.example" }, /^AIRTEL_LIVE_HOSTS must be .*https/],
    ["no fees", { AIRTEL_PAYOUT_FEES: "" }, /^AIRTEL_PAYOUT_FEES is required together with AIRTEL_BASE_URL$/],
    ["no PIN", { AIRTEL_LIVE_PIN: "" }, /^AIRTEL_LIVE_PIN is required together with the other AIRTEL_LIVE credentials$/]
  ]
  it.each(mistakes)("refuse %s, with the name of the setting and without a secret", (_, change, mistake) => {
    const found = read({ ...live, ...change }).mistakes
    expect(found).toContainEqual(expect.stringMatching(mistake))
    expect(found.join("\n")).not.toMatch(/secret-ug|4821/)
  })

  it("of the simulator open nothing but the simulator", () => {
    const [account] = airtelProvider.accountsOf(simulatedAirtel.accounts({ baseUrl: "http://127.0.0.1:1", timeoutMs: 1 }))
    expect(account?.account.countries.map(({ clientId }) => clientId)).toStrictEqual(Array(5).fill("simulated-live"))
  })
})
