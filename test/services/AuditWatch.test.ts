import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { auditWatching } from "../../src/services/AuditWatch.ts"
import { AuditLog, type CurrentAuditHead } from "../../src/services/ports/AuditLog.ts"
import { fake } from "../fakes/Fake.ts"

/** What is said when the log ends so at one look after another, a minute between them. */
const said = (...heads: ReadonlyArray<CurrentAuditHead | "broken">) =>
  Effect.gen(function* () {
    const lines: Array<readonly [level: string, message: string, head: unknown]> = []
    const logger = Logger.make(({ fiber, logLevel, message }) => {
      lines.push([logLevel, String(message), fiber.getRef(References.CurrentLogAnnotations)["audit_head"]])
    })
    let look = 0
    const head = Effect.suspend(() => {
      const now = heads[Math.min(look++, heads.length - 1)]
      return now === undefined || now === "broken" ? Effect.die(new Error("the database is gone")) : Effect.succeed(now)
    })
    // The row that the newest head names, and the ones that heads before it named.
    const hashAt = (sequence: bigint) =>
      Effect.succeed(
        heads
          .slice(0, look)
          .filter((one) => one !== "broken")
          .findLast((one) => one.sequence === sequence)?.hash ?? null
      )
    yield* Effect.forkScoped(auditWatching).pipe(Effect.provide([fake(AuditLog, { head, hashAt }), Logger.layer([logger])]))
    yield* TestClock.adjust(`${heads.length - 1} minutes`)
    return lines
  })

const head = (sequence: bigint, hash: string, authentic = true): CurrentAuditHead => ({ sequence, hash, authentic })

describe("the end of the audit log", () => {
  it.effect("is written to the process log at the start and after each change, as a copy outside the database", () =>
    Effect.gen(function* () {
      const lines = yield* said(head(4n, "aa"), head(4n, "aa"), head(6n, "bb"))
      expect(lines).toEqual([
        ["Info", "the end of the audit log", "4:aa"],
        ["Info", "the end of the audit log", "6:bb"]
      ])
    })
  )

  it.effect("is logged as an error when rows that were seen are missing or different, naming what was seen", () =>
    Effect.gen(function* () {
      const gone = "rows of the audit log are gone that this process has seen: run gateway audit verify with this head"
      const lines = yield* said(head(6n, "bb"), head(4n, "aa"), head(6n, "cc"), "broken", head(6n, "bb"), head(7n, "dd"))
      expect(lines).toEqual([
        ["Info", "the end of the audit log", "6:bb"],
        ["Error", gone, "6:bb"],
        ["Error", gone, "6:bb"],
        ["Error", expect.stringContaining("the audit log could not be looked at"), undefined],
        ["Info", "the end of the audit log", "7:dd"]
      ])
    })
  )

  it.effect("is logged as an error as long as a row that was seen differs, however many rows followed", () =>
    Effect.gen(function* () {
      const other = "a row of the audit log is not the one that this process has seen: run gateway audit verify with this head"
      const lines = yield* said(head(6n, "bb"), head(4n, "aa"), head(6n, "cc"), head(9n, "ee"), head(12n, "ff"))
      expect(lines.slice(3)).toEqual([
        ["Error", other, "6:bb"],
        ["Error", other, "6:bb"]
      ])
    })
  )

  it.effect("is logged as an error when no gateway wrote it", () =>
    Effect.gen(function* () {
      const [first] = yield* said(head(6n, "bb", false))
      expect(first).toEqual([
        "Error",
        "the end of the audit log is not one that a gateway wrote: run gateway audit verify",
        "6:bb"
      ])
    })
  )
})
