import { Clock, Effect, Option, Ref } from "effect"
import { Command, Flag } from "effect/cli"
import { type Instant, iso } from "../domain/Instant.ts"
import { GatewayStatus } from "../services/ports/GatewayStatus.ts"
import { type LedgerDifference, LedgerVerification, type VerificationProgress } from "../services/ports/LedgerVerification.ts"
import { flag, help, isGiven, moment, WholeNumber } from "./Arguments.ts"
import { CommandRefusal, WrongUsage } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { printErrors, printResult } from "./Output.ts"

const MOST_MINUTES = 1_440
const PROGRESS_EVERY_MS = 10_000

const verify = Command.make(
  "verify",
  {
    minutes: flag("minutes", WholeNumber(MOST_MINUTES), "go on where the last one was ended, and end after so many minutes").pipe(
      Flag.optional
    ),
    changed: isGiven(
      "changed",
      "only what changed since the last check that was complete, of all or of changes; it takes as long as there are changes"
    ),
    since: moment("since", "with --changed: what changed at this moment or later, such as 2026-01-31T12:00:00.000Z")
  },
  Effect.fn(function* ({ changed, minutes, since }) {
    if (changed && Option.isSome(minutes))
      return yield* new WrongUsage("--changed checks all that changed, however long it takes: give either it or --minutes")
    if (!changed && since !== null) return yield* new WrongUsage("--since is for --changed: give both")
    return yield* changed ? verifyChanged(since) : verifyAll(Option.getOrNull(minutes))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Recompute every position and record from the postings; exit 1 on any difference. It says on standard error how far it is, and takes as long as it needs",
    ["gateway ledger verify", "Check all that is stored"],
    ["gateway ledger verify --changed", "Check what changed since the last check; run it daily"],
    ["gateway ledger verify --minutes 60", "Go on with the check where the last one was ended, for an hour; run it nightly"]
  )
)

const verifyAll = Effect.fnUntraced(function* (minutes: number | null) {
  const audit = yield* LedgerVerification
  const { recordCheck } = yield* GatewayStatus
  const now = yield* Clock.currentTimeMillis
  const { checked, differences, next, ok, records, seen, startedAt } = yield* audit.verifyWithin({
    goesOn: minutes !== null,
    until: minutes === null ? null : now + minutes * 60_000,
    onStep: yield* saysHowFar
  })
  // Only a complete run has verified the ledger, but a difference counts at once.
  if (next === null || !ok)
    yield* recordCheck({ name: "ledger verify", subject: "", at: startedAt, differences: differences.length })
  yield* printResult(next === null ? { ok, checked, differences } : { ok, next, records, seen, checked, differences })
  yield* refusedFor(differences)
})

const verifyChanged = Effect.fnUntraced(function* (since: Instant | null) {
  const audit = yield* LedgerVerification
  const { recordCheck } = yield* GatewayStatus
  const said = yield* Ref.make(yield* Clock.currentTimeMillis)
  const found = yield* audit
    .verifyChanged({
      since,
      onStep: Effect.fnUntraced(function* ({ reached, seen }) {
        const now = yield* Clock.currentTimeMillis
        if (reached === null || now - (yield* Ref.get(said)) < PROGRESS_EVERY_MS) return
        yield* Ref.set(said, now)
        yield* printErrors(`${seen} records that changed before ${iso(reached)}`)
      })
    })
    .pipe(Effect.catchTag("ChangesNotVerifiable", ({ message }) => new CommandRefusal(message)))
  const { differences, ok, seen, startedAt } = found
  yield* recordCheck({ name: "ledger verify", subject: "changes", at: startedAt, differences: differences.length })
  yield* printResult({ ok, since: iso(found.since), seen, differences })
  yield* refusedFor(differences)
})

const refusedFor = Effect.fnUntraced(function* (differences: ReadonlyArray<LedgerDifference>) {
  const unread = differences.filter((one) => one.unread === true)
  const wrong = differences.length - unread.length
  const lines = [...Map.groupBy(unread, ({ subject }) => subject)].map(([subject, ofIt]) => damage(subject, ofIt))
  if (wrong > 0) lines.push(`the ledger has ${wrong} differences: see docs/runbooks/ledger-difference.md`)
  yield* Effect.forEach(lines.slice(0, -1), (line) => printErrors(line), { discard: true })
  const last = lines.at(-1)
  if (last !== undefined) return yield* new CommandRefusal(last)
})

/** PostgreSQL's message for a damaged file, and the number of rules that could not be checked because of it. */
const damage = (subject: string, unread: ReadonlyArray<LedgerDifference>): string => {
  const rules = new Set(unread.map(({ rule }) => rule)).size
  const places = new Set(unread.map(({ found }) => found)).size
  const more = places === 1 ? "" : ` (the first of ${places} places)`
  return `${subject} cannot be read: ${unread[0]?.found}${more}; ${rules} rules do not know all of it: see docs/runbooks/database-down.md`
}

/** Prints a line every ten seconds: how many records are done, the rate since the last line, and where a next run continues. */
const saysHowFar = Effect.gen(function* () {
  const said = yield* Ref.make({ at: yield* Clock.currentTimeMillis, seen: Option.none<number>() })
  return Effect.fnUntraced(function* ({ next, records, seen }: VerificationProgress) {
    const now = yield* Clock.currentTimeMillis
    const before = yield* Ref.get(said)
    if (Option.isNone(before.seen)) yield* Ref.update(said, ({ at }) => ({ at, seen: Option.some(seen) }))
    if (next === null || now - before.at < PROGRESS_EVERY_MS) return
    yield* Ref.set(said, { at: now, seen: Option.some(seen) })
    const pace = Math.round(((seen - Option.getOrElse(before.seen, () => seen)) * 1_000) / (now - before.at))
    const share = records === 0 ? 100 : Math.min(100, Math.floor((seen * 100) / records))
    yield* printErrors(`${share} % of ${records} records, ${pace} a second; next: ${next}`)
  })
})

export const ledger = Command.make("ledger").pipe(help("The double-entry ledger"), Command.withSubcommands([verify]))
