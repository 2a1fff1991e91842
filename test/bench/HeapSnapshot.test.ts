import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { grown, readHeap } from "../../bench/http/HeapSnapshot.ts"

/** What it keeps between its two snapshots is reachable in the second; what it lets go is in neither. */
const program = `
const { writeHeapSnapshot } = require("node:v8")
class Kept {}
class Dropped {}
const kept = []
const make = () => { for (let at = 0; at < 1000; at += 1) new Dropped() }
writeHeapSnapshot("before.heapsnapshot")
make()
for (let at = 0; at < 1000; at += 1) kept.push(new Kept())
writeHeapSnapshot("after.heapsnapshot")
console.log(kept.length)
`

it("the comparison of two snapshots counts what a process kept in between, and nothing that it let go", () => {
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-heap-"))
  try {
    execFileSync(process.execPath, ["-e", program], { cwd: folder })
    const [before, after] = [readHeap(join(folder, "before.heapsnapshot")), readHeap(join(folder, "after.heapsnapshot"))]
    const more = grown(before, after)
    expect(more.find(({ kind }) => kind === "object Kept")).toMatchObject({ count: 1000 })
    expect(more.find(({ kind }) => kind === "object Dropped")).toBeUndefined()
    expect(grown(after, after)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
