import type { KeyObject } from "node:crypto"
import { Clock, Effect, Option, Redacted } from "effect"
import type { FactWithAlarm, Unknown } from "../AnswerParsing.ts"
import type { Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import { type OwnAddresses, ownAddresses } from "../OwnAddresses.ts"
import { encryptedUnder } from "../PublicKeys.ts"
import { MemoryOf, type SharedMemory } from "../SharedMemory.ts"
import { basicCredentials, oauth, tokenClient } from "../Tokens.ts"
import type { Transport } from "../Transport.ts"
import { endsToken, identity } from "./Refusals.ts"
import { answerIn, conversationIn, unanswered } from "./Translate.ts"
import { paths, type Result, stampOf, tokenPath } from "./Wire.ts"

export interface DarajaSettings {
  readonly baseUrl: string
  readonly consumerKey: string
  readonly consumerSecret: Redacted.Redacted
  /** The address of this gateway's callbacks, with its secret path. */
  readonly callbackUrl: Redacted.Redacted
  /** Collections: the paybill, or the head office of a till. */
  readonly shortcode: string
  readonly passkey: Redacted.Redacted
  /** Null: the shortcode is a paybill. */
  readonly till: string | null
  /** Payouts. */
  readonly payoutShortcode: string
  readonly initiator: string
  readonly initiatorPassword: Redacted.Redacted
  /** Of Safaricom's certificate, another one in each environment. */
  readonly certificateKey: KeyObject
  /** Whether Pull Transactions is registered for the shortcode. */
  readonly pulls: boolean
  readonly fees: ContractFees
  /** For one call, its token and the answer that comes later included. */
  readonly timeoutMs: number
}

/** Longer than anything is asked by it: a person looks after a day. */
const KEPT_MS = 3 * 86_400_000
/** A charge that was paid is asked about for 45 days. */
const ASKED_MS = 60 * 86_400_000
/** An answer that its question no longer waited for is taken by the next one. */
const ANSWER_MS = 3_600_000
/** As long as an address stands that was registered once. */
const REGISTERED_MS = 10 * 365 * 86_400_000

/** Of 3599 s, so that none runs out on the way. */
const TOKEN_MARGIN_MS = 300_000

/** Each new token ends the one before it: all nodes have one. */
const openClient = (settings: DarajaSettings, transport: Transport): Effect.Effect<Client> => {
  const { baseUrl, consumerKey, consumerSecret, timeoutMs } = settings
  const authorization = basicCredentials(consumerKey, consumerSecret)
  return tokenClient(
    {
      baseUrl,
      timeoutMs,
      request: { method: "GET", path: tokenPath, headers: { accept: "application/json", authorization } },
      ...oauth(TOKEN_MARGIN_MS),
      alarm: "Safaricom refuses the gateway's own consumer key",
      headers: {},
      shared: `daraja ${consumerKey} token`,
      endsToken
    },
    transport
  )
}

const kinds = {
  charge: KEPT_MS,
  payout: KEPT_MS,
  /** Of a request that lay in a queue for too long: it says nothing. */
  late: 0,
  status: ANSWER_MS,
  /** The last one about a record: its number, and the ConversationID that acknowledged it. */
  question: ANSWER_MS,
  balance: ANSWER_MS,
  /** The account's own two, which are registered once: of the confirmations of a paybill, and of the questions before them, which nobody asks. */
  confirm: 0,
  validate: 0,
  registered: REGISTERED_MS,
  /** The receipts of the payments that name a charge, each in a place of its own. */
  bill: KEPT_MS,
  /** The receipt by which a charge without a prompt was found paid, its payer with it. */
  paid: ASKED_MS,
  /** A keyed hash of the payer's whole number, of a charge: what is found without its CheckoutRequestID is compared with it. */
  payer: KEPT_MS,
  /** The CheckoutRequestID of a charge: it ends in the payer's number, and so it stands nowhere else. */
  prompt: ASKED_MS,
  /** The charge that a prompt belongs to, or by its AccountReference a receipt. */
  owner: ASKED_MS
}

/** Safaricom's two, which have accounts of their own. */
export const environmentOf = ({ baseUrl }: Pick<DarajaSettings, "baseUrl">): "sandbox" | "" =>
  new URL(baseUrl).hostname.split(".").includes("sandbox") ? "sandbox" : ""

/** Named by the shortcodes, which outlive keys: a change of keys loses nothing that came before it. */
const addressesOf = (settings: DarajaSettings, memory: SharedMemory) => {
  const { callbackUrl: base, consumerSecret, passkey, payoutShortcode, shortcode } = settings
  const account = ["daraja", environmentOf(settings), shortcode, payoutShortcode].filter((part) => part !== "").join(" ")
  // An address that is registered once has to outlive the keys of the application.
  const secretOf = (kind: keyof typeof kinds) => (kind === "confirm" || kind === "validate" ? passkey : consumerSecret)
  return ownAddresses({ memory, account, base, secretOf, kinds })
}

/** The password of a prompt, and of a question about one: it holds for the moment that it names. */
export const stampedPassword = ({ passkey, shortcode }: Pick<DarajaSettings, "passkey" | "shortcode">) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const stamp = stampOf(now)
    const password = Buffer.from(shortcode + Redacted.value(passkey) + stamp).toString("base64")
    return { BusinessShortCode: shortcode, Password: password, Timestamp: stamp }
  })

