import { createPublicKey } from "node:crypto"
import { Effect, Option, Redacted, Schema } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { DarajaSettings } from "../../providers/daraja/Client.ts"
import { darajaProvider } from "../../providers/daraja/Settings.ts"
import { simulatedFees } from "../Fees.ts"
import type { SimulatedRequest } from "../SimulatedProvider.ts"
import { bearerOf, showsBasic, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator } from "../SimulatorModule.ts"
import { issueToken, readToken } from "../Tokens.ts"
import { createCharge, createPayout } from "./Payments.ts"
import { balance } from "./Reference.ts"
import { type Call, errors, json, refuse, type Shortcodes, tooMany } from "./Responses.ts"
import { callbackOf, chargeStatus, confirmOrder, pull, registering, transactionStatus } from "./Transactions.ts"

export const simulatedDaraja = knownSimulator({
  provider: darajaProvider,
  account: (mode, reach) => ({ ...reach, ...own[mode], ...ofBoth, fees: simulatedFees }),
  trial: { country: "KE", currency: "KES", network: "MPESA", prefix: "25471112" },
  accountName: ({ consumerKey }) => consumerKey,
  simulator: (accounts) => darajaSimulator(accounts)
})

const ofBoth = {
  // Callbacks go to the address that the control port was given.
  callbackUrl: Redacted.make("https://gateway.example/hooks"),
  till: null,
  initiator: "simulated-initiator",
  initiatorPassword: Redacted.make("simulated-password"),
  // Its private half was thrown away.
  certificateKey: createPublicKey({
    key: Buffer.from(
      [
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx1MphPA3S/1LMnv/48Za9QRglguw2Ug/MnMwUQFAtHPuK6FCDetKiyQVjNs6T+tIMD",
        "uIIIFDKEel4yFtgGwqpXcDK78+W/ZhSIz5ZkTIH+Dll0/CyrZGMfSx1esVGN3RvvXJxuNpnD2W54OlqTw1u2tywMdTj3fWxU1TVP173YgTBp9G",
        "clD6uNbV1BrUJtZFfPiZKnXPfRlbOOCGBif3luHNCq/Kr3F+41dijYFqGOs0/QN4sIOxxaQ/p0E5mBc+Q3cEZgU2+VOa4LrTq2kn5o6+rJ6clp",
        "G7Tw+XE1MZpv2l/DixR2Hir8lYhSyjvETIGIPs0U4KwJNuKHgVdvCVAwIDAQAB"
      ].join(""),
      "base64"
    ),
    format: "der",
    type: "spki"
  }),
  pulls: true
}

const ownOf = (mode: Mode, shortcode: string, payoutShortcode: string) => ({
  consumerKey: `simulated-${mode}`,
  consumerSecret: Redacted.make(`simulated-${mode}-secret`),
  shortcode,
  passkey: Redacted.make(`simulated-${mode}-passkey`),
  payoutShortcode
})
const own = { live: ownOf("live", "605512", "3004411"), test: ownOf("test", "174379", "600990") }

const TOKEN_LINE = "GET /oauth/v1/generate"
const token = { name: "daraja", lifeSeconds: 3_599 }
const Claims = Schema.Struct({ key: Schema.String })

/** Safaricom as its wire shows it (README.md of the provider). */
const darajaSimulator = (accounts: ReadonlyArray<DarajaSettings>) => {
  const merchants = accounts.map((settings) => ({ clientId: settings.consumerKey, settings }))
  /** By account: each new token invalidates the previous one. */
  const newest = new Map<string, string>()
  /** By account: where the confirmations of its paybill go. */
  const registered = new Map<string, string>()

  const newToken = ({ context, merchant, now }: Call) => {
    const { consumerKey: key, consumerSecret } = merchant.settings
    const access_token = issueToken(token, consumerSecret, { key, number: context.account.sequence() }, now)
    newest.set(key, access_token)
    return Effect.succeed(json(200, { access_token, expires_in: String(token.lifeSeconds) }))
  }

  const routes: WireEndpoints<Call> = {
    [TOKEN_LINE]: { operation: "token", endpoint: newToken },
    "POST /mpesa/stkpush/v1/processrequest": { endpoint: createCharge },
    "POST /mpesa/stkpushquery/v1/query": { operation: "status", endpoint: chargeStatus },
    "POST /mpesa/b2c/v3/paymentrequest": { endpoint: createPayout },
    "POST /mpesa/transactionstatus/v1/query": { operation: "status", endpoint: transactionStatus },
    "POST /mpesa/accountbalance/v1/query": { operation: "balance", endpoint: balance },
    "POST /pulltransactions/v1/query": { operation: "status", endpoint: pull },
    "POST /mpesa/c2b/v2/registerurl": { operation: "register", endpoint: registering(registered) }
  }

  const authenticate = Effect.fnUntraced(function* (request: SimulatedRequest, line: string, now: number) {
    if (line === TOKEN_LINE) {
      const merchant = merchants.find(({ settings }) => showsBasic(request, settings.consumerKey, settings.consumerSecret))
      if (request.query.get("grant_type") !== "client_credentials")
        return yield* refuse(400, "400.008.02", "Invalid grant type passed")
      return merchant ?? (yield* refuse(400, "400.008.01", "Invalid Authentication passed"))
    }
    const bearer = bearerOf(request) ?? ""
    const merchant = merchants.find(
      ({ settings }) =>
        newest.get(settings.consumerKey) === bearer &&
        Option.exists(readToken(token, Claims)(settings.consumerSecret, bearer, now), ({ key }) => key === settings.consumerKey)
    )
    return merchant ?? (yield* refuse(404, "404.001.03", "Invalid Access Token"))
  })

  return simulatedWire<Shortcodes>({
    name: "daraja",
    accounts: merchants,
    errors,
    tooMany,
    routes,
    authenticate,
    unknownAddress: refuse(404, "404.003.01", "Resource not found"),
    refusesAddressFirst: true,
    callback: callbackOf,
    orders: { confirm: confirmOrder("daraja", merchants, registered) }
  })
}
