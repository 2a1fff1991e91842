import { statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { databaseDisk } from "../../src/observability/DatabaseDisk.ts"

const said = (...given: Parameters<typeof databaseDisk>) =>
  Effect.map(databaseDisk(...given), (families) =>
    Object.fromEntries(families.map(({ name, samples }) => [name, samples.map(([, value]) => value)]))
  )

describe("the disk of the database", () => {
  it.effect("is measured where the database is on this machine", () =>
    Effect.gen(function* () {
      const { blocks, bsize } = statfsSync(tmpdir())
      const { gateway_database_disk_bytes: size, gateway_database_disk_free_bytes: free = [] } = yield* said(null, tmpdir())
      expect(size).toEqual([blocks * bsize])
      expect([free.length, Number(free[0]) > 0, Number(free[0]) < blocks * bsize]).toEqual([1, true, true])
    })
  )

  it.effect("is as large as the setting says, and 100 GB where nobody knows; what is free is not guessed", () =>
    Effect.gen(function* () {
      const of = (bytes: number) => ({ gateway_database_disk_bytes: [bytes], gateway_database_disk_free_bytes: [] })
      expect(yield* said(2e12, null)).toEqual(of(2e12))
      expect(yield* said(2e12, tmpdir())).toEqual(of(2e12))
      expect(yield* said(null, null)).toEqual(of(1e11))
      expect(yield* said(null, `${tmpdir()}/not/there`)).toEqual(of(1e11))
    })
  )
})
