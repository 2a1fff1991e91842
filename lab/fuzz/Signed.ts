import { createHash, createHmac } from "node:crypto"
import type { Random } from "../../test/support/Random.ts"
import {
  type Answer,
  bytesOf,
  type Case,
  type Headers,
  nowSeconds,
  reference,
  type Signing,
  signatureOf,
  signingHeaders,
  type Target,
  textOf,
  word
} from "./Case.ts"

// Requests that would move the victim's money if their signature held. In each, one thing is wrong with it.

interface Draft {
  readonly signing: Signing
  readonly headers: Headers
}

/** Before it is signed: a tenant could never send this, and its signature fits. */
type Wrong = (random: Random, signing: Signing) => Signing
/** After it was signed: somebody on the way, or who knows a part of it. */
type Tampered = (random: Random, draft: Draft, target: Target) => Draft

export const signedCase = (random: Random, target: Target, index: number): Case => {
  const right = rightRequest(random, target, index)
  if (random.chance(0.03)) return replayed(target, right)
  const isWrong = random.chance(0.35)
  const signing = isWrong ? random.pick(wrongs)(random, right) : right
  const draft = { signing, headers: signingHeaders(signing) }
  const { headers, signing: sent } = isWrong ? draft : random.pick(tamperings)(random, draft, target)
  const { body, method, target: path } = sent
  const isRefused = (answer: Answer) => refused(answer, target.unauthorized, method)
  return {
    pieces: [bytesOf({ method, target: path, headers: [...headers, ...plainHeaders(index)], body })],
    asked: [{ method, target: path, sent: body, fault: isRefused }],
    whole: true
  }
}

const refused = ({ status, text }: Answer, unauthorized: string, method: string): string | undefined =>
  status === 401 && (method === "HEAD" || text === unauthorized)
    ? undefined
    : `${status} for a wrong signature: ${text.slice(0, 200)}`

const plainHeaders = (index: number): Headers => [
  ["Content-Type", "application/json"],
  ["Idempotency-Key", `s-${index}`]
]

const payout = (amount: number) =>
  `{"amount_minor":${amount},"currency":"UGX","country":"UG","method":"momo","destination":{"type":"momo","msisdn":"256772123456","network":"MTN","country":"UG"}}`
const charge =
  '{"amount_minor":20000,"currency":"UGX","country":"UG","method":"momo","source":{"type":"momo","msisdn":"256773341234","network":"MTN"}}'

const rightRequest = (random: Random, { port, victim }: Target, index: number): Signing => ({
  key: victim,
  host: `127.0.0.1:${port}`,
  ...random.pick([
    { method: "POST", target: "/v1/payouts", body: payout(5000 + random.below(90_000)) },
    { method: "POST", target: "/v1/payouts", body: payout(5000 + random.below(90_000)) },
    { method: "POST", target: "/v1/collections", body: charge },
    { method: "POST", target: "/v1/fx/exchange", body: `{"quote_id":"${reference(random)}"}` },
    { method: "POST", target: "/v1/collections/otp", body: '{"country":"KE","msisdn":"254712345678"}' },
    { method: "PUT", target: "/v1/webhooks/endpoint", body: '{"url":"https://hooks.example/in"}' },
    { method: "DELETE", target: "/v1/beneficiaries", body: "" },
    { method: "GET", target: "/v1/transactions?limit=5&kind=payout", body: "" },
    { method: "GET", target: "/v1/float", body: "" }
  ]),
  timestamp: String(nowSeconds()),
  nonce: `sign-${String(index).padStart(12, "0")}-${word(random, 8)}`
})

/** Two reads under one nonce, each signed as it should be, written at once: whichever comes first is answered. */
const replayed = (target: Target, right: Signing): Case => {
  const both = ["/v1/float", "/v1/balances"].map((path) => ({ ...right, method: "GET", target: path, body: "" }))
  let accepted = 0
  const fault = (answer: Answer) => {
    if (answer.status === 200) accepted += 1
    return answer.status === 200 ? undefined : refused(answer, target.unauthorized, "GET")
  }
  const last = (answer: Answer) => fault(answer) ?? (accepted === 1 ? undefined : `a nonce was accepted ${accepted} times`)
  return {
    pieces: [Buffer.concat(both.map((one) => bytesOf({ ...one, headers: signingHeaders(one) })))],
    asked: both.map((one, at) => ({ method: "GET", target: one.target, sent: "", fault: at === 0 ? fault : last })),
    whole: true
  }
}

const wrongs: readonly [Wrong, ...ReadonlyArray<Wrong>] = [
  (random, one) => ({ ...one, key: { ...one.key, signing_secret: word(random, 40) } }),
  (_, one) => ({ ...one, key: { ...one.key, signing_secret: one.key.api_key } }),
  (_, one) => ({ ...one, key: { ...one.key, signing_secret: one.key.signing_secret.trim().slice(0, -1) } }),
  (random, one) => ({ ...one, timestamp: String(nowSeconds() - 130 - random.below(1_000_000)) }),
  (random, one) => ({ ...one, timestamp: String(nowSeconds() + 60 + random.below(1_000_000)) }),
  (random, one) => ({
    ...one,
    timestamp: random.pick([
      `+${one.timestamp}`,
      `${one.timestamp}.0`,
      "1e9",
      `${one.timestamp}000`,
      `-${one.timestamp}`,
      "0x6000",
      "now",
      "",
      "٣"
    ])
  }),
  (random, one) => ({ ...one, nonce: word(random, random.below(16)) }),
  (random, one) => ({ ...one, nonce: word(random, 65 + random.below(200)) }),
  (random, one) => ({ ...one, nonce: `${one.nonce.slice(0, 20)}${random.pick([".", "/", " x", "=", "é", "'"])}` }),
  (random, one) => ({
    ...one,
    key: { ...one.key, app_id: random.pick(["", "Demo", "de mo", "../demo", "nobody", one.key.app_id.toUpperCase()]) }
  }),
  (random, one) => ({ ...one, key: { ...one.key, key_id: random.pick(["", `${one.key.key_id}.x`, "k_0", word(random, 70)]) } }),
  (random, one) => ({
    ...one,
    key: { ...one.key, api_key: random.pick(["", `${one.key.api_key}x`, word(random, 40), word(random, 300)]) }
  }),
  (_, one) => ({ ...one, target: `http://${one.host}${one.target}` }),
  (random, one) => ({
    ...one,
    target: `${one.target.split("?")[0]}?a=${random.pick(["%zz", "%", "%ff", "%c3%28", "%ed%a0%80", "%2"])}`
  })
]

