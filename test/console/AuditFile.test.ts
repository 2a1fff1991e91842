import { expect, it } from "@effect/vitest"
import { Effect, type Layer, Redacted, Stream } from "effect"
import { makeAudit } from "../../src/console/pages/Audit.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import { AuditLog, type AuditRow } from "../../src/services/ports/AuditLog.ts"
import { fake, unexpected } from "../fakes/Fake.ts"
import { NOON } from "../support/SampleTransactions.ts"

/** A log of so many rows, all of which fit. A page of it has at most this many, whatever was asked for. */
const logOf = (count: number, pageRows: number): Layer.Layer<AuditLog> =>
  fake(AuditLog, {
    search: (_, { before, limit }) => {
      const first = Number(before ?? count + 1) - 1
      const rows = Array.from({ length: Math.min(limit, pageRows, first) }, (_, at) => rowOf(first - at))
      const last = first - rows.length + 1
      return Effect.succeed({ rows, next: last > 1 ? BigInt(last) : null })
    }
  })

const rowOf = (sequence: number): AuditRow => ({
  sequence: BigInt(sequence),
  at: NOON,
  actor: "console/asha",
  action: "corridor set",
  subject: "UG/UGX/payout/momo",
  details: {},
  hash: ""
})

const fileOf = Effect.fnUntraced(function* (query: string) {
  const { routes } = yield* makeAudit
  const route = routes.find(({ path }) => path === "/audit.csv") ?? unexpected("routes", [])
  const answer = yield* route.answer({
    visitor: { name: OperatorName.make("jane"), role: "viewer", createdAt: NOON, session: Redacted.make(""), formToken: "" },
    at: NOON,
    path: "/audit.csv",
    params: {},
    query: new URLSearchParams(query),
    form: new URLSearchParams()
  })
  if (answer._tag !== "CsvFile") return yield* Effect.die(new Error(answer._tag))
  const text = (yield* Stream.runCollect(Stream.orDie(answer.text))).join("")
  return text.split("\r\n").slice(1, -1)
})
const numbersOf = (lines: ReadonlyArray<string>) => lines.map((line) => Number(line.split(",")[0]))
const down = (from: number, count: number) => Array.from({ length: count }, (_, at) => from - at)

it.effect("the file of the audit log has every row that fits, beyond the first page that it reads", () =>
  Effect.gen(function* () {
    expect(numbersOf(yield* fileOf("action=corridor"))).toStrictEqual(down(1_733, 1_733))
  }).pipe(Effect.provide(logOf(1_733, 499)))
)

it.effect("a file of the audit log that ends early says so in its last line, with the address of the rest", () =>
  Effect.gen(function* () {
    const lines = yield* fileOf("action=corridor")
    expect(numbersOf(lines.slice(0, -1))).toStrictEqual(down(10_042, 10_000))
    const [, address = ""] = /^cut here: .* The rest is at \/audit\.csv\?([^,]+),,,,,$/.exec(lines.at(-1) ?? "") ?? []
    expect(address).toBe("action=corridor&after=43")
    expect(numbersOf(yield* fileOf(address))).toStrictEqual(down(42, 42))
  }).pipe(Effect.provide(logOf(10_042, 10_000)))
)
