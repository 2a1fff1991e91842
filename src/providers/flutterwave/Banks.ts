import { Cache, Duration, Effect, Exit, Option } from "effect"
import type { PayoutOrder } from "../../services/ports/Provider.ts"
import { decoded } from "../AnswerParsing.ts"
import { type Client, deadlineAfter } from "../Client.ts"
import { readableRows } from "../Rows.ts"
import { branchCountries } from "./Networks.ts"
import { Bank, BanksAnswer, Branch, BranchesAnswer } from "./Wire.ts"

const BRANCHES_LIFE = Duration.hours(1)
const MAXIMUM_BANKS = 512
/** For the bank's identifier and its branches together. */
const BRANCHES_TIMEOUT_MS = 5000

/**
 * The branch that a transfer to a bank names where its country needs one. The gateway's destinations know none: the first of the bank's own
 * list stands for the bank. Null where no branch is needed or the bank has none; `unread` where that cannot be found out.
 */
export const openBranches = Effect.fnUntraced(function* (client: Client) {
  const read = Effect.fnUntraced(function* (bank: string) {
    const [country = "", code = ""] = bank.split("/")
    const until = yield* deadlineAfter(BRANCHES_TIMEOUT_MS)
    const banks = decoded(BanksAnswer, yield* client({ operation: "banks", method: "GET", path: `/banks/${country}` }, until))
    if (Option.isNone(banks)) return yield* Effect.fail("unread" as const)
    const listed = yield* readableRows("flutterwave", "banks", Bank, banks.value.data)
    const id = listed.find((one) => one.code === code)?.id
    // Whether a bank that is not listed is paid is Flutterwave's to say.
    if (id === undefined) return null
    const path = `/banks/${encodeURIComponent(id)}/branches`
    const branches = decoded(BranchesAnswer, yield* client({ operation: "branches", method: "GET", path }, until))
    if (Option.isNone(branches)) return yield* Effect.fail("unread" as const)
    const [first] = yield* readableRows("flutterwave", "branches", Branch, branches.value.data)
    return first?.branch_code ?? null
  })
  const known = yield* Cache.makeWith<string, string | null, "unread">(read, {
    capacity: MAXIMUM_BANKS,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? BRANCHES_LIFE : Duration.zero)
  })
  return ({ destination }: PayoutOrder): Effect.Effect<string | null, "unread"> =>
    destination._tag === "bank" && branchCountries.includes(destination.country)
      ? Cache.get(known, `${destination.country}/${destination.bankCode}`)
      : Effect.succeed(null)
})
