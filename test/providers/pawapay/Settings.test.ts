import { generateKeyPairSync } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { Environment, settings } from "../../../src/Config.ts"

const read = (variables: Readonly<Record<string, string>>) => Effect.provideService(settings, Environment, variables)
const mistakes = (variables: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(read(variables)), (refused) => refused.mistakes)

const pem = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey.export({ type: "spki", format: "pem" }).toString()
const account = {
  PAWAPAY_BASE_URL: "https://api.pawapay.io/v2",
  PAWAPAY_PAYOUT_FEES: "UGX:momo:1000,KES:momo:1%",
  PAWAPAY_COLLECTION_FEE: "1.5%",
  PAWAPAY_LIVE_API_TOKEN: "very-secret-token"
}

describe("pawaPay's settings", () => {
  it.effect("are an address, the contract's fees, and a token for each mode; the key is optional", () =>
    Effect.gen(function* () {
      for (const key of [{}, { PAWAPAY_LIVE_CALLBACK_KEY: pem }]) {
        const [pawapay, ...others] = (yield* read({ ...account, ...key })).providers
        expect(others).toEqual([])
        expect(pawapay?.name).toBe("pawapay")
        const opened = yield* Effect.scoped(pawapay?.open ?? Effect.succeed([]))
        expect(
          opened.map(({ adapter: { callbacks, mode, name, guarantees } }) => [
            name,
            mode,
            guarantees.callbackAuth,
            callbacks.refreshKeys === undefined
          ])
        ).toEqual([["pawapay", "live", "rfc9421", "PAWAPAY_LIVE_CALLBACK_KEY" in key]])
      }
    })
  )

  it.effect("name the key that requests are signed with and what pawaPay calls it, and never show it", () =>
    Effect.gen(function* () {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
      const text = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
      const base64 = privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")
      for (const key of [text, text.replaceAll("\n", "\\n"), base64])
        expect(yield* Effect.exit(read({ ...account, PAWAPAY_LIVE_SIGNING_KEY: `KEY_7:${key}` }))).toMatchObject({
          _tag: "Success"
        })
      const wrongCurve = generateKeyPairSync("ec", { namedCurve: "secp384r1" }).privateKey
      const others = [base64, "KEY_7:", `KEY 7:${base64}`, `KEY_7:${pem}`, `KEY_7:${base64.slice(4)}`]
      for (const wrong of [...others, `KEY_7:${wrongCurve.export({ type: "pkcs8", format: "pem" })}`]) {
        const said = yield* mistakes({ ...account, PAWAPAY_LIVE_SIGNING_KEY: wrong })
        expect(said).toEqual([expect.stringMatching(/^PAWAPAY_LIVE_SIGNING_KEY must be the name that pawaPay has for the key/)])
        expect(said.join("")).not.toContain(base64.slice(40, 60))
      }
    })
  )

  it.effect("name the hosts of callbacks, each as a signature does, and refuse what could be in none", () =>
    Effect.gen(function* () {
      const hosts = "PAY.example:443, hooks.example:8443,[::1]:8080"
      expect(yield* Effect.exit(read({ ...account, PAWAPAY_CALLBACK_HOSTS: hosts }))).toMatchObject({ _tag: "Success" })
      for (const wrong of [
        "https://pay.example",
        "pay.example/webhooks",
        "a@pay.example",
        "pay.example:x",
        "pay.example,",
        "pay example"
      ])
        expect(yield* mistakes({ ...account, PAWAPAY_CALLBACK_HOSTS: wrong })).toEqual([
          expect.stringMatching(/^PAWAPAY_CALLBACK_HOSTS must be a comma list, each a host name, .* and no scheme or path/)
        ])
    })
  )

  it.effect("name the hosts of statements, and no address of the network itself or everything of a domain's end (38)", () =>
    Effect.gen(function* () {
      const hosts = "bucket.s3.eu-west-1.amazonaws.com, *.pawapay.io"
      expect(yield* Effect.exit(read({ ...account, PAWAPAY_STATEMENT_HOSTS: hosts }))).toMatchObject({ _tag: "Success" })
      for (const wrong of [
        "https://files.example",
        "files.example.com/f",
        "127.0.0.1",
        "localhost",
        "*",
        "*.com",
        "*files.example.com"
      ])
        expect(yield* mistakes({ ...account, PAWAPAY_STATEMENT_HOSTS: wrong })).toEqual([
          expect.stringMatching(/^PAWAPAY_STATEMENT_HOSTS must be a comma list, each a host name .* and no scheme, port or path/)
        ])
    })
  )

  it.effect("name all mistakes at once, without a secret", () =>
    Effect.gen(function* () {
      const { PAWAPAY_BASE_URL, PAWAPAY_LIVE_API_TOKEN } = account
      expect(yield* mistakes({ PAWAPAY_BASE_URL, PAWAPAY_LIVE_API_TOKEN })).toEqual([
        "PAWAPAY_PAYOUT_FEES is required together with PAWAPAY_BASE_URL",
        "PAWAPAY_COLLECTION_FEE is required together with PAWAPAY_BASE_URL"
      ])
      expect(yield* mistakes({ PAWAPAY_LIVE_API_TOKEN })).toEqual([
        "PAWAPAY_BASE_URL is required together with the account's credentials"
      ])
      const wrong = yield* mistakes({ ...account, PAWAPAY_LIVE_CALLBACK_KEY: "no-key", PAWAPAY_COLLECTION_FEE: "much" })
      expect(wrong.map((line) => line.split(" must be ")[0])).toEqual(["PAWAPAY_LIVE_CALLBACK_KEY", "PAWAPAY_COLLECTION_FEE"])
      expect(wrong.join()).not.toContain("no-key")
    })
  )
})
