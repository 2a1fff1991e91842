import { createHash, createHmac, generateKeyPairSync, type KeyObject } from "node:crypto"
import { Redacted } from "effect"
import { signedHeaders, signingKey } from "../../src/simulator/pawapay/Signature.ts"
import type { Random } from "../../test/support/Random.ts"
import { type Answer, bytesOf, type CallbackPath, type Case, type Headers, noise, reference, type Target, word } from "./Case.ts"

// What a forger sends to the addresses of providers. He knows the address, what providers write, and the references of open payments; of
// the secrets he knows those of the other mode, and what was signed with ours for something else.

type Mode = CallbackPath["mode"]

interface Forging {
  readonly random: Random
  readonly place: CallbackPath
  readonly host: string
  readonly body: string
}

/** What an account would send. */
interface Wire {
  readonly body: (reference: string, random: Random) => unknown
  readonly forged: (forging: Forging) => Headers
  /** Whether nobody can tell a forged one from a genuine one, because the provider signs nothing: it is stored, and then the provider is asked. */
  readonly unsigned?: true
}

const hmac = (secret: string, body: string, algorithm = "sha512") => createHmac(algorithm, secret).update(body)
const hash = (text: string, algorithm = "sha512") => createHash(algorithm).update(text).digest("hex")
const otherMode = (mode: Mode): Mode => (mode === "live" ? "test" : "live")

const byHmac =
  (header: string, secretOf: (mode: Mode) => string) =>
  ({ body, place, random }: Forging): Headers => {
    const secret = secretOf(place.mode)
    const genuine = hmac(secret, body).digest("hex")
    const value = random.pick<() => string | undefined>([
      () => undefined,
      () => "",
      () => hmac(word(random, 20), body).digest("hex"),
      () => hmac("", body).digest("hex"),
      () => hash(body),
      () => hash(secret.length.toString() + body),
      () => hmac(secretOf(otherMode(place.mode)), body).digest("hex"),
      () => hmac(secret, `${body} `).digest("hex"),
      () => hmac(secret, "").digest("hex"),
      () => hmac(secret, body, "sha256").digest("hex"),
      () => hmac(secret, body).digest("base64"),
      () => genuine.slice(0, -2),
      () => `${genuine}00`,
      () => `sha512=${genuine}`,
      () => `${genuine.slice(0, 127)}g`,
      () => `${genuine.slice(0, -1)}${genuine.endsWith("0") ? "1" : "0"}`,
      () => "0".repeat(128),
      () => word(random, random.below(400))
    ])()
    return value === undefined ? [] : [[header, value]]
  }

const flutterwaveSecret = (mode: Mode) => `simulated-${mode}-secret-hash`

const forger = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey
const pawapayKey = signingKey(
  (["live", "test"] as const).map((mode) => ({
    clientId: `simulated-${mode}`,
    apiToken: Redacted.make(`simulated-${mode}-token`)
  }))
)

const pawapayHeaders = (key: KeyObject, body: string, address: string): Headers =>
  Object.entries(signedHeaders({ body, headers: { "content-type": "application/json" }, retries: 0 }, key, address, Date.now()))

const changedHeader = (headers: Headers, name: string, change: (value: string) => string): Headers =>
  headers.map(([own, value]) => (own === name ? [own, change(value)] : [own, value]))

