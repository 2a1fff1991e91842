import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { charge, everyProvider, finished, payout, pinned, providers, routed } from "../../support/EveryProvider.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { creditOn, executionsOf, Stack, verified } from "../../support/Stack.ts"

// What each ending leaves behind, in GHS minor units: the same at every provider.

type Expected = readonly [standing: string, available: number, reserved: number, movements: number]

const paid: Expected = ["successful", 9_500, 0, 1]
const failed: Expected = ["failed", 20_000, 0, 0]
/** Nothing proves anything yet. */
const held: Expected = ["open", 9_500, 10_500, 0]
const cameBack: Expected = ["returned", 19_500, 0, 2]
const credited: Expected = ["successful", 19_700, 0, 1]
const uncredited: Expected = ["failed", 0, 0, 0]
const open: Expected = ["open", 0, 0, 0]

interface Ending {
  readonly payout: Expected
  readonly charge?: Expected
}

/** Whose wires have a word of their own for what was sent back; elsewhere a person looks, or reconciling finds it. */
const tellingReturns = new Set(["eversend", "paystack"])

/** Who says before anything is sent that nobody has the number: such a payout is refused, and there is no record (issue 38, line 14). */
const knowingHolders = new Set(["mtn"])

const endings: Readonly<Record<string, Ending>> = {
  "1234": { payout: paid, charge: credited },
  "0001": { payout: failed, charge: uncredited },
  "0002": { payout: failed, charge: uncredited },
  "0003": { payout: paid, charge: credited },
  "0004": { payout: held, charge: open },
  "0005": { payout: paid, charge: credited },
  "0006": { payout: paid, charge: credited },
  "0007": { payout: held, charge: open },
  "0008": { payout: paid, charge: credited },
  "0009": { payout: paid, charge: credited },
  "0010": { payout: held, charge: open },
  "0011": { payout: paid, charge: credited },
  "0012": { payout: held, charge: open },
  "0013": { payout: failed, charge: credited },
  // The excess is the gateway's loss; a smaller collection is for a person.
  "0014": { payout: paid, charge: ["review", 0, 0, 1] },
  // Taken back before its success was heard of, a charge credits nothing: which of the two comes first, nothing here decides.
  "0015": { payout: cameBack },
  "0016": { payout: failed, charge: uncredited },
  "0017": { payout: held, charge: open },
  "0018": { payout: paid, charge: credited }
}

interface Shown {
  readonly status: string
  readonly needs_review: boolean
  readonly returned?: object | null
}

const standingOf = ({ data, error }: { readonly data?: Shown; readonly error?: { readonly code: string } }): string => {
  if (data === undefined) return `not read: ${error?.code}`
  const { needs_review, returned, status } = data
  if (needs_review) return "review"
  if (returned !== undefined && returned !== null) return "returned"
  return status === "pending" || status === "requires_action" ? "open" : status
}

const kinds = [
  { kind: "payout", path: "/v1/payouts", body: payout, float: 20_000n },
  { kind: "charge", path: "/v1/collections", body: charge, float: 0n }
] as const

/** So many at once that those that wait for silence wait together, and no machine is too slow for the others. */
const AT_ONCE = 12
const LONGEST_MS = 30_000

layer(everyProvider, { excludeTestServices: true })("no ending loses or doubles money", (it) => {
  for (const provider of providers)
    it.effect(`at ${provider}`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        yield* routed(gateway, providers)
        const stories = kinds.flatMap((one) =>
          Object.entries(endings).flatMap(([ending, row]) => {
            const expected = row[one.kind]
            const isTold = ending !== "0015" || tellingReturns.has(provider)
            const isRefused = ending === "0016" && one.kind === "payout" && knowingHolders.has(provider)
            return expected === undefined || !isTold || isRefused ? [] : [{ ...one, ending, expected }]
          })
        )
        const begun = yield* Effect.forEach(
          stories,
          Effect.fnUntraced(function* ({ body, ending, expected, float, kind, path }) {
            const tenant = yield* pinned(gateway, provider)
            if (float > 0n) yield* creditOn(gateway, tenant, float, "GHS")
            // As a client does: what is refused for the moment is asked again under its key.
            const answer = yield* eventually(
              tenant.post(path, body(ending), `ending-${ending}`),
              (one) => referenceOf(one) !== ""
            )
            yield* finished(answer)
            const reference = referenceOf(answer)
            const standing = Effect.map(tenant.get(`${path}/${reference}`), ({ text }) => standingOf(JSON.parse(text)))
            const moved = eventually(executionsOf(simulator, reference), ({ length }) => length >= expected[3])
            const told = eventually(standing, (one) => one === expected[0])
            // What has not come by then shows in the table below.
            yield* Effect.timeoutOption(Effect.andThen(moved, told), LONGEST_MS)
            return { name: `${kind} ${ending}`, reference, standing, tenant }
          }),
          { concurrency: AT_ONCE }
        )
        // Read once more when all are done: what is settled stays so, and what is open is still open.
        const left = yield* Effect.forEach(begun, ({ name, reference, standing, tenant }) =>
          Effect.gen(function* () {
            const { available_minor = 0, reserved_minor = 0 } = yield* tenant.float
            const movements = yield* executionsOf(simulator, reference)
            return [name, yield* standing, available_minor, reserved_minor, movements.length]
          })
        )
        expect(left).toStrictEqual(stories.map(({ ending, expected, kind }) => [`${kind} ${ending}`, ...expected]))
        expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      })
    )
})