const replaced = (headers: Headers, name: string, change: (value: string) => string): Headers =>
  headers.map(([own, value]) => (own === name ? [own, change(value)] : [own, value]))
const header =
  (name: string, change: (value: string, random: Random, signing: Signing) => string): Tampered =>
  (random, { headers, signing }) => ({ signing, headers: replaced(headers, name, (value) => change(value, random, signing)) })
const SIGNATURE = "X-Gateway-Signature"
const signedOver = (signing: Signing, text: string): Headers =>
  replaced(signingHeaders(signing), SIGNATURE, () => signatureOf(signing.key.signing_secret, text))

/** Another one in the same place. */
const other = (text: string, at: number, from: string): string =>
  text.slice(0, at) + (from[(from.indexOf(text[at] ?? "") + 1) % from.length] ?? "0") + text.slice(at + 1)

const tamperings: readonly [Tampered, ...ReadonlyArray<Tampered>] = [
  header(SIGNATURE, (value, random) => other(value, 3 + random.below(64), "0123456789abcdef")),
  header(SIGNATURE, (value) => value.toUpperCase()),
  header(SIGNATURE, (value) => value.slice(0, -1)),
  header(SIGNATURE, (value) => `${value}0`),
  header(SIGNATURE, (value) => `${value}, ${value}`),
  header(SIGNATURE, (value) => value.replace("v1=", "")),
  header(SIGNATURE, (value) => value.replace("v1=", "v0=")),
  header(SIGNATURE, () => ""),
  header(SIGNATURE, () => `v1=${"0".repeat(64)}`),
  header(SIGNATURE, (_value, _random, signing) => `v1=${sha256(textOf(signing))}`),
  header(SIGNATURE, (_value, _random, signing) => `v1=${sha256(signing.key.signing_secret + textOf(signing))}`),
  header(SIGNATURE, (_value, _random, signing) => `v1=${sha512Of(signing).slice(0, 64)}`),
  header("X-Gateway-Timestamp", (value, random) => String(Number(value) - 1 - random.below(60))),
  header("X-Gateway-Nonce", (value, random) => other(value, random.below(value.length), "abcdefgh01234567")),
  header("Host", (value) => `${value}1`),
  header("Host", (value) => value.replace("127.0.0.1", "localhost")),
  header("X-Gateway-Key", (value) => `${value}.x`),
  header("X-Gateway-Key", (value) => value.split(".").toReversed().join(".")),
  (random, { headers, signing }) => {
    const gone = random.below(5)
    return { signing, headers: headers.filter((_, at) => at !== gone) }
  },
  (random, { headers, signing }) => ({ signing, headers: [...headers, ...headers.slice(random.below(5)).slice(0, 1)] }),
  (_, { headers, signing }, { spender }) => ({
    signing,
    headers: replaced(headers, "X-Gateway-Key", () => `${spender.app_id}.${spender.key_id}.${spender.api_key}`)
  }),
  (_, { headers, signing }, { spender }) => ({
    signing,
    headers: replaced(headers, SIGNATURE, () => signatureOf(spender.signing_secret, textOf(signing)))
  }),
  (_, { headers, signing }) => ({ headers, signing: { ...signing, ...otherBody(signing) } }),
  (_, { headers, signing }) => ({ headers, signing: { ...signing, ...otherAmount(signing) } }),
  (random, { headers, signing }) => ({ headers, signing: { ...signing, target: otherTarget(random, signing.target) } }),
  (random, { headers, signing }) => ({ headers, signing: { ...signing, method: otherMethod(random, signing.method) } }),
  (_, { signing }) => ({ signing, headers: signedOver(signing, `${textOf(signing)}\n`) }),
  (_, { signing }) => ({ signing, headers: signedOver(signing, textOf(signing).replace("v1\n", "")) }),
  (_, { signing }) => ({ signing, headers: signedOver(signing, textOf(signing).replaceAll("\n", "\r\n")) }),
  (_, { signing }) => ({ signing, headers: signedOver(signing, "") })
]

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
const sha512Of = (signing: Signing): string =>
  createHmac("sha512", signing.key.signing_secret).update(textOf(signing)).digest("hex")

/** What has no body is asked with another method, because a body of it would not count. */
const otherBody = ({ body, method }: Signing) =>
  body === "" ? { method: method === "GET" ? "HEAD" : "GET" } : { body: `${body} ` }
const otherAmount = ({ body }: Signing) =>
  /\d/.test(body) ? { body: body.replace(/\d/, (digit) => `${digit}0`) } : { target: "/v1/balances" }
const otherTarget = (random: Random, target: string): string =>
  random.pick([`${target}/`, `${target}?x=1`, `/${target}`, target.replace("v1", "%761"), "/v1/transactions/x"])
const otherMethod = (random: Random, method: string): string =>
  method === "POST" ? random.pick(["PUT", "PATCH", "GET"]) : "POST"
