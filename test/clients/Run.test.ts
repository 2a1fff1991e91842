import { describe, expect, it } from "vitest"
import { RunError, type RunItem } from "../../clients/typescript/src/Gateway.ts"
import { planOf } from "../../clients/typescript/src/RunPlan.ts"
import type { Operations } from "../../clients/typescript/src/Schema.ts"
import { given, item, key, paid, refused, statuses } from "./RunGateway.ts"

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

  it("is gone on with by each key of its tenant and mode, and by no other, which would pay each row again", async () => {
    const first = given(() => {
      throw new TypeError("fetch failed")
    })
    await first.run([item(2)])
    expect(first.entries.map(({ type }) => type)).toEqual(["begun", "sending"])
    for (const own of [
      { ...key, app_id: "other" },
      { ...key, key_id: "test1" }
    ]) {
      const other = given(paid, 1_000_000, first.entries, own)
      await expect(other.run([item(2)])).rejects.toThrow("the run was begun as https://api.gateway.example shop live")
      expect(other.sent).toEqual([])
    }
    const rotated = given(paid, 1_000_000, [...first.entries], { ...key, key_id: "k2" })
    expect(statuses(await rotated.run([item(2)]))).toEqual(["finished", "nov-2 successful"])
    const [begun, ...more] = first.entries
    if (begun?.type !== "begun") throw new Error("it never began")
    // As an earlier release began it.
    const older = [{ ...begun, login: "https://api.gateway.example shop k1" }, ...more]
    expect(statuses(await given(paid, 1_000_000, older).run([item(2)]))).toEqual(["finished", "nov-2 successful"])
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

  it("takes a failure that the provider contradicts for no end, because the row may be paid, and reads it again", async () => {
    const { read, run, sent } = given((name) => refused("indeterminate_outcome", false, { reference: `R${name}` }, 409))
    Object.assign(read, { status: "failed", needs_review: true })
    expect(statuses(await run([item(2)]))).toEqual(["pending", "nov-2 unknown"])
    Object.assign(read, { status: "failed", needs_review: false })
    expect(statuses(await run([item(2)]))).toEqual(["finished", "nov-2 failed"])
    expect(sent).toEqual(["nov-2"])
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

  it("refuses a row above a cap of amounts alone, and pays the others", async () => {
    const cap = { scope: "amount", applies_to: "tenant", currency: "UGX", maximum_minor: 9_999, window: "hour" }
    const { entries, run, sent } = given((name, times) =>
      name === "nov-3" ? refused("velocity_limit_exceeded", false, cap, 429) : paid(name, times)
    )
    const items = [item(2), item(3), item(4)]
    const report = await run(items)
    expect(statuses(report)).toEqual(["finished", "nov-2 successful", "nov-3 refused", "nov-4 successful"])
    expect(report.rows[1]?.failure).toBe("velocity_limit_exceeded")
    // The process was killed before it had kept the refusal.
    entries.splice(entries.findIndex(({ type }) => type === "refused"))
    expect(statuses(await run(items)).slice(1)).toEqual(["nov-2 successful", "nov-3 refused", "nov-4 successful"])
    expect(new Set(sent)).toEqual(new Set(["nov-2", "nov-3", "nov-4"]))
  })

  it("stops where the window of a cap is full, and the row that was refused is not sent: it goes on with its key", async () => {
    let isFull = true
    const cap = { scope: "amount", applies_to: "tenant", currency: "UGX", maximum_minor: 10_000, window: "hour" }
    const { entries, run, sent } = given((name, times) =>
      isFull && name === "nov-3" ? refused("velocity_limit_exceeded", false, cap, 429) : paid(name, times)
    )
    const items = [item(2), item(3), item(4)]
    const stopped = await run(items)
    expect(statuses(stopped)).toEqual(["stopped", "nov-2 successful", "nov-3 not_sent", "nov-4 not_sent"])
    expect([stopped.stoppedBy?.code, entries.at(-1)]).toEqual([
      "velocity_limit_exceeded",
      { type: "not_sent", row: 3, key: "nov-3" }
    ])
    isFull = false
    expect(statuses(await run(items))).toEqual(["finished", "nov-2 successful", "nov-3 successful", "nov-4 successful"])
    expect(new Set(sent)).toEqual(new Set(["nov-2", "nov-3", "nov-4"]))
  })

  it("holds up the rows of a recipient whose window is full, and pays the others", async () => {
    let isFull = true
    const { run, sent } = given((name, times) =>
      isFull && name === "nov-3"
        ? refused("velocity_limit_exceeded", false, { window: "destination", retry_after_seconds: 3_573 }, 429)
        : paid(name, times)
    )
    const items = [item(2), item(3), item(4)]
    const heldUp = await run(items)
    expect(statuses(heldUp)).toEqual(["stopped", "nov-2 successful", "nov-3 not_sent", "nov-4 successful"])
    expect(heldUp.stoppedBy?.code).toBe("velocity_limit_exceeded")
    isFull = false
    expect(statuses(await run(items))).toEqual(["finished", "nov-2 successful", "nov-3 successful", "nov-4 successful"])
    expect(new Set(sent)).toEqual(new Set(["nov-2", "nov-3", "nov-4"]))
  })

  it("stops at the row whose amount might fit under the cap once its fee is deducted", async () => {
    const cap = { scope: "amount", applies_to: "tenant", currency: "UGX", maximum_minor: 9_999, window: "hour" }
    const { run } = given(() => refused("velocity_limit_exceeded", false, cap, 429))
    const { body, row } = item(2)
    expect(statuses(await run([{ row, body: { ...body, deduct_fee_from_amount: true } }]))).toEqual(["stopped", "nov-2 not_sent"])
  })

  it("sends the first row alone while no row has an answer, also where the process died before one had", async () => {
    const { earlier, entries, run, sent } = given(paid)
    const items = Array.from({ length: 10 }, (_, at) => item(at + 2))
    for (const { row } of items) earlier.set(`nov-${row}`, "2026-10-31T09:00:00.000Z")
    await run(items, () => true, "nov", 8).catch(() => undefined)
    entries.splice(1)
    sent.length = 0
    await expect(run(items, () => true, "nov", 8)).rejects.toThrow("nothing was paid by this run")
    expect(sent).toEqual(["nov-2"])
  })
})

/** The answer of a gateway that says of a list what `recipients` has. */
const quotesOf = (recipients: ReadonlyArray<object>) => async (): Promise<Operations["POST /v1/payouts/quotes"]["data"]> =>
  JSON.parse(
    JSON.stringify({
      items: recipients.map((one) => ({
        quote: { amount_minor: 10_000, amount_currency: "UGX" },
        error: null,
        duplicate_of: null,
        ...one
      })),
      totals: []
    })
  )

describe("the plan of a run", () => {
  const rows = [2, 3, 4].map((row) => ({ row, text: "{}" }))

  it("doubts no row because a gateway of an earlier release names no recipient, and takes the duplicates that it names", async () => {
    const named = { duplicate_of: { item: 0, same_amount: true } }
    expect((await planOf(rows, quotesOf([{}, {}, {}]))).duplicates).toEqual([])
    expect((await planOf(rows, quotesOf([{}, {}, named]))).duplicates).toEqual([{ row: 4, of: 2, same_amount: true }])
  })

  it("doubts no row because the recipient of several is null", async () => {
    const none = { recipient: null }
    expect((await planOf(rows, quotesOf([none, none, none]))).duplicates).toEqual([])
  })
})
