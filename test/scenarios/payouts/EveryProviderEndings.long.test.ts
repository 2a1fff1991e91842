import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { everyoneRouted, everyProvider, finished, pinned, providers, storyOf } from "../../support/EveryProvider.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { creditOn, executionsOf, Stack, verified } from "../../support/Stack.ts"

// What each ending leaves behind, in minor units: the same at every provider.

/** `available` and `reserved` are without the fee of a payout, which was paid or is held so many times. */
type Expected = readonly [standing: string, available: number, reserved: number, movements: number, fees?: "paid" | "held"]

const paid: Expected = ["successful", 10_000, 0, 1, "paid"]
const failed: Expected = ["failed", 20_000, 0, 0]
/** Nothing proves anything yet. */
const held: Expected = ["open", 10_000, 10_000, 0, "held"]
const cameBack: Expected = ["returned", 20_000, 0, 2, "paid"]
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
const knowingHolders = new Set(["mtn", "airtel"])

/** At these a payer approves the whole amount or nothing, and no answer names another one. */
const payingWhole = new Set(["airtel", "daraja"])

/** Whose failure of a charge is looked at once more, a minute later: its payer may still have the prompt. */
const doubting = new Set(["airtel"])

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
  { kind: "payout", path: "/v1/payouts", float: 20_000n },
  { kind: "charge", path: "/v1/collections", float: 0n }
] as const

/** So many at once that those that wait for silence wait together, and no machine is too slow for the others. */
const AT_ONCE = 12
const LONGEST_MS = 30_000

layer(everyProvider, { excludeTestServices: true })("no ending loses or doubles money", (it) => {
  for (const provider of providers)
    it.effect(`at ${provider}`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        yield* everyoneRouted(gateway)
        const { currency, fee, ...bodies } = storyOf(provider)
        const stories = kinds.flatMap((one) =>
          Object.entries(endings).flatMap(([ending, row]) => {
            const isCharge = one.kind === "charge"
            const isWhole = ending === "0014" && isCharge && payingWhole.has(provider)
            const expected = isWhole ? credited : row[one.kind]
            const isTold = ending !== "0015" || tellingReturns.has(provider)
            const isRefused = ending === "0016" && one.kind === "payout" && knowingHolders.has(provider)
            const isDoubted = ending === "0002" && isCharge && doubting.has(provider)
            return expected === undefined || !isTold || isRefused || isDoubted ? [] : [{ ...one, ending, expected }]
          })
        )
        const begun = yield* Effect.forEach(
          stories,
          Effect.fnUntraced(function* ({ ending, expected, float, kind, path }) {
            const tenant = yield* pinned(gateway, provider)
            if (float > 0n) yield* creditOn(gateway, tenant, float, currency)
            // As a client does: what is refused for the moment is asked again under its key.
            const answer = yield* eventually(
              tenant.post(path, bodies[kind](ending), `ending-${ending}`),
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
        expect(left).toStrictEqual(
          stories.map(({ ending, expected: [standing, available, reserved, movements, fees], kind }) => [
            `${kind} ${ending}`,
            standing,
            available - (fees === undefined ? 0 : fee),
            reserved + (fees === "held" ? fee : 0),
            movements
          ])
        )
        expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      })
    )
})