/** One opened account. */
export interface Account {
  readonly settings: DarajaSettings
  readonly client: Client
  readonly addresses: OwnAddresses<keyof typeof kinds>
  /** The initiator's password, for Safaricom's eyes alone. Encrypted once: the same one may be used again. */
  readonly credential: string
}

export const openAccount = Effect.fnUntraced(function* (settings: DarajaSettings, transport: Transport) {
  const client = yield* openClient(settings, transport)
  const addresses = addressesOf(settings, yield* MemoryOf)
  const credential = encryptedUnder(settings.certificateKey, "pkcs1", Redacted.value(settings.initiatorPassword))
  return { settings, client, addresses, credential } satisfies Account
})

/** Of the payments that name one charge; one is usual, and a payer may have typed the others. */
const PLACES = 4
export const placesOf = ({ addresses }: Pick<Account, "addresses">, bill: string): ReadonlyArray<string> =>
  Array.from({ length: PLACES }, (_, place) => `${addresses.hidden(bill)} ${place}`)

/** A question whose answer comes to an address of ours. */
interface Question {
  readonly kind: "status" | "balance"
  /** Of its address, which only this question has. */
  readonly id: string
  readonly body: object
  /** Told the ConversationID that acknowledges it. */
  readonly acknowledged?: (conversation: string) => Effect.Effect<void>
}

/** Asks, and waits for the answer that names the same ConversationID. `4` is a shortcode. */
export const answerTo = Effect.fnUntraced(function* (
  { addresses, client, credential, settings }: Account,
  { acknowledged, body: asked, id, kind }: Question,
  until: number
): Effect.fn.Return<Result | FactWithAlarm<Unknown>> {
  const address = addresses.of(kind, id)
  const body = {
    Initiator: settings.initiator,
    SecurityCredential: credential,
    IdentifierType: "4",
    ResultURL: address,
    QueueTimeOutURL: address,
    Remarks: "OK",
    ...asked
  }
  const response = yield* client({ operation: kind, method: "POST", path: paths[kind], body }, until)
  const conversation = conversationIn(response)
  if (Option.isNone(conversation)) return identity.readAsUnknown(response)
  if (acknowledged !== undefined) yield* acknowledged(conversation.value)
  return Option.getOrElse(answerIn(yield* addresses.awaited(kind, id, until), conversation.value), () => unanswered)
})
