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
  /** The URL of this gateway's callbacks, with its secret path. */
  readonly callbackUrl: Redacted.Redacted
  /** For collections: the paybill, or the head office of a till. */
  readonly shortcode: string
  readonly passkey: Redacted.Redacted
  /** Null: the shortcode is a paybill. */
  readonly till: string | null
  /** For payouts. */
  readonly payoutShortcode: string
  readonly initiator: string
  readonly initiatorPassword: Redacted.Redacted
  /** From Safaricom's certificate, which differs by environment. */
  readonly certificateKey: KeyObject
  /** Whether Pull Transactions is registered for the shortcode. */
  readonly pulls: boolean
  readonly fees: ContractFees
  /** For one call, including its token and an answer by callback. */
  readonly timeoutMs: number
}

/** Longer than any automatic poll: an operator takes over after a day. */
const KEPT_MS = 3 * 86_400_000
/** A paid charge is polled for 45 days. */
const ASKED_MS = 60 * 86_400_000
/** An answer that came too late for its query is used by the next one. */
const ANSWER_MS = 3_600_000
/** As long as a registered address is valid. */
const REGISTERED_MS = 10 * 365 * 86_400_000

/** Of a lifetime of 3599 s, so that no token expires in transit. */
const TOKEN_MARGIN_MS = 300_000

/** Each new token ends the one before, so all nodes share one. */
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
  /** A request that waited in a queue too long. Its callback proves nothing. */
  late: 0,
  status: ANSWER_MS,
  /** The last query about a record: its number, and the ConversationID that acknowledged it. */
  question: ANSWER_MS,
  balance: ANSWER_MS,
  /** The account's registered addresses: for a paybill's confirmations, and for validation requests, which are not sent. */
  confirm: 0,
  validate: 0,
  registered: REGISTERED_MS,
  /** The receipts of the payments that name a charge, each under its own name. */
  bill: KEPT_MS,
  /** The receipt by which a charge without a prompt was found paid, with its payer. */
  paid: ASKED_MS,
  /** A keyed hash of the whole number of a charge's payer, for comparison with what is found without its CheckoutRequestID. */
  payer: KEPT_MS,
  /** A charge's CheckoutRequestID. It ends in the payer's number, so it is stored only here. */
  prompt: ASKED_MS,
  /** The charge to which a prompt belongs, or a receipt by its AccountReference. */
  owner: ASKED_MS
}

/** Safaricom's two environments, which have separate accounts. */
export const environmentOf = ({ baseUrl }: Pick<DarajaSettings, "baseUrl">): "sandbox" | "" =>
  new URL(baseUrl).hostname.split(".").includes("sandbox") ? "sandbox" : ""

/** Named by the shortcodes, which outlive the keys: a change of keys loses nothing that was stored before. */
const addressesOf = (settings: DarajaSettings, memory: SharedMemory) => {
  const { callbackUrl: base, consumerSecret, passkey, payoutShortcode, shortcode } = settings
  const account = ["daraja", environmentOf(settings), shortcode, payoutShortcode].filter((part) => part !== "").join(" ")
  // A registered address has to outlive the application's keys.
  const secretOf = (kind: keyof typeof kinds) => (kind === "confirm" || kind === "validate" ? passkey : consumerSecret)
  return ownAddresses({ memory, account, base, secretOf, kinds })
}

/** The password of a prompt, or of a query about one. It is valid for its timestamp. */
export const stampedPassword = ({ passkey, shortcode }: Pick<DarajaSettings, "passkey" | "shortcode">) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const stamp = stampOf(now)
    const password = Buffer.from(shortcode + Redacted.value(passkey) + stamp).toString("base64")
    return { BusinessShortCode: shortcode, Password: password, Timestamp: stamp }
  })

export interface Account {
  readonly settings: DarajaSettings
  readonly client: Client
  readonly addresses: OwnAddresses<keyof typeof kinds>
  /** The initiator's password, encrypted for Safaricom. Encrypted once, because it may be reused. */
  readonly credential: string
}

export const openAccount = Effect.fnUntraced(function* (settings: DarajaSettings, transport: Transport) {
  const client = yield* openClient(settings, transport)
  const addresses = addressesOf(settings, yield* MemoryOf)
  const credential = encryptedUnder(settings.certificateKey, "pkcs1", Redacted.value(settings.initiatorPassword))
  return { settings, client, addresses, credential } satisfies Account
})

/** The number of payments stored per charge. One is usual; a payer may have entered the others by hand. */
const PLACES = 4
export const placesOf = ({ addresses }: Pick<Account, "addresses">, bill: string): ReadonlyArray<string> =>
  Array.from({ length: PLACES }, (_, place) => `${addresses.hidden(bill)} ${place}`)

/** A query that is answered by a callback to an address of ours. */
interface Question {
  readonly kind: "status" | "balance"
  /** The id of its address, which only this query has. */
  readonly id: string
  readonly body: object
  /** Called with the ConversationID that acknowledges it. */
  readonly acknowledged?: (conversation: string) => Effect.Effect<void>
}

/** Sends a query, and waits for the answer with the same ConversationID. Identifier type `4` is a shortcode. */
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
