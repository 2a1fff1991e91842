import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { alarmLogger, type FactWithAlarm, withoutAlarm } from "../../src/providers/AnswerParsing.ts"
import { type MoneyCallAnswer, onceNotFound, payoutsBy } from "../../src/providers/Movements.ts"
import { accountRefused, poolShort, refusedBy, refusedUnsaid } from "../../src/providers/Refusals.ts"
import type { PayoutOutcome, StatusOutcome } from "../../src/services/ports/Provider.ts"
import { momo, orderOn } from "./contract/Orders.ts"

const way = momo("UG", "UGX", "MTN", "+25677200")
const order = orderOn(
  {
    principal: way.amount,
    fee: way.amount,
    destinationAmount: way.amount,
    destinationCurrency: "UGX",
    rate: null,
    expiresInMs: 1000,
    token: ""
  },
  way,
  "1234"
)

const nothing = withoutAlarm({ _tag: "NotFound", note: "" } as const)
const silence = withoutAlarm({ _tag: "Unknown", reason: "timeout", note: "" } as const)
const delivered = withoutAlarm({
  _tag: "Succeeded",
  providerReference: "1",
  amount: way.amount,
  currency: "UGX",
  fee: null,
  note: ""
} as const)
const refused = onceNotFound(refusedBy(refusedUnsaid, null, "HTTP 400")) ?? silence
const notAdmitted = onceNotFound(refusedBy(accountRefused("our key is refused"), null, "HTTP 401")) ?? silence

/** What a payout comes to, and how often it was sent and looked up. */
const paid = Effect.fnUntraced(function* (placed: MoneyCallAnswer<PayoutOutcome>, looked: FactWithAlarm<StatusOutcome>) {
  const calls = { sent: 0, looked: 0 }
  const { send } = payoutsBy(
    { deadline: Effect.succeed(0), logAlarm: alarmLogger("acme") },
    {
      place: () =>
        Effect.sync(() => {
          calls.sent++
          return placed
        }),
      look: () =>
        Effect.sync(() => {
          calls.looked++
          return looked
        })
    }
  )
  const { _tag } = yield* send(order)
  return { fact: _tag, ...calls }
})

describe("a payout by any provider is sent once, and", () => {
  it.effect("a refusal is believed after a lookup that finds nothing", () =>
    Effect.gen(function* () {
      expect(yield* paid(refused, nothing)).toEqual({ fact: "Refused", sent: 1, looked: 1 })
    })
  )

  it.effect("a refusal gives way to what a lookup finds, and to silence (38.1)", () =>
    Effect.gen(function* () {
      expect(yield* paid(refused, delivered)).toEqual({ fact: "Succeeded", sent: 1, looked: 1 })
      expect(yield* paid(refused, silence)).toEqual({ fact: "Unknown", sent: 1, looked: 1 })
    })
  )

  it("a refusal and its lookup are both told to the operator", () => {
    const emptyWallet = onceNotFound(refusedBy(poolShort("the wallet is empty"), null, "HTTP 402")) ?? silence
    const refusedLookup = { ...silence, alarm: "our key is refused" }
    expect("confirm" in emptyWallet && emptyWallet.confirm(refusedLookup).alarm).toBe("the wallet is empty; our key is refused")
    expect("confirm" in emptyWallet && emptyWallet.confirm(delivered).alarm).toBe("the wallet is empty")
  })

  it.effect("a refusal of our own account is believed at once", () =>
    Effect.gen(function* () {
      expect(yield* paid(notAdmitted, delivered)).toEqual({ fact: "Refused", sent: 1, looked: 0 })
    })
  )

  it.effect("silence stays unknown, without a second call", () =>
    Effect.gen(function* () {
      expect(yield* paid(silence, delivered)).toEqual({ fact: "Unknown", sent: 1, looked: 0 })
    })
  )
})
