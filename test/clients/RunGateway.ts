import { Gateway, type RunEntry, type RunItem, type RunReport } from "../../clients/typescript/src/Gateway.ts"

export const key = { app_id: "shop", key_id: "k1", api_key: "ak", signing_secret: "ss" }
export const item = (row: number, msisdn = `25677212${5_000 + row}`): RunItem => ({
  row,
  body: {
    amount_minor: 10_000n,
    currency: "UGX",
    country: "UG",
    method: "momo",
    destination: { type: "momo", msisdn, network: "MTN", country: "UG" }
  }
})
export const replayed = { "Idempotency-Replayed": "true" }
export const success = (data: unknown, status = 200, headers: HeadersInit = {}) =>
  Response.json({ code: status, message: "ok", data }, { status, headers })
export const refused = (code: string, isReplayed: boolean, details: object = {}, status = 422) =>
  Response.json(
    {
      code: status,
      message: "no",
      error: { code, message: "no", terminal: status === 422, retriable: status === 429, ambiguous: status === 409, details }
    },
    { status, headers: isReplayed ? replayed : status === 429 ? { "Retry-After": "0" } : {} }
  )
export const payout = (reference: string, created_at = new Date().toISOString()) => ({
  reference,
  status: "successful",
  fees_minor: 100,
  failure: null,
  created_at
})

export type Answer = (key: string, times: number) => Response

/** A gateway that prices everything, and answers each key as `answer` says. */
export const given = (answer: Answer, available = 1_000_000, entries: Array<RunEntry> = [], own = key) => {
  const sent: Array<string> = []
  const quoted: Array<number> = []
  const stop = new AbortController()
  /** What keys made before, and when. */
  const earlier = new Map<string, string>()
  /** What keys made, and when, as the list of transactions has it: a create says it itself. */
  const made = new Map<string, string>()
  /** How payouts are read that are not successful. */
  const read: Partial<Record<"status" | "needs_review", string | boolean>> = {}
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === "/v1/transactions") {
      const asked = searchParams.get("idempotency_key") ?? ""
      const at = earlier.get(asked) ?? made.get(asked)
      return success({ items: at === undefined ? [] : [payout(`O${asked}`, at)], next_cursor: null })
    }
    if (pathname === "/health/detail") return success({ is_test_environment: own.key_id.startsWith("test") })
    if (request.method === "GET") return success({ ...payout(pathname.split("/").at(-1) ?? ""), ...read })
    if (pathname === "/v1/payouts/quotes") {
      const { items } = JSON.parse(await request.text())
      quoted.push(items.length)
      const total = items.length * 10_100
      const quote = { fees_minor: 100, total_amount_minor: 10_100 }
      return success({
        items: items.map(({ amount_minor, destination }: { amount_minor: number; destination: { msisdn: string } }) => ({
          quote: { ...quote, amount_minor, amount_currency: "UGX" },
          error: null,
          duplicate_of: null,
          recipient: destination.msisdn.replace(/\D|^00/g, "")
        })),
        totals: [
          {
            currency: "UGX",
            items: items.length,
            principal_minor: items.length * 10_000,
            fees_minor: items.length * 100,
            total_amount_minor: total,
            available_minor: available,
            shortfall_minor: Math.max(0, total - available)
          }
        ]
      })
    }
    const name = request.headers.get("Idempotency-Key") ?? ""
    sent.push(name)
    if (earlier.has(name)) return success(payout(`O${name}`, earlier.get(name)), 201, replayed)
    return answer(name, sent.filter((one) => one === name).length)
  }
  const retries = { attempts: 3, pauseMs: 1, longestPauseMs: 2, withinMs: 1000 }
  const gateway = new Gateway({ url: "https://api.gateway.example", key: own, retries, fetch: send })
  const store = { entries: async () => [...entries], keep: async (entry: RunEntry) => void entries.push(entry) }
  const run = (items: ReadonlyArray<RunItem>, confirm = () => true, name = "nov", atOnce = 1) =>
    gateway.payouts.run({ name, items, store, confirm, atOnce, pauseMs: 1, signal: stop.signal })
  return { run, sent, quoted, entries, earlier, made, read, stop }
}
export const statuses = ({ rows, state }: RunReport) => [state, ...rows.map(({ key: name, status }) => `${name} ${status}`)]
export const paid: Answer = (name) => success(payout(`R${name}`), 201)
