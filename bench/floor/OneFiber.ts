import { timingSafeEqual } from "node:crypto"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Option, Redacted, Result } from "effect"
import type { Corridor } from "../../src/domain/Corridor.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { reserve } from "../../src/domain/Ledger.ts"
import { add } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { maskedDestination } from "../../src/domain/Party.ts"
import { recipientIdentity } from "../../src/domain/PartyIdentity.ts"
import type { Payout } from "../../src/domain/Payment.ts"
import { referenceOfKey } from "../../src/domain/ReferenceBucket.ts"
import { fingerprintText } from "../../src/domain/RequestFingerprint.ts"
import { parseKeyHeader, parseSignature, stringToSign } from "../../src/domain/StringToSign.ts"
import type { Caller } from "../../src/domain/Tenant.ts"
import { transactionView } from "../../src/domain/View.ts"
import { successEnvelope } from "../../src/http/api/Envelope.ts"
import { readTree } from "../../src/http/body/Body.ts"
import { payoutBody as decoded } from "../../src/http/handlers/Payouts.ts"
import { sessionSettings } from "../../src/persistence/connection/SessionSettings.ts"
import { applyStatement } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { openStatement } from "../../src/persistence/ledger/OpenSteps.ts"
import { type Arrival, arrivalStatement } from "../../src/persistence/requests/IdempotencyPg.ts"
import { deadlineAfter } from "../../src/providers/Client.ts"
import { openClient } from "../../src/providers/eversend/Client.ts"
import { payoutBody, quotationBody } from "../../src/providers/eversend/Order.ts"
import { quoteOf } from "../../src/providers/eversend/Quote.ts"
import { payoutOutcome } from "../../src/providers/eversend/Translate.ts"
import { expectedOf } from "../../src/providers/Movements.ts"
import { openTransport } from "../../src/providers/Transport.ts"
import { type CapturedCall, withCapturedCall } from "../../src/runtime/CapturedCall.ts"
import { bodyHash, signature } from "../../src/services/admission/Signature.ts"
import type { Claim } from "../../src/services/ports/Idempotency.ts"
import { FIRST_REVISION } from "../../src/services/ports/Transactions.ts"
import { referenceHash, Vault } from "../../src/services/ports/Vault.ts"
import type { Key } from "../http/Requests.ts"
import { account } from "../http/Sides.ts"
import { openOf, payoutOf, windowsFor } from "../ledger/Payout.ts"
import { together } from "./Batches.ts"

// The least that the duties of a payout cost. The gateway's own functions of signature, body, record, database,
// provider and masking, one after the other in one Effect fiber. Left out is what stands around them: the HTTP server, routes, deadlines,
// limits, corridors, circuits, screening's read, log lines, metrics and spans of requests.

const ENDPOINT = "POST /v1/payouts"
const LEASE_MS = 90_000
const NONCE_MS = 180_000
const NEXT_POLL_MS = 15_000
const CALL_MS = 10_000
const corridor: Corridor = {
  country: "UG",
  currency: "UGX",
  direction: "payout",
  method: "momo",
  active: true,
  providers: ["eversend"],
  networks: ["MTN"],
  minimum: null,
  maximum: null,
  customerAction: "none",
  requiresRedirectUrl: false,
  requiresMsisdn: false,
  preference: "order",
  requiresName: false,
  destinationCurrencies: ["UGX"],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0
}

