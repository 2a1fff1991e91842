import { Effect } from "effect"
import { type LedgerDifference, LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import type { Bench } from "../Cluster.ts"
import { openPorts } from "./AllPorts.ts"

const DAY_MS = 86_400_000

/** How long `gateway ledger verify` takes, of all of it in steps and of the last day's changes. What it finds is an error. */
export const verified = async (bench: Bench) => {
  const ports = openPorts(bench)
  try {
    return await ports.runPromise(
      Effect.gen(function* () {
        const { verifyChanged, verifyWithin } = yield* LedgerVerification
        const began = performance.now()
        const longest = new Map<string, number>()
        let [name, last] = ["the first rule", began]
        const all = yield* verifyWithin({
          goesOn: false,
          until: null,
          onStep: ({ next }) =>
            Effect.sync(() => {
              const now = performance.now()
              longest.set(name, Math.max(longest.get(name) ?? 0, secondsFrom(last, now)))
              name = next?.replace(/ (of|behind) .*/, "") ?? ""
              last = now
            })
        })
        yield* nothing(all.differences)
        const changesBegan = performance.now()
        const changes = yield* verifyChanged({ since: Date.now() - DAY_MS, onStep: () => Effect.void })
        yield* nothing(changes.differences)
        return {
          all: {
            seconds: secondsFrom(began, changesBegan),
            longest_steps: Object.fromEntries([...longest].sort((a, b) => b[1] - a[1]).slice(0, 12))
          },
          changes_of_a_day: { seconds: secondsFrom(changesBegan, performance.now()), records: changes.seen }
        }
      })
    )
  } finally {
    await ports.dispose()
  }
}

const secondsFrom = (from: number, to: number) => Math.round((to - from) / 100) / 10

const nothing = (found: ReadonlyArray<LedgerDifference>) =>
  found.length === 0
    ? Effect.void
    : Effect.die(new Error(`${found[0]?.rule} and others are broken: ${JSON.stringify(found.slice(0, 3))}`))
