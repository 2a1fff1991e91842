import { asAmbiguous, isOpen, sleep, timed } from "./Attempts.ts"
import type { Call, CallOptions, Connection } from "./Connection.ts"
import { GatewayError } from "./Errors.ts"
import { type RunOptions, type RunReport, runPayouts } from "./Run.ts"
import { isFailureContested } from "./RunJournal.ts"
import type { Collection, Exchange, Operations, Payout, Transaction } from "./Schema.ts"
import type { Key, Query } from "./Signing.ts"

type Body<Name extends keyof Operations> = Operations[Name] extends { readonly body: infer B } ? B : never
type QueryOf<Name extends keyof Operations> = Operations[Name] extends { readonly query: infer Q } ? Omit<Q, "cursor"> : never

export interface MoneyOptions extends CallOptions {
  /** Your own name of this payment, kept before you call. The same key never moves money twice, in this process or in the next one. */
  readonly idempotencyKey: string
}

export interface WaitOptions<Record> extends CallOptions {
  /** 10 minutes unless you say otherwise. */
  readonly timeoutMs?: number
  /** The first pause; each is half as long again, up to 30 s. */
  readonly pauseMs?: number
  /** What you wait for: a final status unless you say otherwise. A failure or expiry with `needs_review` is none: money may have moved. */
  readonly until?: (record: Record) => boolean
}

/** Of the key, what is no secret, and where it is one. */
interface Login extends Pick<Key, "app_id" | "key_id"> {
  readonly origin: string
}

export const payouts = (call: Connection, { app_id, key_id, origin }: Login) => {
  const get = (reference: string, { signal }: CallOptions = {}): Promise<Payout> =>
    call("GET /v1/payouts/{reference}", { params: { reference }, signal })
  const make = (given: Call): Promise<Payout> =>
    recordOf(call("POST /v1/payouts", given), (reference) => get(reference, { signal: given.signal }))
  return {
    /** Gives the payout as soon as it exists, also where its outcome is not known yet: look at `status`, and `waitFor` it. */
    create: (body: Body<"POST /v1/payouts">, { idempotencyKey, signal }: MoneyOptions): Promise<Payout> =>
      make({ body, idempotencyKey, signal }),
    /** What a payout would cost; moves nothing. */
    quote: (body: Body<"POST /v1/payouts/quote">, { signal }: CallOptions = {}) =>
      call("POST /v1/payouts/quote", { body, signal }),
    /** What a list of at most 100 payouts would cost, and what is wrong with each; moves nothing. */
    quotes: (body: Body<"POST /v1/payouts/quotes">, { signal }: CallOptions = {}) =>
      call("POST /v1/payouts/quotes", { body, signal }),
    /** Pays a list, each row once, and can be gone on with after any end of the process. */
    run: (options: RunOptions): Promise<RunReport> =>
      runPayouts(
        {
          keyName: `${origin} ${app_id} ${key_id}`,
          holder: async () => {
            const { is_test_environment } = await call("GET /health/detail", { signal: options.signal })
            return `${origin} ${app_id} ${is_test_environment ? "test" : "live"}`
          },
          create: make,
          get,
          quotes: (body) => call("POST /v1/payouts/quotes", { body, signal: options.signal }),
          madeUnder: async (idempotency_key) => {
            const { items } = await call("GET /v1/transactions", { query: { idempotency_key, kind: "payout", limit: 1 } })
            return items[0]
          }
        },
        options
      ),
    get,
    /** The payout once it is `successful` or `failed`; an ambiguous `still_open` if that takes too long. */
    waitFor: (reference: string, options: WaitOptions<Payout> = {}) => waitFor(get, reference, options)
  }
}

export const collections = (call: Connection) => {
  const get = (reference: string, { signal }: CallOptions = {}): Promise<Collection> =>
    call("GET /v1/collections/{reference}", { params: { reference }, signal })
  return {
    /** Gives the collection as soon as it exists: look at `status` and `next_action`. */
    create: (body: Body<"POST /v1/collections">, { idempotencyKey, signal }: MoneyOptions): Promise<Collection> =>
      recordOf(call("POST /v1/collections", { body, idempotencyKey, signal }), (reference) => get(reference, { signal })),
    /** Places the charge that waits for the payer's code. `otp_incorrect` is thrown at once: ask the payer again, and take a new key. */
    authorize: (
      reference: string,
      body: Body<"POST /v1/collections/{reference}/authorize">,
      { idempotencyKey, signal }: MoneyOptions
    ): Promise<Collection> =>
      recordOf(
        call("POST /v1/collections/{reference}/authorize", { params: { reference }, body, idempotencyKey, signal }),
        (reference) => get(reference, { signal })
      ),
    /** Sends a payer a code, each time it is called. */
    sendCode: (body: Body<"POST /v1/collections/otp">, { signal }: CallOptions = {}) =>
      call("POST /v1/collections/otp", { body, signal }),
    get,
    /** The collection once it is `successful`, `failed` or `expired`. */
    waitFor: (reference: string, options: WaitOptions<Collection> = {}) => waitFor(get, reference, options)
  }
}

