import { describe, expect, it } from "vitest"
import { RunError } from "../../clients/typescript/src/Gateway.ts"
import { given, item, paid, payout, refused, replayed, statuses, success } from "./RunGateway.ts"

describe("the name of a run", () => {
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
      "rows 2, 3 are paid or pending by this run: leave them out of the next"
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

  it("takes what this run has made itself for its own where the journal is an older copy, and pays every row once", async () => {
    const items = [2, 3, 4, 5, 6].map((row) => item(row))
    const first = given(paid)
    await first.run(items)
    const copy = first.entries.slice(0, 4)
    const second = given(
      (name) => {
        if (name === "nov-4") return refused("payout_rejected_by_provider", true, { reference: "R4", failure_code: "x" })
        if (name === "nov-5") return refused("insufficient_tenant_float", true)
        return success(payout(`R${name}`), 201, replayed)
      },
      1_000_000,
      copy
    )
    const stopped = await second.run(items)
    expect(statuses(stopped).slice(1, 5)).toEqual(["nov-2 successful", "nov-3 successful", "nov-4 failed", "nov-5-2 not_sent"])
    expect(statuses(await second.run(items)).slice(3)).toEqual(["nov-4 failed", "nov-5-2 successful", "nov-6 successful"])
    expect(second.entries.filter(({ type }) => type === "taken")).toEqual([])
  })

  it("takes what another process makes under its name meanwhile for its own, too, once it has made one itself", async () => {
    const { entries, run } = given((name) => success(payout(`R${name}`), 201, name === "nov-2" ? {} : replayed))
    expect(statuses(await run([item(2), item(3)]))).toEqual(["finished", "nov-2 successful", "nov-3 successful"])
    expect(entries.map(({ type }) => type)).not.toContain("taken")
  })

  it("is an earlier run's as long as its own has made nothing, however young that payout is", async () => {
    const { run } = given((name) => success(payout(`O${name}`), 201, replayed))
    await expect(run([item(2)])).rejects.toThrow("the name nov was used by an earlier run")
  })

  it("is an earlier run's where a payout is older than the journal, also in a later process", async () => {
    const old = "2026-10-31T09:00:00.000Z"
    const begun = given(paid)
    await begun.run([item(2), item(3)])
    const later = given(paid, 1_000_000, begun.entries.slice(0, 4))
    later.earlier.set("nov-3", old)
    await expect(later.run([item(2), item(3)])).rejects.toThrow(
      "row 3 was sent before, and its key nov-3 made Onov-3 on 2026-10-31"
    )
    for (const [created, expected] of [
      [old, "the name nov was used by an earlier run"],
      [new Date().toISOString(), ["stopped", "nov-2 successful", "nov-3 unknown"]]
    ] as const) {
      const reused = given(() => refused("idempotency_key_reused", false), 1_000_000, begun.entries.slice(0, 4))
      reused.made.set("nov-3", created)
      const outcome = reused.run([item(2), item(3)]).then(statuses, String)
      expect(await outcome).toEqual(typeof expected === "string" ? expect.stringContaining(expected) : expected)
    }
  })

  it("that is taken says what is paid, what has failed, and what nobody knows, and asks for that first", async () => {
    let isSilent = true
    const { earlier, run, sent } = given((name, times) => {
      if (name === "nov-3" && isSilent) throw new TypeError("fetch failed")
      if (name === "nov-5") return refused("payout_rejected_by_provider", false, { reference: "R5", failure_code: "x" })
      return paid(name, times)
    })
    earlier.set("nov-4", "2026-10-31T09:00:00.000Z")
    const items = [2, 3, 4, 5, 6, 7].map((row) => item(row))
    const error = () => run(items, () => true, "nov", 3).catch(String)
    const first = await error()
    expect(first).toContain("; row 2 is paid or pending by this run: leave it out of the next; ")
    expect(first).toContain("; row 5 failed or was refused: nobody was paid by it; ")
    expect(first).toContain("; whether row 3 was paid is unknown: ask again with its key first, with --resume; ")
    expect(first).not.toContain("is free")
    isSilent = false
    const second = await error()
    expect(second).toContain("; rows 2, 3 are paid or pending by this run: leave them out of the next; ")
    expect(second).toContain("nov_r2 is free")
    expect(second).not.toContain("unknown")
    expect(sent).not.toContain("nov-7")
  })

  it("that is taken never says that nothing was paid while something is unknown", async () => {
    const { earlier, entries, run } = given((name) => {
      if (name === "nov-2") return refused("payout_rejected_by_provider", false, { reference: "R2", failure_code: "x" })
      throw new TypeError("fetch failed")
    })
    earlier.set("nov-4", "2026-10-31T09:00:00.000Z")
    const error = await run([item(2), item(3), item(4)], () => true, "nov", 2).catch(String)
    expect(entries.map(({ type }) => type)).toContain("taken")
    expect(error).toContain("whether row 3 was paid is unknown")
    expect(error).not.toContain("nothing was paid")
  })
})
