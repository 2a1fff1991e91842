import { describe, expect, it } from "vitest"
import type { Currency } from "../../../src/domain/Currency.ts"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import type { WindowUse } from "../../../src/domain/VelocityLimits.ts"
import { openStatement, openStatementOfTenant } from "../../../src/persistence/ledger/OpenSteps.ts"
import { appId, openStep } from "../../support/LedgerSteps.ts"
import { collection, NOON } from "../../support/SampleTransactions.ts"

const hash = (byte: number) => new Uint8Array(32).fill(byte)
const window = (name: string, more: Partial<WindowUse> = {}): WindowUse => ({
  appId,
  mode: "live",
  name,
  subject: "",
  startsAt: NOON,
  endsAt: NOON + 3_600_000,
  window: "hour",
  amount: 1n,
  bound: 5n,
  ...more
})

type Step = Parameters<typeof openStatement>[0][number]

const stepOf = (key: string, more: Partial<Step> = {}, holder = appId): Step => {
  const scope = { appId: holder, mode: "live", endpoint: "POST /v1/payouts", key } as const
  const claim = { scope, fence: 1n, reference: Reference.make("00000000000000000000000001") }
  return { ...openStep(claim, 10_000n), traceparent: null, ...more }
}

/** A charge, which reserves nothing; guarded where it says which charge of the payer it saw last. */
const chargeOf = (key: string, payer: Step["payer"], partyHash: Uint8Array, currency: Currency = "UGX"): Step => {
  const step = stepOf(key, { entry: null, partyHash })
  const transaction = collection({ appId: step.claim.scope.appId, currency })
  return { ...step, transaction, ...(payer === undefined ? {} : { payer }) }
}

/** What a statement gives to its function, by the names of its parameters. */
const parametersOf = ([text, parameters]: readonly [string, ReadonlyArray<unknown>]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    [...text.matchAll(/p_(\w+) => (?:coalesce\()?\$(\d+)/g)].map(([, name = "", place]) => {
      const given = parameters[Number(place) - 1]
      return [name, typeof given === "object" && given !== null && "value" in given ? given.value : given]
    })
  )

describe("the windows of a statement", () => {
  it("are locked in the order of their keys, byte by byte, and each once", () => {
    const wanted = [
      window("payout:hour"),
      window("payout:day", { startsAt: NOON - 3_600_000 }),
      window("payout:day"),
      window("payout:day", { subject: "a" }),
      window("payout:day", { mode: "test" }),
      window("payout:day", { appId: "0" }),
      window("ceiling:eversend:UGX", { appId: "" })
    ]
    const batch = parametersOf(openStatement([stepOf("1", { counters: wanted }), stepOf("2", { counters: wanted.toReversed() })]))
    expect([
      batch["window_app_id"],
      batch["window_mode"],
      batch["window_name"],
      batch["window_subject"],
      batch["window_starts_at"]
    ]).toEqual([
      ["", "0", "acme", "acme", "acme", "acme", "acme"],
      ["live", "live", "live", "live", "live", "live", "test"],
      ["ceiling:eversend:UGX", "payout:day", "payout:day", "payout:day", "payout:day", "payout:hour", "payout:day"],
      ["", "", "", "", "a", "", ""],
      [NOON, NOON, NOON - 3_600_000, NOON, NOON, NOON, NOON]
    ])
    // Each need names its window by its place, from one, in the order in which its step is refused.
    expect(batch["need_window"]).toEqual([6, 3, 4, 5, 7, 2, 1, 1, 2, 7, 5, 4, 3, 6])
    expect(batch["windows"]).toEqual([7, 7])
    const alone = parametersOf(openStatement([stepOf("1", { counters: wanted })]))
    expect([alone["window_name"], alone["window_place"]]).toEqual([batch["window_name"], [7, 6, 2, 3, 4, 1, 5]])
  })

  it("need what each step takes, under its own bound", () => {
    const counters = [window("b", { amount: 2n, bound: 20n }), window("a", { amount: 1n, bound: 10n })]
    const batch = parametersOf(openStatement([stepOf("1", { counters }), stepOf("2", { counters: counters.slice(1) })]))
    expect([batch["need_amount"], batch["need_bound"]]).toEqual([
      [2n, 1n, 1n],
      [20n, 10n, 10n]
    ])
    const alone = parametersOf(openStatement([stepOf("1", { counters })]))
    expect([alone["window_amount"], alone["window_bound"], alone["window_place"]]).toEqual([
      [1n, 2n],
      [10n, 20n],
      [2, 1]
    ])
  })

  it("are kept with the transaction so that they can be given back, in the order of refusals and without what it says itself", () => {
    const counters = [
      window("own"),
      window("of the party", { subject: "07".repeat(32) }),
      window("of a subject", { subject: "s", amount: 700n }),
      window("of all", { appId: "", mode: "test" })
    ]
    const counted = String(parametersOf(openStatement([stepOf("1", { counters, partyHash: hash(7) })]))["counted"])
    const starts_at = new Date(NOON).toISOString()
    expect(JSON.parse(counted)).toStrictEqual([
      { name: "own", starts_at },
      { name: "of the party", subject: "#", starts_at },
      { name: "of a subject", subject: "s", starts_at, amount: "700" },
      { app_id: "", mode: "test", name: "of all", starts_at }
    ])
  })
})

describe("the rows of a batch", () => {
  it("are each named once: a tenant, the payers that are guarded, the positions that are drawn on", () => {
    const other = AppId.make("other")
    const batch = parametersOf(
      openStatement([
        chargeOf("1", { holder: null }, hash(1)),
        stepOf("2"),
        chargeOf("3", undefined, hash(2), "KES"),
        chargeOf("4", { holder: Reference.make("00000000000000000000000009") }, hash(3)),
        chargeOf("5", { holder: null }, hash(1)),
        stepOf("6"),
        stepOf("7", {}, other)
      ])
    )
    expect([batch["tenant_app_id"], batch["tenant"]]).toEqual([
      ["acme", "other"],
      [1, 1, 1, 1, 1, 1, 2]
    ])
    expect([batch["payer_app_id"], batch["payer_mode"], batch["payer_hash"], batch["payer"]]).toEqual([
      ["acme", "acme"],
      ["live", "live"],
      [hash(1), hash(3)],
      [1, null, null, 2, 1, null, null]
    ])
    expect([batch["position_app_id"], batch["position_mode"], batch["position_currency"], batch["position"]]).toEqual([
      ["acme", "other"],
      ["live", "live"],
      ["UGX", "UGX"],
      [null, 1, null, null, null, 1, 2]
    ])
    expect(batch["held"]).toEqual([0n, 11_000n, 0n, 0n, 0n, 11_000n, 11_000n])
    expect(batch["last_charge_seen"]).toEqual([null, null, null, "00000000000000000000000009", null, null, null])
    expect(batch["credited_currency"]).toEqual(["UGX", null, "KES", "UGX", "UGX", null, null])
  })

  it("are those of one tenant on Citus, where the tenant is said first", () => {
    const two = openStatementOfTenant([stepOf("1"), stepOf("2")])
    const own = openStatement([stepOf("1"), stepOf("2")])
    expect(parametersOf(two)).toEqual({ ...parametersOf(own), app: "acme" })
    const one = openStatementOfTenant([stepOf("1")])
    expect(parametersOf(one)).toEqual(parametersOf(openStatement([stepOf("1")])))
    expect([one[0], two[0]]).toEqual([
      expect.stringContaining("open_step_of_tenant("),
      expect.stringContaining("open_steps_of_tenant(")
    ])
  })
})
