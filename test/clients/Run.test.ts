import { describe, expect, it } from "vitest"
import { Gateway, type RunEntry, RunError, type RunItem, type RunReport } from "../../clients/typescript/src/Gateway.ts"

const key = { app_id: "shop", key_id: "k1", api_key: "ak", signing_secret: "ss" }
const item = (row: number, msisdn = `25677212${5_000 + row}`): RunItem => ({
  row,
  body: {
    amount_minor: 10_000n,
    currency: "UGX",
    country: "UG",
    method: "momo",
    destination: { type: "momo", msisdn, network: "MTN", country: "UG" }
  }
})
const replayed = { "Idempotency-Replayed": "true" }
const success = (data: unknown, status = 200, headers: HeadersInit = {}) =>
  Response.json({ code: status, message: "ok", data }, { status, headers })
const refused = (code: string, isReplayed: boolean, details: object = {}, status = 422) =>
  Response.json(
    {
      code: status,
      message: "no",
      error: { code, message: "no", terminal: status === 422, retriable: status === 429, ambiguous: false, details }
    },
    { status, headers: isReplayed ? replayed : status === 429 ? { "Retry-After": "0" } : {} }
  )
const payout = (reference: string, created_at = new Date().toISOString()) => ({
  reference,
  status: "successful",
  fees_minor: 100,
  failure: null,
  created_at
})

type Answer = (key: string, times: number) => Response

/** A gateway that prices everything, and answers each key as `answer` says. */
const given = (answer: Answer, available = 1_000_000, entries: Array<RunEntry> = [], own = key) => {
  const sent: Array<string> = []
  const quoted: Array<number> = []
  const stop = new AbortController()
  /** What keys made before, and when. */
  const earlier = new Map<string, string>()
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === "/v1/transactions") {
      const asked = searchParams.get("idempotency_key") ?? ""
      const at = earlier.get(asked)
      return success({ items: at === undefined ? [] : [payout(`O${asked}`, at)], next_cursor: null })
    }
    if (request.method === "GET") return success(payout(pathname.split("/").at(-1) ?? ""))
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
  const run = (items: ReadonlyArray<RunItem>, confirm = () => true, name = "nov") =>
    gateway.payouts.run({ name, items, store, confirm, atOnce: 1, pauseMs: 1, signal: stop.signal })
  return { run, sent, quoted, entries, earlier, stop }
}
const statuses = ({ rows, state }: RunReport) => [state, ...rows.map(({ key: name, status }) => `${name} ${status}`)]
const paid: Answer = (name) => success(payout(`R${name}`), 201)