const pawapayForged = ({ body, host, place, random }: Forging): Headers => {
  const address = `http://${host}${place.path}`
  const genuine = pawapayHeaders(pawapayKey, body, address)
  const without = (name: string) => genuine.filter(([own]) => own !== name)
  return random.pick<() => Headers>([
    () => [],
    () => pawapayHeaders(forger, body, address),
    () => pawapayHeaders(pawapayKey, `${body} `, address),
    () => pawapayHeaders(pawapayKey, body, `http://${host}${place.path}x`),
    () => pawapayHeaders(pawapayKey, body, `http://other.example${place.path}`),
    () => without("signature"),
    () => without("signature-input"),
    () => without("content-digest"),
    () => changedHeader(genuine, "signature", () => `sig-pp=:${Buffer.alloc(64).toString("base64")}:`),
    () => changedHeader(genuine, "signature", () => "sig-pp=::"),
    () => changedHeader(genuine, "signature", () => `sig-pp=:${noise(random, random.below(120)).toString("base64")}:`),
    () => changedHeader(genuine, "signature", (value) => value.replace("sig-pp", "sig-qq")),
    () => changedHeader(genuine, "signature-input", (value) => value.replace('"@path" ', "")),
    () => changedHeader(genuine, "signature-input", (value) => value.replace(/\([^)]*\)/, "()")),
    () =>
      changedHeader(genuine, "signature-input", (value) =>
        value.replace("ecdsa-p256-sha256", random.pick(["none", "hmac-sha256", "rsa-v1_5-sha256"]))
      ),
    () => changedHeader(genuine, "signature-input", (value) => value.replace(/created=\d/, "created=9")),
    () => changedHeader(genuine, "signature-input", (value) => value.replace('"@method"', '"@method" "@method"')),
    () => changedHeader(genuine, "signature-input", () => "(".repeat(random.below(4000))),
    () => changedHeader(genuine, "content-digest", () => `sha-512=:${createHash("sha512").update("").digest("base64")}:`),
    () => changedHeader(genuine, "content-digest", (value) => value.replace("sha-512", "md5")),
    () => changedHeader(genuine, "signature-date", () => "2020-01-01T00:00:00Z")
  ])()
}

const wires: Readonly<Record<string, Wire>> = {
  eversend: {
    body: (own) => ({ type: "payout.success", transactionRef: own, data: { transactionRef: own, status: "successful" } }),
    forged: byHmac("x-eversend-signature", (mode) => `simulated-${mode}-webhook-secret`)
  },
  paystack: {
    body: (own, random) => ({
      event: "transfer.success",
      data: { reference: own, transfer_code: word(random, 9), status: "success" }
    }),
    forged: byHmac("x-paystack-signature", (mode) => `sk_${mode}_simulated`)
  },
  flutterwave: {
    body: (own, random) => ({
      event: "charge.completed",
      data: { id: random.below(100_000), tx_ref: own, status: "successful" }
    }),
    forged: ({ place, random }) => {
      const secret = flutterwaveSecret(place.mode)
      const values = [
        "",
        secret.slice(0, -1),
        `${secret}x`,
        secret.toUpperCase(),
        flutterwaveSecret(otherMode(place.mode)),
        hash(secret, "sha256")
      ]
      return random.chance(0.1)
        ? []
        : [["verif-hash", random.chance(0.7) ? random.pick(["", ...values]) : word(random, random.below(300))]]
    }
  },
  pawapay: {
    body: (own, random) => ({
      [random.pick(["payoutId", "depositId"])]: `${word(random, 8)}-0000-4000-8000-000000000000`,
      clientReferenceId: own,
      status: "COMPLETED"
    }),
    forged: pawapayForged
  },
  mtn: {
    body: (own, random) => ({
      externalId: own,
      amount: String(random.below(100_000)),
      currency: "UGX",
      status: "SUCCESSFUL",
      financialTransactionId: "1"
    }),
    forged: () => [],
    unsigned: true
  },
  airtel: {
    body: (own, random) => ({
      transaction: { id: random.pick([own, word(random, 32)]), status_code: "TS", airtel_money_id: word(random, 12) },
      ...(random.chance(0.5) ? { hash: noise(random, 32).toString("base64") } : {})
    }),
    forged: () => [],
    unsigned: true
  },
  wave: {
    body: (own, random) => ({
      id: `EV_${word(random, 9)}`,
      type: "checkout.session.completed",
      data: { id: `cos-${word(random, 9)}`, client_reference: own, checkout_status: "complete", payment_status: "succeeded" }
    }),
    forged: ({ body, place, random }) => {
      const secret = `wave_ci_WHS_simulated_${place.mode}`
      const signed = (key: string, text: string) => hmac(key, text, "sha256").digest("hex")
      const value = random.pick<() => string>([
        () => `t=1764342245,v1=${signed(secret, body)}`,
        () => `t=1764342245,v1=${signed(secret, `1764342245.${body}`)}`,
        () => `t=1764342245,v1=${signed(secret, `1764342245${body} `)}`,
        () => `t=1764342246,v1=${signed(secret, `1764342245${body}`)}`,
        () => `t=,v1=${signed(secret, body)}`,
        () => `t=1764342245,v2=${signed(secret, `1764342245${body}`)}`,
        () => `t=1764342245,v1=${signed("", `1764342245${body}`)}`,
        () => `t=1764342245,v1=${signed(`wave_ci_WHS_simulated_${otherMode(place.mode)}`, `1764342245${body}`)}`,
        () => signed(secret, `1764342245${body}`),
        () => word(random, random.below(400)),
        () => ""
      ])
      return random.pick<() => Headers>([
        () => [],
        () => [["authorization", `Bearer ${secret.slice(0, -1)}`]],
        () => [["authorization", secret]],
        () => [["authorization", "Bearer "]],
        () => [["wave-signature", value()]],
        () => [
          ["wave-signature", value()],
          ["authorization", `Bearer ${secret.toUpperCase()}`]
        ]
      ])()
    }
  },
  // A paybill's confirmation, at the account's own address, where none is taken; the others cannot be guessed.
  daraja: {
    body: (own, random) => ({
      TransactionType: "Pay Bill",
      TransID: random.pick(["TKS41Q7ZPD", word(random, 10)]),
      TransAmount: String(random.below(100_000)),
      TransTime: "20261128142311",
      BusinessShortCode: "605512",
      BillRefNumber: random.pick([own, word(random, 12)])
    }),
    forged: () => [],
    unsigned: true
  }
}