/** As a server's parser hands it over. */
export interface Request {
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

const broken = (what: string): never => {
  throw new Error(`a payout went wrong: ${what}`)
}

const authentication = ({ hash }: Vault["Service"], known: ReadonlyArray<Key>) => {
  const stored = ({ api_key, key_id, signing_secret }: Key) =>
    [key_id, { secret: Redacted.make(signing_secret), apiKeyHash: hash("api_key", api_key) }] as const
  const keys = new Map(known.map(stored))
  /** Who signed it, with which nonce, and for which idempotency key. */
  return ({ body, headers }: Request) => {
    const header = (name: string): string => headers.get(name) ?? broken(`no ${name}`)
    const { apiKey, appId, keyId } = Option.getOrThrow(parseKeyHeader(header("x-gateway-key")))
    const [timestamp, nonce] = [header("x-gateway-timestamp"), header("x-gateway-nonce")]
    const fields = { appId, keyId, host: header("host"), method: "POST", target: "/v1/payouts", timestamp, nonce }
    const { apiKeyHash, secret } = keys.get(keyId) ?? broken("no key")
    const own = signature(secret, Option.getOrThrow(stringToSign({ ...fields, bodyHash: bodyHash(body) })))
    const sent = Buffer.from(Option.getOrThrow(parseSignature(header("x-gateway-signature"))), "hex")
    if (!timingSafeEqual(own, sent) || !timingSafeEqual(hash("api_key", apiKey), apiKeyHash)) return broken("the signature")
    const caller: Caller = { appId: AppId.make(appId), keyId, mode: "live", role: "tenant" }
    return { caller, nonce: { caller, nonce, expiresAt: Date.now() + NONCE_MS }, key: header("idempotency-key") }
  }
}

/** As `Settlement` makes it of what was accepted. */
const applyStepOf = (
  payout: Payout,
  fact: Fact,
  claim: Claim,
  raw: CapturedCall | null
): Parameters<typeof applyStatement>[0][number] => {
  const at = Date.now()
  const { entry, next } = decide(payout, fact, "request", at)
  return {
    expectedRevision: FIRST_REVISION,
    before: payout,
    next,
    entry,
    line: { at, actor: "request", fact: fact._tag, note: fact.note, status: next.status },
    event: null,
    nextPollAt: at + NEXT_POLL_MS,
    response: { claim, response: successEnvelope(201, transactionView(next)) },
    savesBeneficiary: true,
    restoreLimits: false,
    wipeDestination: false,
    raw,
    traceparent: null
  }
}

interface Stand {
  readonly databaseUrl: Redacted.Redacted
  /** The provider's. */
  readonly baseUrl: string
  readonly keys: ReadonlyArray<Key>
}

/** What makes a payout of one of these tenants. */
export const openPayouts = Effect.fnUntraced(function* ({ baseUrl, databaseUrl, keys }: Stand) {
  const vault = yield* Vault
  const { hash } = vault
  const authenticated = authentication(vault, keys)
  const references = referenceHash(vault)
  const connection = yield* PgConnection.make({ url: databaseUrl, multiplex: true, startupParameters: sessionSettings })
  const arrive = together(connection, (arrivals: ReadonlyArray<Arrival>) => arrivalStatement(arrivals, false))
  const [open, apply] = [together(connection, openStatement), together(connection, applyStatement)]
  const [clientSecret, webhookSecret] = [Redacted.make(account.clientSecret), Redacted.make(account.webhookSecret)]
  const settings = { ...account, clientSecret, webhookSecret, origin: null }
  const provider = { ...settings, baseUrl, timeoutMs: CALL_MS }
  const client = yield* openClient(provider, yield* openTransport("eversend"))
  const post = (operation: string, path: string, body: object) =>
    Effect.flatMap(deadlineAfter(CALL_MS), (until) => client({ operation, method: "POST", path, body }, until))

  return Effect.fnUntraced(function* (request: Request) {
    const { caller, key, nonce } = authenticated(request)
    const { appId, mode } = caller
    const { command, fingerprint } = Result.getOrThrow(decoded(Result.getOrThrow(readTree(request.body))))
    const { amount, destination, destinationCurrency, metadata, narration } = command
    const scope = { appId, mode, endpoint: ENDPOINT, key }
    const [partyHash, reference] = [hash("party", recipientIdentity(destination)), referenceOfKey(references, scope, 0)]
    const now = Date.now()
    const hashed = hash("fingerprint", fingerprintText(ENDPOINT, {}, fingerprint))
    const arrival = { scope, nonce, fingerprint: hashed, windows: windowsFor(appId, partyHash, now), candidate: reference }
    const leaseUntil = now + LEASE_MS
    const { fence, nonce_fresh: isFresh } = yield* arrive({ ...arrival, now, leaseUntil })
    if (isFresh !== true || typeof fence !== "bigint") return broken("the claim")
    const order = { corridor, amount, destination, destinationCurrency, destinationCountry: "UG", amountType: "SOURCE" } as const
    const quote = quoteOf(yield* post("quotation", "/payouts/quotation", quotationBody(order) ?? {}), order)
    if (!("principal" in quote)) return broken("the quote")
    const claim = { scope, fence, reference, leaseUntil }
    const { destinationAmount, fee: fees, principal } = quote
    const amounts = { amount, principal, fees, heldFee: fees, destinationAmount }
    const said = { metadata, narration, maskedDestination: maskedDestination(destination) }
    const payout: Payout = { ...payoutOf(appId, reference, Date.now()), ...amounts, ...said }
    const entry = reserve("UGX", add(principal, fees))
    const opening = { ...openOf(payout, partyHash, payout.createdAt), claim, entry, sealedDestination: null }
    const { verdict } = yield* open({ ...opening, traceparent: null })
    if (verdict !== "Opened") return broken(`opened: ${verdict}`)
    const sending = { reference, corridor, quote, destination, narration }
    const { outcome, raw } = yield* withCapturedCall(post("payout", "/payouts", payoutBody(sending, "")))
    const answer = payoutOutcome(outcome, expectedOf(sending))
    if (!("fact" in answer) || answer.fact._tag !== "Accepted") return broken("the provider's answer")
    const { applied } = yield* apply(applyStepOf(payout, answer.fact, claim, raw))
    if (applied !== true) return broken("applied")
  })
})
