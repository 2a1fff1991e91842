import { describe, expect, it } from "vitest"
import { reader } from "../../../src/ConfigRules.ts"
import { mtnProvider } from "../../../src/providers/mtn/Settings.ts"
import { simulatedMtn } from "../../../src/simulator/mtn/Simulator.ts"

const live = {
  MTN_BASE_URL: "https://momo.example",
  MTN_PAYOUT_FEES: "UGX:momo:1000,GHS:momo:1%",
  MTN_COLLECTION_FEE: "1.5%",
  MTN_LIVE_USER_ID: "UG:user-ug, GH:user-gh",
  MTN_LIVE_API_KEY: "GH:api-gh,UG:api-ug",
  MTN_LIVE_COLLECTION_KEY: "UG:c-ug,GH:c-gh",
  MTN_LIVE_DISBURSEMENT_KEY: "UG:d-ug,GH:d-gh"
}

const read = (variables: Readonly<Record<string, string>>) => {
  const mistakes: Array<string> = []
  const accounts = mtnProvider.configured(reader(variables, mistakes), mistakes, {
    timeoutMs: 1000,
    refuseLoopback: true,
    refuseRemote: false
  })
  const opened = accounts === undefined ? [] : mtnProvider.accountsOf(accounts)
  return { mistakes, users: opened.map(({ account, mode }) => [mode, account.countries[0]?.userId]) }
}

describe("the settings of MTN", () => {
  it("are one account of each country for each mode", () => {
    expect(read(live)).toStrictEqual({ mistakes: [], users: [["live", "user-ug"]] })
  })

  it("are empty when nothing is set", () => {
    expect(read({})).toStrictEqual({ mistakes: [], users: [] })
  })

  it("may name a country's own host, a callback address and, of one country, the sandbox", () => {
    const test = {
      MTN_TEST_USER_ID: "UG:tester",
      MTN_TEST_API_KEY: "UG:k",
      MTN_TEST_COLLECTION_KEY: "UG:k",
      MTN_TEST_DISBURSEMENT_KEY: "UG:k",
      MTN_TEST_TARGET_ENVIRONMENT: "sandbox",
      MTN_TEST_HOSTS: "UG:https://sandbox.example",
      // Issue 38, line 14: the sandbox's documents contradict each other.
      MTN_TEST_CALLBACK_URL: "http://pay.example/webhooks/mtn/test",
      MTN_LIVE_CALLBACK_URL: "https://pay.example/webhooks/mtn/secret"
    }
    expect(read({ ...live, ...test })).toStrictEqual({
      mistakes: [],
      users: [
        ["live", "user-ug"],
        ["test", "tester"]
      ]
    })
  })

  const mistakes: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, RegExp]> = [
    ["a key without its country", { MTN_LIVE_API_KEY: "UG:secret-1" }, /^MTN_LIVE_API_KEY must be .* with exactly UG, GH/],
    ["a key of a country without a user", { MTN_LIVE_COLLECTION_KEY: "UG:a,RW:secret-1" }, /^MTN_LIVE_COLLECTION_KEY must be/],
    ["a country twice", { MTN_LIVE_DISBURSEMENT_KEY: "UG:a,UG:secret-1" }, /^MTN_LIVE_DISBURSEMENT_KEY must be/],
    ["a country that is none of MTN's", { MTN_LIVE_USER_ID: "KE:user" }, /^MTN_LIVE_USER_ID must be .*UG, GH, RW, ZM, CM, CI/],
    ["a user without a country", { MTN_LIVE_USER_ID: "user" }, /^MTN_LIVE_USER_ID must be/],
    ["a key that is missing", { MTN_LIVE_API_KEY: "" }, /^MTN_LIVE_API_KEY is required/],
    ["fees that are missing", { MTN_PAYOUT_FEES: "" }, /^MTN_PAYOUT_FEES is required/],
    ["another environment", { MTN_LIVE_TARGET_ENVIRONMENT: "mtnuganda" }, /^MTN_LIVE_TARGET_ENVIRONMENT must be/],
    ["a sandbox of two countries", { MTN_LIVE_TARGET_ENVIRONMENT: "sandbox" }, /^MTN_LIVE_USER_ID must be .* one country/],
    ["a host without TLS", { MTN_LIVE_HOSTS: "GH:http://momo.example" }, /^MTN_LIVE_HOSTS must be/],
    ["a callback address without TLS", { MTN_LIVE_CALLBACK_URL: "http://pay.example/secret-1" }, /^MTN_LIVE_CALLBACK_URL must be/]
  ]
  it.each(mistakes)("name the mistake in %s, and show no secret", (_, change, message) => {
    const { mistakes: told } = read({ ...live, ...change })
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(message)
    expect(told.join()).not.toContain("secret-1")
  })

  it("are not needed for the simulator, which has every country in both modes", () => {
    const accounts = simulatedMtn.accounts({ baseUrl: "http://127.0.0.1:1", timeoutMs: 1000 })
    const names = [simulatedMtn.accountName(accounts, "live"), simulatedMtn.accountName(accounts, "test")]
    expect(simulatedMtn.simulated(accounts).accounts.map(({ clientId }) => clientId)).toStrictEqual(names)
    expect(new Set(names).size).toBe(2)
  })
})