/** One each of the providers in turn. */
export const callbackCase = (random: Random, { callbacks, port, unauthorized }: Target, index: number): Case => {
  const place = callbacks[index % callbacks.length]
  const wire = place === undefined ? undefined : wires[place.provider]
  if (place === undefined || wire === undefined) throw new Error("a provider whose callbacks nobody can forge here")
  const host = `127.0.0.1:${port}`
  const isElsewhere = random.chance(wire.unsigned === true ? 0.5 : 0.15)
  const body = forgedBody(random, wire, place)
  const path = isElsewhere ? elsewhere(random, place, callbacks) : place.path
  const headers: Headers = [["Host", host], ["Content-Type", "application/json"], ...wire.forged({ random, place, host, body })]
  const method = random.chance(0.8) ? "POST" : "PUT"
  const fault = ({ status, text }: Answer) => {
    if (isElsewhere) return status === 404 || status === 401 ? undefined : `${status} at an address that is none: ${text}`
    if (wire.unsigned === true && status === 200) return undefined
    return status === 401 && text === unauthorized ? undefined : `${status} for a forged callback: ${text.slice(0, 200)}`
  }
  return {
    pieces: [bytesOf({ method, target: path, headers, body })],
    asked: [{ method, target: path, sent: body, of: place.provider, fault }],
    whole: true
  }
}

const forgedBody = (random: Random, wire: Wire, { pending }: CallbackPath): string => {
  const [first, ...rest] = pending
  const own = first === undefined || random.chance(0.3) ? reference(random) : random.pick([first, ...rest])
  const text = JSON.stringify(wire.body(own, random))
  if (random.chance(0.7)) return text
  return random.pick<() => string>([
    () => text.slice(0, 1 + random.below(text.length)),
    () => JSON.stringify([text]),
    () => text.replace(/"(success|successful|SUCCESSFUL|COMPLETED)"/, '{"$ne":null}'),
    () => text.replace(own, "A".repeat(random.below(5000))),
    () => noise(random, 1 + random.below(500)).toString("latin1"),
    () => "[".repeat(1 + random.below(5000)),
    () => `${text}${" ".repeat(random.below(20_000))}`
  ])()
}

/** A path that leads to no account: the signature is not even looked at. The other mode's is one of another account. */
const elsewhere = (random: Random, { path, provider }: CallbackPath, all: ReadonlyArray<CallbackPath>): string => {
  const foreign =
    all
      .find((one) => one.provider !== provider)
      ?.path.split("/")
      .at(-1) ?? "x"
  return random.pick([
    `/webhooks/${provider}/${word(random, 32)}`,
    `/webhooks/${provider}/${foreign}`,
    `${path.slice(0, -1)}${path.endsWith("a") ? "b" : "a"}`,
    `${path}/`,
    `/webhooks/${word(random, 8)}/${path.split("/").at(-1)}`,
    path.toUpperCase().replace("/WEBHOOKS", "/webhooks"),
    `${path}%00`
  ])
}
