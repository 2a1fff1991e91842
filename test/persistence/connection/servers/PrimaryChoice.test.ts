import { describe, expect, it } from "vitest"
import { choosePrimary, type Known, unfitStandbys } from "../../../../src/persistence/connection/servers/PrimaryChoice.ts"
import { standbyTimelines } from "../../../../src/persistence/connection/servers/PrimaryPool.ts"
import type { ServerFacts } from "../../../../src/persistence/connection/servers/ServerFacts.ts"

const facts: ServerFacts = {
  isStandby: false,
  isReadOnly: false,
  timeline: 3,
  cluster: "one",
  startedAt: "monday",
  awaited: "",
  followers: [],
  weakness: null
}
const nothing: Known = { cluster: null, highestTimeline: () => 0, standbys: new Map(), accepted: null }
const standby: Partial<ServerFacts> = { isStandby: true, isReadOnly: true, timeline: null, startedAt: "sunday" }

/** The server that is chosen, or why there is none. */
const choice = (seen: Readonly<Record<string, Partial<ServerFacts> | string>>, known: Partial<Known> = {}) => {
  const servers = Object.entries(seen).map(([name, own]) => ({
    name,
    facts: typeof own === "string" ? own : { ...facts, ...own }
  }))
  const chosen = choosePrimary(servers, { ...nothing, ...known })
  return "server" in chosen ? chosen.server.name : chosen.refusal
}

describe("the server that is written to", () => {
  it("is the primary, wherever it stands, and no standby", () => {
    expect(choice({ a: standby, b: {} })).toBe("b")
    expect(choice({ a: "does not answer", b: standby })).toBe("no server takes writes: a: does not answer; b is a standby")
    expect(choice({ a: { isReadOnly: true } })).toBe("no server takes writes: a is read-only")
  })

  it("is the one that was promoted last when an older primary is back", () => {
    const old = { timeline: 2, startedAt: "sunday" }
    expect(choice({ a: old, b: {} })).toBe("b")
    expect(choice({ a: old }, { highestTimeline: () => 3 })).toContain("a is an old primary, of timeline 2: the database is at 3")
  })

  it("is none that a crash could take commits back from, which is named; a standby like that is named before it is promoted", () => {
    const weak = { weakness: "fsync = off" }
    const why =
      "a crash could take back what is committed (fsync = off): see docs/operations/durability.md#what-a-commit-survives"
    expect(choice({ a: standby, b: weak })).toBe(`no server takes writes: b: ${why}; a is a standby`)
    const known = { accepted: { name: "b", startedAt: "monday", timeline: 3 } }
    expect(choice({ b: weak }, known)).toBe(`no server takes writes: b: ${why}`)
    // What was written to it counts, all the same: an older one does not take its place, nor one that may be its copy.
    expect(choice({ a: { timeline: 2, startedAt: "sunday" }, b: weak })).toContain("a is an old primary, of timeline 2")
    expect(choice({ a: { startedAt: "sunday" }, b: weak })).toContain("are both primaries of timeline 3")
    expect(choice({ a: { ...standby, ...weak }, b: {} })).toBe("b")
    const seen = [standby, { ...standby, ...weak }, weak].map((own, at) => ({ name: `s${at}`, facts: { ...facts, ...own } }))
    expect(unfitStandbys([...seen, { name: "gone", facts: "does not answer" }])).toEqual([`s1: ${why}`])
  })

  it("is no old primary where a standby follows a newer one, which is gone", () => {
    const follows = { awaited: "c", followers: ["c"], timeline: 2, startedAt: "sunday" }
    expect(choice({ a: follows, b: { ...standby, timeline: 3 } })).toContain(
      "a is an old primary, of timeline 2: the database is at 3"
    )
    expect(choice({ a: follows, b: { ...standby, timeline: 2 }, c: standby })).toBe("a")
    expect(choice({ a: follows, b: { ...standby, timeline: 3, cluster: "another" } })).toBe("a")
  })

  it("is refused for what a standby says by the standby's name, until that one says otherwise or is named no more", () => {
    const { forgetOthers, last, seen } = standbyTimelines()
    const primary = { a: { timeline: 2 } }
    const stray = { name: "c", facts: { ...facts, ...standby, timeline: 3 } }
    seen(stray)
    expect(choice(primary, { standbys: last })).toBe(
      "no server takes writes: a is an old primary, of timeline 2: the database is at 3, which its standby c says: see docs/operations/durability.md#failover"
    )
    // Gone for a while, it has not taken back what it said.
    seen({ name: "c", facts: "does not answer" })
    forgetOthers([{ name: "c", facts: "does not answer" }])
    expect(choice({ ...primary, c: "does not answer" }, { standbys: last })).toContain("its standby c says")
    // The one from which it received the newer timeline is gone, and it no longer says so: it knew.
    seen({ name: "c", facts: { ...stray.facts, timeline: 2 } })
    expect(choice(primary, { standbys: last })).toContain("its standby c says")
    expect(choice({ ...primary, c: { ...standby, timeline: null } }, { standbys: last })).toContain("its standby c says")
    // Made anew, it follows this one.
    seen({ name: "c", facts: { ...stray.facts, timeline: 2, startedAt: "another start" } })
    expect(choice(primary, { standbys: last })).toBe("a")
    seen(stray)
    forgetOthers([{ name: "a", facts }])
    expect(choice(primary, { standbys: last })).toBe("a")
  })

  it("is no standby, whatever timeline it is of", () => {
    const ofItself = { ...standby, timeline: 4 }
    expect(choice({ a: ofItself })).toBe("no server takes writes: a is a standby")
    expect(choice({ a: ofItself, b: {} })).toContain("b is an old primary, of timeline 3: the database is at 4")
  })

  it("is none where two are of one timeline, and one where two names lead to it", () => {
    expect(choice({ a: {}, b: { startedAt: "sunday" } })).toBe("a and b are both primaries of timeline 3: stop the wrong one")
    expect(choice({ a: {}, b: {} })).toBe("a")
    expect(choice({ a: {}, b: {} }, { accepted: { ...facts, name: "b" } })).toBe("b")
  })

  it("is no primary whose standby is absent, unless it was there when we came", () => {
    const waits = { awaited: "FIRST 1 (b)", followers: ["c"] }
    expect(choice({ a: waits })).toContain(
      "a waits for a standby that does not follow it (synchronous_standby_names = FIRST 1 (b))"
    )
    expect(choice({ a: waits }, { accepted: { ...facts, name: "a" } })).toBe("a")
    expect(choice({ a: { ...waits, startedAt: "after a restart" } }, { accepted: { ...facts, name: "a" } })).toContain(
      "a waits for a standby"
    )
    for (const awaited of ["b", "*", 'ANY 1 (a, "B")', "2 (b, c)", "FIRST 1 (*)"])
      expect(choice({ a: { awaited, followers: ["b", "c"] } })).toBe("a")
    expect(choice({ a: { awaited: "ANY 2 (b, c)", followers: ["b"] } })).toContain("a waits for a standby")
  })

  it("is of the database that was worked with", () => {
    expect(choice({ a: { cluster: "two" } }, { cluster: "one" })).toBe("no server takes writes: a holds another database")
    expect(choice({ a: { cluster: "two" }, b: {} })).toBe("a and b hold different databases: name servers of one")
  })
})
