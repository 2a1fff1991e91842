import { expect, it } from "vitest"
import { itWith } from "../../test/support/Installed.ts"
import { heapPagesIn, heapPagesOf } from "./Samples.ts"

const mapping = (range: string, what: string, kilobytes: number) =>
  `${range} ${what}\nSize: 1 kB\nPss:    ${kilobytes} kB\nPss_Dirty: 4 kB\nPss_Anon: 4 kB\n`

it("V8's pages are told from other memory", () => {
  const page = mapping("7f0000040000-7f0000080000", "rw-p 00000000 00:00 0", 128)
  const large = mapping("7f0000100000-7f0000200000", "rw-p 00000000 00:00 0 ", 1024)
  const others = [
    mapping("7f0000080000-7f00000c0000", "r-xp 00000000 00:00 0", 8_000),
    mapping("7f00000c1000-7f00000c9000", "rw-p 00000000 00:00 0", 8_000),
    mapping("7f0004000000-7f0004400000", "rw-p 00000000 00:00 0", 8_000),
    mapping("555500000000-555500040000", "rw-p 00000000 00:00 0 [heap]", 8_000),
    mapping("7f0010000000-7f0010040000", "rw-p 00000000 08:01 77 /usr/lib/libc.so", 8_000)
  ]
  expect(heapPagesIn([page, ...others, large].join(""))).toEqual({ taken: 1.25, inMemory: 1.125 })
  expect(heapPagesIn("")).toEqual({ taken: 0, inMemory: 0 })
})

itWith(
  "test",
  "-r",
  "/proc/self/smaps"
)("this process's own pages hold at least its heap", () => {
  const { inMemory, taken } = heapPagesOf(process.pid)
  const heap = process.memoryUsage().heapUsed / 1024 / 1024
  expect(inMemory).toBeGreaterThan(heap / 2)
  expect(taken).toBeGreaterThanOrEqual(inMemory)
})
