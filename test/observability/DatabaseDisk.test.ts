import { statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { announceDisk, databaseDisk } from "../../src/observability/DatabaseDisk.ts"

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

  it.effect("is as large as the setting says, and of no size where nobody knows it; neither is guessed", () =>
    Effect.gen(function* () {
      const of = (...bytes: ReadonlyArray<number>) => ({
        gateway_database_disk_bytes: bytes,
        gateway_database_disk_free_bytes: []
      })
      expect(yield* said(2e12, null)).toEqual(of(2e12))
      expect(yield* said(2e12, tmpdir())).toEqual(of(2e12))
      expect(yield* said(null, null)).toEqual(of())
      expect(yield* said(null, `${tmpdir()}/not/there`)).toEqual(of())
    })
  )

  it.effect("is asked for at the start where neither the setting nor this machine says how large it is", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const kept = Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(message))]))
      yield* kept(announceDisk(2e12, null))
      yield* kept(announceDisk(null, tmpdir()))
      expect(lines).toEqual([])
      yield* kept(announceDisk(null, null))
      expect(lines).toEqual([[expect.stringMatching(/^DATABASE_DISK is not set: /)]])
    })
  )
})
