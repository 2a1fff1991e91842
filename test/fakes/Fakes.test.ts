import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option } from "effect"
import { AppId } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { OutcomePoller } from "../../src/services/settlement/OutcomePoller.ts"
import { openStep } from "../support/LedgerSteps.ts"
import { appId, charge, claimKey, FLOAT, floatNow, givenClaim, pay } from "../support/PaymentRequests.ts"
import { fake } from "./Fake.ts"
import { fakeGateway } from "./FakeGateway.ts"
import { FakeMemory } from "./FakeMemory.ts"
import { fakeLedgerVerification } from "./FakePorts.ts"
import { fakeProvider } from "./FakeProvider.ts"
import { tenantNamed } from "./FakeTenants.ts"

const root = join(import.meta.dirname, "..", "..")
const sourcesIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(root, folder, file), "utf8"))

const failureOf = (exit: Exit.Exit<unknown, unknown>) => (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it succeeded")

describe("the fakes", () => {
  it("exist for every port, with a docstring; ResponseEncoder is pure and needs none", () => {
    const ports = sourcesIn("src/services/ports")
      .flatMap((source) => [...source.matchAll(/^export class (\w+) extends Context\.Service</gm)].map(([, name = ""]) => name))
      .filter((name) => name !== "ResponseEncoder")
    const fakes = sourcesIn("test/fakes").join("\n")
    expect(ports.length).toBeGreaterThan(25)
    expect(ports.filter((name) => !new RegExp(`\\*/\\nexport const fake${name} =`).test(fakes))).toEqual([])
  })

  it.effect("fail a test that makes an unexpected call, and name the call and its arguments", () =>
    Effect.gen(function* () {
      const tenants = yield* Tenants
      expect(Option.isNone(yield* tenants.find(appId))).toBe(true)
      const called = yield* Effect.exit(
        Effect.suspend(() => tenants.pin(appId, "acme-pay", { ...audit, details: { amount: "1" } }))
      )
      expect(failureOf(called)).toContain(
        "Tenants.pin was not expected to be called in this test; it was called with ('acme', 'acme-pay', {"
      )
      expect(failureOf(called)).toContain("amount: '1'")
      const read = yield* Effect.exit(Effect.flatMap(LedgerVerification, ({ verify }) => verify))
      expect(failureOf(read)).toContain('Unimplemented method "verify"')
    }).pipe(Effect.provide(Layer.merge(fake(Tenants, { find: () => Effect.succeed(Option.none()) }), fakeLedgerVerification())))
  )
})

const audit = { at: 0, actor: "operator", action: "tenant pin", subject: "acme", details: {} }

describe("the fake ledger", () => {
  it.effect("refuses a payout beyond the float, and says what was available", () =>
    Effect.gen(function* () {
      expect(yield* pay("one")).toBe("insufficient_tenant_float")
      expect(yield* floatNow).toStrictEqual([10_999n, 0n])
    }).pipe(Effect.provide(fakeGateway({ float: 10_999n })))
  )

  it.effect("opens nothing for a frozen tenant", () =>
    Effect.gen(function* () {
      const { open } = yield* FloatLedger
      expect(yield* open(openStep(yield* givenClaim(appId, "one"), 10_000n))).toStrictEqual({ _tag: "Frozen" })
    }).pipe(Effect.provide(fakeGateway({ tenant: tenantNamed("acme", { status: "frozen" }) })))
  )

  it.effect("opens a claim once, and nothing for a claim that was lost", () =>
    Effect.gen(function* () {
      const { open } = yield* FloatLedger
      const claim = yield* givenClaim(appId, "one")
      expect(yield* open(openStep({ ...claim, fence: claim.fence + 1n }, 10_000n))).toStrictEqual({ _tag: "ClaimLost" })
      expect(yield* open(openStep(claim, 10_000n))).toStrictEqual({ _tag: "Opened" })
      expect(yield* open(openStep(claim, 10_000n))).toStrictEqual({ _tag: "ClaimLost" })
      expect(yield* floatNow).toStrictEqual([FLOAT - 11_000n, 11_000n])
    }).pipe(Effect.provide(fakeGateway()))
  )

  it.effect("debits once for the same external id, and refuses an unknown tenant", () =>
    Effect.gen(function* () {
      const { adjust } = yield* FloatLedger
      const amount = minor(1_000n)
      const entry = { phase: "debit", postings: [{ currency: "UGX", account: "available", amount: -1_000n }] } as const
      const debit = {
        appId,
        mode: "live",
        currency: "UGX",
        direction: "debit",
        amount,
        externalId: "d-1",
        note: "",
        at: 0,
        entry,
        audit
      } as const
      for (const _ of ["now", "again"])
        expect(yield* adjust(debit)).toMatchObject({ _tag: "Adjusted", position: { available: FLOAT - 1_000n } })
      expect(yield* adjust({ ...debit, appId: AppId.make("nobody") })).toStrictEqual({ _tag: "NoTenant" })
      expect(yield* floatNow).toStrictEqual([FLOAT - 1_000n, 0n])
    }).pipe(Effect.provide(fakeGateway()))
  )
})

describe("a gateway on fakes", () => {
  it.effect("repeats the response of a key that was used before, and executes nothing again", () => {
    const provider = fakeProvider("acme-pay", { sending: "paid" })
    return Effect.gen(function* () {
      expect([yield* pay("one"), yield* pay("one")]).toStrictEqual(["successful", "replayed"])
      const scope = { appId, mode: "live", endpoint: "POST /v1/payouts", key: "one" } as const
      expect(yield* claimKey(scope)).toMatchObject({ _tag: "Replay", response: { status: 201 } })
      expect(yield* claimKey(scope, [], new Uint8Array(32).fill(1))).toStrictEqual({ _tag: "Reused" })
      expect(provider.executed).toHaveLength(1)
    }).pipe(Effect.provide(fakeGateway({ providers: [provider] })))
  })

  it.effect("settles a payout without an answer once its status is asked for", () => {
    const provider = fakeProvider("acme-pay", { sending: "silent" })
    return Effect.gen(function* () {
      expect(yield* charge("one")).toBe("provider_timeout")
      const [row] = (yield* FakeMemory).rows.values()
      yield* Effect.flatMap(OutcomePoller, ({ poll }) =>
        poll(Option.getOrThrow(Option.fromUndefinedOr(row?.stored)), "reconciler")
      )
      expect(yield* floatNow).toStrictEqual([FLOAT + 50_000n, 0n])
      expect((yield* FakeMemory).events.map(({ type }) => type)).toStrictEqual(["collection.pending", "collection.successful"])
    }).pipe(Effect.provide(fakeGateway({ providers: [provider] })))
  })

  it.effect("guards a payer's number against a second charge", () =>
    Effect.gen(function* () {
      expect([yield* charge("one"), yield* charge("two")]).toStrictEqual(["pending", "duplicate_charge_in_flight"])
    }).pipe(
      Effect.provide(
        fakeGateway({
          providers: [fakeProvider("acme-pay", { status: { _tag: "StillPending", providerReference: null, note: "" } })]
        })
      )
    )
  )

  it.effect("takes a failed payout out of the counts of its windows", () =>
    Effect.gen(function* () {
      expect(yield* pay("one")).toBe("payout_rejected_by_provider")
      expect([...new Set((yield* FakeMemory).windows.values())]).toStrictEqual([0n])
    }).pipe(Effect.provide(fakeGateway({ providers: [fakeProvider("acme-pay", { sending: "refused" })] })))
  )
})