describe("payouts.run", () => {
  it("prices all rows before the first is sent, keeps each step, and sends each row under the run's name and its row", async () => {
    const { entries, quoted, run, sent } = given(paid, 10_000_000)
    const items = Array.from({ length: 150 }, (_, at) => item(at + 2))
    const report = await run(items)
    expect([report.state, new Set(report.rows.map(({ status }) => status)), quoted]).toEqual([
      "finished",
      new Set(["successful"]),
      [100, 50]
    ])
    expect(report.plan?.totals).toMatchObject([{ items: 150, total_amount_minor: 1_515_000n, shortfall_minor: 0n }])
    expect(sent.slice(0, 2)).toEqual(["nov-2", "nov-3"])
    expect(entries.slice(0, 4).map(({ type }) => type)).toEqual(["begun", "sending", "made", "ended"])
    expect(statuses(await run(items)).slice(0, 2)).toEqual(["finished", "nov-2 successful"])
    expect(sent).toHaveLength(150)
  })

  it("sends nothing where the float does not cover all rows, or the answer to the question is no", async () => {
    const short = given(paid, 15_000)
    expect(statuses(await short.run([item(2), item(3)]))).toEqual(["refused", "nov-2 not_sent", "nov-3 not_sent"])
    const declined = given(paid)
    expect((await declined.run([item(2)], () => false)).state).toBe("declined")
    expect([...short.sent, ...declined.sent, ...short.entries, ...declined.entries]).toEqual([])
  })

  it("stops at the first row that the float does not cover, and goes on with that row's next key after a top-up", async () => {
    let isToppedUp = false
    const { run, sent } = given((name, times) =>
      name === "nov-3" ? refused("insufficient_tenant_float", times > 1, { shortfall_minor: 5 }) : paid(name, times)
    )
    const items = [item(2), item(3), item(4)]
    const stopped = await run(items)
    expect(statuses(stopped)).toEqual(["stopped", "nov-2 successful", "nov-3-2 not_sent", "nov-4 not_sent"])
    expect(stopped.stoppedBy?.details).toEqual({ shortfall_minor: 5n })
    isToppedUp = true
    expect([isToppedUp, ...statuses(await run(items))]).toEqual([
      true,
      "finished",
      "nov-2 successful",
      "nov-3-2 successful",
      "nov-4 successful"
    ])
    expect(sent).toEqual(["nov-2", "nov-3", "nov-3", "nov-3-2", "nov-4"])
  })

  it("goes on after a top-up although the process died before it knew of the refusal", async () => {
    const { entries, run, sent } = given((name, times) =>
      name === "nov-2" ? refused("insufficient_tenant_float", times > 1) : paid(name, times)
    )
    await run([item(2)])
    entries.splice(entries.findIndex(({ type }) => type === "refused"))
    expect(statuses(await run([item(2)]))).toEqual(["finished", "nov-2-2 successful"])
    expect(sent).toEqual(["nov-2", "nov-2", "nov-2", "nov-2-2"])
  })

  it("is gone on with by the login that it was begun with, and by no other: that one would pay each row again", async () => {
    const first = given(() => {
      throw new TypeError("fetch failed")
    })
    await first.run([item(2)])
    expect(first.entries.map(({ type }) => type)).toEqual(["begun", "sending"])
    for (const own of [
      { ...key, app_id: "other" },
      { ...key, key_id: "k2" }
    ]) {
      const other = given(paid, 1_000_000, first.entries, own)
      await expect(other.run([item(2)])).rejects.toThrow("the run was begun as https://api.gateway.example shop k1")
      expect(other.sent).toEqual([])
    }
    expect(statuses(await given(paid, 1_000_000, first.entries).run([item(2)]))).toEqual(["finished", "nov-2 successful"])
  })

  it("makes no other key because a refusal of an earlier one is kept late", async () => {
    const kept = given((name, times) => {
      if (name === "nov-2") return refused("insufficient_tenant_float", times > 1)
      throw new TypeError("fetch failed")
    })
    await kept.run([item(2)])
    await kept.run([item(2)])
    kept.entries.push({ type: "refused", row: 2, key: "nov-2", code: "insufficient_tenant_float", reference: null })
    const again = given(paid, 1_000_000, kept.entries)
    expect(statuses(await again.run([item(2)]))).toEqual(["finished", "nov-2-2 successful"])
    expect(again.sent).toEqual(["nov-2-2"])
  })

  it("makes no other key after silence: it asks for the same one first, in the next process, too", async () => {
    let isSilent = true
    const { run, sent } = given((name, times) => {
      if (isSilent && name === "nov-2") throw new TypeError("fetch failed")
      return paid(name, times)
    })
    const items = [item(2), item(3)]
    expect(statuses(await run(items))).toEqual(["stopped", "nov-2 unknown", "nov-3 not_sent"])
    isSilent = false
    expect(statuses(await run(items, () => false))).toEqual(["declined", "nov-2 successful", "nov-3 not_sent"])
    expect(new Set(sent)).toEqual(new Set(["nov-2"]))
  })

  it("never takes a terminal refusal that does not settle its key for the row's end", async () => {
    const { run, sent } = given(() => refused("tenant_frozen", false))
    expect(statuses(await run([item(2), item(3)]))).toEqual(["stopped", "nov-2 unknown", "nov-3 not_sent"])
    expect(sent).toEqual(["nov-2", "nov-2", "nov-2"])
  })

  it("goes on after a row that the provider refused, and reports it as failed with its reference", async () => {
    const { run } = given((name, times) =>
      name === "nov-2" ? refused("payout_rejected_by_provider", false, { reference: "R1", failure_code: "x" }) : paid(name, times)
    )
    const report = await run([item(2), item(3)])
    expect([report.state, ...report.rows]).toMatchObject([
      "finished",
      { reference: "R1", status: "failed", failure: "payout_rejected_by_provider" },
      { status: "successful" }
    ])
  })

  it("waits as long as the gateway asks it to, however often", async () => {
    const { run, sent } = given((name, times) => (times < 7 ? refused("rate_limited", false, {}, 429) : paid(name, times)))
    expect((await run([item(2)])).state).toBe("finished")
    expect(sent).toHaveLength(7)
  })

  it("refuses other rows under the same name, and names of which keys of two runs could be made", async () => {
    const { run, sent } = given(paid)
    await run([item(2), item(3)])
    const error = async (items: ReadonlyArray<RunItem>, name = "nov") =>
      run(items, () => true, name).catch((error: unknown) => (error instanceof RunError ? [error.row, error.message] : error))
    expect(await error([item(2), item(3, "256772129999")])).toEqual([3, "row 3 is not what the run began with"])
    expect(await error([item(2)])).toEqual([3, "row 3 is missing: the run began with it"])
    expect(await error([item(2), item(3), item(4)])).toEqual([4, "row 4 is not what the run began with"])
    expect(await error([item(2)], "nov-2")).toEqual([null, "a run's name is 1 to 60 letters, digits, _ and ."])
    expect(sent).toHaveLength(2)
  })

  it("names rows that pay a recipient again, also where the gateway sees them in two requests", async () => {
    const { run } = given(paid, 10_000_000)
    const items = [...Array.from({ length: 120 }, (_, at) => item(at + 2)), item(500, "+256 772125002")]
    expect((await run(items, () => false)).plan?.duplicates).toEqual([{ row: 500, of: 2, same_amount: true }])
  })

  it("pays nobody under a name that an earlier run had: it names that run's day and a free name, and never goes on", async () => {
    const { earlier, entries, run, sent } = given(paid)
    const items = [item(2), item(3), item(4)]
    for (const row of [2, 3]) earlier.set(`nov-${row}`, "2026-10-31T09:00:00.000Z")
    earlier.set("nov_r2-2", "2026-11-01T09:00:00.000Z")
    for (const expected of [["nov-2"], ["nov-2"]]) {
      const error = await run(items).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(RunError)
      expect(String(error)).toMatch(
        /^RunError: the name nov was used by an earlier run: row 2 was sent before, and its key nov-2 made Onov-2 on 2026-10-31; nothing was paid by this run; .*: nov_r3 is free;/
      )
      expect(sent).toEqual(expected)
    }
    expect(entries.map(({ type }) => type)).toEqual(["begun", "sending", "taken"])
  })

  it("says which rows it has paid itself before it met an earlier run's key", async () => {
    const { earlier, run, sent } = given(paid)
    earlier.set("nov-4", "2026-10-31T09:00:00.000Z")
    await expect(run([item(2), item(3), item(4), item(5)])).rejects.toThrow(
      "this run has paid rows 2, 3 and nothing more: leave them out of the next"
    )
    expect(sent).toEqual(["nov-2", "nov-3", "nov-4"])
  })

  it("knows an earlier run's payout by its age where the first answer was lost, and its refusal by the first answer", async () => {
    const aged = given((name, times) => {
      if (times === 1) throw new TypeError("fetch failed")
      return success(payout(`O${name}`, "2026-10-31T09:00:00.000Z"), 201, replayed)
    })
    await expect(aged.run([item(2)])).rejects.toThrow("the name nov was used by an earlier run")
    const short = given(() => refused("insufficient_tenant_float", true))
    await expect(short.run([item(2)])).rejects.toThrow("its key nov-2 keeps a refusal")
    expect(short.sent).toEqual(["nov-2"])
    const other = given(() => refused("idempotency_key_reused", false))
    await expect(other.run([item(2), item(3)])).rejects.toThrow("the name nov was used by an earlier run")
    expect(other.sent).toEqual(["nov-2"])
  })

  it("takes a replay for its own where an answer was lost or the process died before", async () => {
    const lost = given((name, times) => {
      if (times === 1) throw new TypeError("fetch failed")
      return success(payout(`R${name}`), 201, replayed)
    })
    expect(statuses(await lost.run([item(2)]))).toEqual(["finished", "nov-2 successful"])
    const died = given((name) => success(payout(`R${name}`), 201, replayed), 1_000_000, lost.entries.slice(0, 2))
    expect(statuses(await died.run([item(2)]))).toEqual(["finished", "nov-2 successful"])
  })

  it("sends nothing more once it is stopped, also while it waits as long as the gateway asked it to", async () => {
    const { run, sent, stop } = given((name) => {
      if (name !== "nov-3") return paid(name, 1)
      stop.abort()
      return refused("rate_limited", false, {}, 429)
    })
    expect(statuses(await run([item(2), item(3), item(4)]))).toEqual([
      "stopped",
      "nov-2 successful",
      "nov-3 unknown",
      "nov-4 not_sent"
    ])
    expect(sent).toEqual(["nov-2", "nov-3"])
  })
})
