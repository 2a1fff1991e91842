import type * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect } from "effect"

/** What comes while a statement of its kind is under way shares the next one, as in the gateway. */
export const together = <Step>(
  { query }: Pick<PgConnection.PgConnection, "query">,
  statementOf: (steps: ReadonlyArray<Step>) => readonly [string, ReadonlyArray<unknown>]
) => {
  let waiting: Array<{ readonly step: Step; readonly end: (row: Effect.Effect<PgConnection.Row>) => void }> = []
  let isBusy = false
  const send = (): void => {
    if (isBusy || waiting.length === 0) return
    isBusy = true
    const batch = waiting
    waiting = []
    Effect.runCallback(query(...statementOf(batch.map(({ step }) => step))), {
      onExit: (exit) => {
        isBusy = false
        batch.forEach(({ end }, at) => end(Effect.orDie(Effect.map(exit, ({ rows }) => rows[at] ?? {}))))
        send()
      }
    })
  }
  return (step: Step) =>
    Effect.callback<PgConnection.Row>((resume) => {
      waiting.push({ step, end: resume })
      send()
    })
}
