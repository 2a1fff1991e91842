import { createHmac } from "node:crypto"
import { Effect, Option, Redacted } from "effect"
import type { Account } from "./Account.ts"
import type { PlannedCallback } from "./Endings.ts"
import type { Job, OutgoingCallback, SimulatedTransaction } from "./Facts.ts"
import type { SimulatedProvider } from "./SimulatedProvider.ts"

/** Milliseconds before the second, third and fourth attempt. */
const BACKOFF_MS = [1000, 2000, 4000] as const
export const CALLBACK_RETRIES = BACKOFF_MS.length
/** How long one attempt may take, in milliseconds. */
export const CALLBACK_TIMEOUT_MS = 5000

type CallbackWork = Extract<Job["work"], { readonly kind: "callbacks" }>

/** The key of the address that one merchant account's callbacks go to; in reality a field in the provider's dashboard. */
export const callbackAddress = (provider: string, account: string): string => `callback_address/${provider}/${account}`

interface Unsigned {
  /** Undefined where the account is not known. */
  readonly secret: Redacted.Redacted | undefined
  readonly planned: PlannedCallback
  readonly body: string
  readonly headers: (secret: string, body: string) => OutgoingCallback["headers"]
}

/** A forged callback is signed with a secret other than the account's, and is not retried. */
export const signedCallback = ({ body, headers, planned, secret }: Unsigned): OutgoingCallback => {
  const genuine = planned.signature === "genuine" && secret !== undefined
  return {
    body,
    headers: { "content-type": "application/json", ...headers(genuine ? Redacted.value(secret) : "a forger's guess", body) },
    retries: genuine ? CALLBACK_RETRIES : 0
  }
}

/** A header with the hexadecimal HMAC of the body's bytes. */
export const hmacHeader =
  (name: string, algorithm: "sha256" | "sha512"): Unsigned["headers"] =>
  (secret, body) => ({ [name]: createHmac(algorithm, secret).update(body).digest("hex") })

/** For a provider that signs nothing in a header, and sends a callback once. */
export const sentOnce = (body: string, more: Pick<OutgoingCallback, "method" | "path"> = {}): OutgoingCallback => ({
  body,
  headers: { "content-type": "application/json" },
  retries: 0,
  ...more
})

export const ownerOf = <A extends { readonly clientId: string }>(
  accounts: ReadonlyArray<A>,
  { account }: SimulatedTransaction
): A | undefined => accounts.find(({ clientId }) => clientId === account)

/** Makes one attempt at the first callback of a job. Returns the remaining work, or nothing. */
export const attemptCallback = Effect.fnUntraced(function* (
  account: Account,
  job: Job & { readonly work: CallbackWork },
  sign: SimulatedProvider["sign"],
  now: () => number
) {
  const { work } = job
  const [first, ...rest] = work.callbacks
  if (first === undefined) return undefined
  const url = account.note(callbackAddress(job.provider, job.account))
  const headers = url === undefined || sign === undefined ? first.headers : sign(first, job.account, url, now())
  const delivered = yield* post(url, { ...first, headers })
  const pause = BACKOFF_MS[work.attempt]
  if (!delivered && work.attempt < first.retries && pause !== undefined) {
    return { ...job, at: now() + pause, work: { ...work, attempt: work.attempt + 1 } } satisfies Job
  }
  if (!delivered) yield* Effect.annotateLogs(Effect.logDebug("the simulator gives up a callback"), { provider_reference: job.id })
  return rest.length === 0 ? undefined : ({ ...job, at: now(), work: { ...work, attempt: 0, callbacks: rest } } satisfies Job)
})

const post = Effect.fnUntraced(function* (url: string | undefined, callback: OutgoingCallback) {
  if (url === undefined) return false
  const status = yield* Effect.tryPromise(async (signal) => {
    const { body, headers, method = "POST", path } = callback
    const response = await fetch(path === undefined ? url : `${url}/${path}`, {
      method,
      headers,
      body,
      redirect: "manual",
      signal
    })
    await response.arrayBuffer()
    return response.status
  }).pipe(Effect.timeout(CALLBACK_TIMEOUT_MS), Effect.option)
  return Option.isSome(status) && status.value === 200
})