export const exchanges = (call: Connection) => {
  const get = (reference: string, { signal }: CallOptions = {}): Promise<Exchange> =>
    call("GET /v1/fx/exchanges/{reference}", { params: { reference }, signal })
  const page = (query: Query, { signal }: CallOptions = {}): Promise<Page<Exchange>> =>
    call("GET /v1/fx/exchanges", { query, signal })
  return {
    /** One page of those that match, by the query as the interface has it: `next_cursor` goes on as `cursor`. */
    page,
    /** All that match, in the order of their filter, as `transactions.list`. */
    list: (query: QueryOf<"GET /v1/fx/exchanges"> = {}, options: CallOptions = {}): AsyncGenerator<Exchange, void> => {
      const filter = flat(query)
      return walk((cursor) => page({ ...filter, cursor }, options))
    },
    quote: (body: Body<"POST /v1/fx/quote">, { signal }: CallOptions = {}) => call("POST /v1/fx/quote", { body, signal }),
    create: (body: Body<"POST /v1/fx/exchange">, { idempotencyKey, signal }: MoneyOptions): Promise<Exchange> =>
      recordOf(call("POST /v1/fx/exchange", { body, idempotencyKey, signal }), (reference) => get(reference, { signal })),
    get,
    waitFor: (reference: string, options: WaitOptions<Exchange> = {}) => waitFor(get, reference, options)
  }
}

export const transactions = (call: Connection) => {
  const page = (query: Query, { signal }: CallOptions = {}): Promise<Page<Transaction>> =>
    call("GET /v1/transactions", { query, signal })
  return {
    /** A collection or a payout, without knowing which. */
    get: (id: string, { signal }: CallOptions = {}): Promise<Transaction> =>
      call("GET /v1/transactions/{id}", { params: { id }, signal }),
    /** One page of those that match, by the query as the interface has it: `next_cursor` goes on as `cursor`. */
    page,
    /**
     * All that match, the newest first; the next page is asked for when you come to it. `metadata` is one member of your own. With `updated_from` the
     * last changed comes last, so that you keep a copy in step: by `reference` the copy with the higher `version`, and the next time from ten
     * minutes before the last `updated_at` that you saw.
     */
    list: (query: QueryOf<"GET /v1/transactions"> = {}, options: CallOptions = {}): AsyncGenerator<Transaction, void> => {
      const filter = flat(query)
      return walk((cursor) => page({ ...filter, cursor }, options))
    },
    /** All that a customer's number, account, receipt or members of your metadata find, the newest first; 30 pages a minute. */
    search: (body: Omit<Body<"POST /v1/transactions/search">, "cursor">, { signal }: CallOptions = {}) =>
      walk((cursor) => call("POST /v1/transactions/search", { body: cursor === undefined ? body : { ...body, cursor }, signal }))
  }
}

type Filter = QueryOf<"GET /v1/transactions"> | QueryOf<"GET /v1/fx/exchanges">

/** A filter as it is sent: a member of metadata is a parameter of its own. */
const flat = ({ metadata = {}, ...filter }: Filter): Query => ({
  ...filter,
  ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]))
})

export interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  readonly next_cursor: string | null
}

/** Every item of a list, page after page. */
export async function* walk<Item>(page: (cursor: string | undefined) => Promise<Page<Item>>): AsyncGenerator<Item, void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { items, next_cursor } = await page(cursor)
    yield* items
    cursor = next_cursor
  }
}

/** What a money call made, also where its answer only names it. */
const recordOf = <Record>(made: Promise<Record>, read: (reference: string) => Promise<Record>): Promise<Record> =>
  made.catch((error: unknown) => {
    if (!isOpen(error)) throw error
    return read(error.reference).catch(() => {
      throw asAmbiguous(error)
    })
  })

const WAIT_MS = 600_000
const LONGEST_PAUSE_MS = 30_000

const waitFor = <Record extends { readonly status: string; readonly needs_review: boolean }>(
  read: (reference: string, options: CallOptions) => Promise<Record>,
  reference: string,
  { pauseMs = 1000, signal, timeoutMs = WAIT_MS, until = isFinal }: WaitOptions<Record>
): Promise<Record> =>
  timed(timeoutMs, signal, async (limited) => {
    const end = Date.now() + timeoutMs
    let cause: unknown
    for (let pause = pauseMs; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      const record = await read(reference, { signal: limited }).catch((error: unknown) => {
        signal?.throwIfAborted()
        cause = error
        return limited.aborted ? undefined : unlessTerminal(error)
      })
      if (record !== undefined && until(record)) return record
      if (limited.aborted || Date.now() + pause > end)
        throw new GatewayError({ class: "ambiguous", code: "still_open", message: reference, details: { reference }, cause })
      await sleep(pause, signal)
      signal?.throwIfAborted()
    }
  })

const isFinal = (record: { readonly status: string; readonly needs_review: boolean }): boolean =>
  record.status !== "pending" && record.status !== "requires_action" && !isFailureContested(record)

/** A question that failed is asked again. */
const unlessTerminal = (error: unknown): undefined => {
  if (!(error instanceof GatewayError) || error.class === "terminal") throw error
}
