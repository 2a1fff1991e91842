import { createHash, createHmac, randomBytes } from "node:crypto"
import { inspect } from "node:util"
import { Effect, Option } from "effect"
import { stringToSign } from "../../src/domain/StringToSign.ts"
import { breachesOfDescription } from "./InterfaceDescription.ts"
import { workedMs } from "./PatientClock.ts"

export interface Key {
  readonly appId: string
  readonly keyId: string
  readonly apiKey: string
  readonly secret: string
}

/** Where a gateway listens. */
export interface Address {
  readonly url: string
  readonly host: string
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly body: { readonly code: number; readonly data: Record<string, never>; readonly error?: Record<string, never> }
  readonly headers: Headers
}

/**
 * A client of one key, which holds every answer against the interface's description; `gateway` may be any node. One of the release before answers without
 * the members that are `newer`.
 */
export const client = (gateway: Address, key: Key, newer: ReadonlyArray<string> = []) => {
  const call = (method: string, target: string, body?: unknown, headers: Record<string, string> = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)
      const answer = await fetch(`${gateway.url}${target}`, {
        method,
        headers: {
          "content-type": "application/json",
          ...signingHeaders(gateway.host, key, { method, target, body: text }),
          ...headers
        },
        ...(text === "" ? {} : { body: text })
      })
      const received = await answer.text()
      const breaches = breachesOfDescription({ method, target, sent: text, status: answer.status, text: received }).filter(
        (breach) => !newer.some((member) => breach.endsWith(`lacks ${member}`))
      )
      if (breaches.length > 0) throw new Error(`the answer is not as described:\n${breaches.join("\n")}`)
      return { status: answer.status, text: received, body: JSON.parse(received), headers: answer.headers }
    })
  const post = (target: string, body: unknown, idempotencyKey: string = randomBytes(9).toString("hex")) =>
    call("POST", target, body, { "idempotency-key": idempotencyKey })
  const get = (target: string) => call("GET", target)
  const until = (target: string, wanted: (data: Record<string, unknown>) => boolean) =>
    Effect.map(
      eventually(get(target), ({ body }) => body.data !== undefined && wanted(body.data)),
      ({ body }) => body.data
    )
  const float = Effect.map(get("/v1/float"), ({ text }): Record<string, number> => JSON.parse(text).data[0] ?? {})
  return { call, post, get, until, float }
}

/** What an answer says: its status and, where it refuses, the code, the one class and the details. */
export const said = ({ body, status }: Answer): object => {
  if (body.error === undefined) return { status }
  const { ambiguous, code, details, retriable, terminal } = body.error
  const classes = Object.entries({ terminal, retriable, ambiguous }).flatMap(([name, is]) => (is ? [name] : []))
  return { status, code, class: classes.join(" and "), details }
}

/** The transaction that an answer is about, also where it refuses. */
export const referenceOf = ({ body }: Answer): string =>
  (body.error === undefined ? body.data : body.error["details"])?.reference ?? ""

/** Ten times what a machine needs that does nothing else. */
const LONGEST_MS = 45_000
/** The longer it takes, the less often it is looked at: to look costs the processor that is waited for. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 160
const SLOWER = 1.25

/** Asks until the answer is the wanted one, at most so long: of the time in which this process could have had it. */
export const eventually = Effect.fnUntraced(function* <A, E, R>(ask: Effect.Effect<A, E, R>, wanted: (answer: A) => boolean) {
  const until = workedMs() + LONGEST_MS
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * SLOWER, LONGEST_PAUSE_MS)) {
    const answer = yield* ask
    if (wanted(answer)) return answer
    if (workedMs() > until) return yield* Effect.die(new Error(`never came: ${inspect(answer)}`))
    yield* Effect.sleep(pause)
  }
})

interface ToSign {
  readonly method: string
  readonly target: string
  readonly body: string
  /** A new one where it is absent. */
  readonly nonce?: string
}

/** The four headers that sign a request to `host`. */
export const signingHeaders = (
  host: string,
  key: Key,
  { body, method, nonce = randomBytes(12).toString("hex"), target }: ToSign
) => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const text = stringToSign({
    appId: key.appId,
    keyId: key.keyId,
    host,
    method,
    target,
    timestamp,
    nonce,
    bodyHash: createHash("sha256")
      .update(method === "GET" || method === "DELETE" ? "" : body)
      .digest("hex")
  })
  return {
    "x-gateway-key": `${key.appId}.${key.keyId}.${key.apiKey}`,
    "x-gateway-timestamp": timestamp,
    "x-gateway-nonce": nonce,
    "x-gateway-signature": `v1=${createHmac("sha256", key.secret).update(Option.getOrThrow(text)).digest("hex")}`
  }
}
