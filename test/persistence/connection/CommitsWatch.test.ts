import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeCommitsWatch } from "../../../src/persistence/connection/CommitsWatch.ts"

const short = (session: string) => ({ session, isLong: false })
const long = (session: string) => ({ session, isLong: true })

const gone = new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error("gone") }) })

/** What is said after each look, and then when the session is lost; and the levels of the log's lines. */
const saidOf = Effect.fnUntraced(function* (looks: ReadonlyArray<ReadonlyArray<unknown>>) {
  const lines: Array<string> = []
  const said: Array<boolean> = []
  const commits = makeCommitsWatch()
  const left = [...looks]
  const look = Effect.suspend(() => Effect.fromNullishOr(left.shift())).pipe(Effect.mapError(() => gone))
  const watching = yield* commits
    .watch(look)
    .pipe(
      Effect.provide(Logger.layer([Logger.make(({ logLevel }) => void lines.push(logLevel))])),
      Effect.forkChild({ startImmediately: true })
    )
  for (const _ of looks) {
    yield* TestClock.adjust("1 second")
    said.push(yield* commits.isWaiting)
  }
  yield* TestClock.adjust("1 second")
  expect(Exit.isFailure(yield* Fiber.await(watching))).toBe(true)
  return { said, afterwards: yield* commits.isWaiting, lines }
})

describe("the watch over commits", () => {
  it.effect("says that commits wait where one transaction waits in two looks running, until it does not", () =>
    Effect.gen(function* () {
      const { lines, said } = yield* saidOf([[short("7 a")], [short("7 a")], [long("7 a")], [long("7 a")], []])
      expect(said).toStrictEqual([false, false, true, true, false])
      expect(lines).toStrictEqual(["Error", "Warn"])
    })
  )

  it.effect("does not count a statement that waited long for a row, and then shortly in its commit", () =>
    Effect.gen(function* () {
      const { lines, said } = yield* saidOf([[long("7 a")], [long("7 b")], [long("8 b")], [], [long("8 b")]])
      expect(said).toStrictEqual([false, false, false, false, false])
      expect(lines).toStrictEqual([])
    })
  )

  it.effect("says nothing any more when its session is lost", () =>
    Effect.gen(function* () {
      expect(yield* saidOf([[long("7 a")], [long("7 a")]])).toMatchObject({ said: [false, true], afterwards: false })
    })
  )
})
