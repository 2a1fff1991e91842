import { Layer } from "effect"
import { exponents } from "../../src/domain/Currency.ts"
import { minor } from "../../src/domain/Money.ts"
import { Policy } from "../../src/services/ports/Policy.ts"

const MINUTE = 60_000

/** The defaults of the settings, as every rule of the contract is written for. */
export const policy: Policy["Service"] = {
  publicHosts: [],
  signatureMaxAgeSeconds: 120,
  signatureMaxAheadSeconds: 30,
  nonceKeptSeconds: 180,
  idempotencyLeaseMs: 90_000,
  providerTimeoutMs: 15_000,
  pollSchedule: { open: [15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE] },
  collectionExpiryMs: 15 * MINUTE,
  redirectExpiryMs: 60 * MINUTE,
  otpExpiryMs: 10 * MINUTE,
  notFoundGraceMs: 10 * MINUTE,
  notFoundCount: 3,
  webhookScheduleMs: [0, 5_000, 30_000],
  webhookAllowLoopback: true,
  keptRefusals: "off",
  unmatchedCallbacks: "off",
  circuit: { failures: 20, openMs: 1_000, lateMs: 1_000 },
  testCeilings: Object.fromEntries(Object.keys(exponents).map((currency) => [currency, minor(20_000n)])) as never
}

/** Policy with the defaults; a test overrides only what it is about. */
export const fakePolicy = (overrides: Partial<Policy["Service"]> = {}) => Layer.succeed(Policy, { ...policy, ...overrides })
