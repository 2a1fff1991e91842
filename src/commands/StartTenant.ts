import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { AppId, Mode } from "../domain/Ids.ts"
import { minor } from "../domain/Money.ts"
import { Role } from "../domain/Tenant.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { VelocityLimits } from "../services/ports/VelocityLimits.ts"
import { DataFolder } from "./DataFolder.ts"
import { adjustFloat } from "./Float.ts"
import { issueKey } from "./Key.ts"
import { auditEntry } from "./Operator.ts"
import { KeyFile } from "./signing/SignedHeaders.ts"
import { createTenant } from "./Tenant.ts"

const NAME = AppId.make("demo")
const FLOAT = minor(1_000_000n)

const IssuedKey = Schema.Struct({ ...KeyFile.fields, mode: Mode, role: Role })
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(IssuedKey))

/**
 * The tenant may make as many test payouts as a live tenant may make payouts. The defaults of test mode are for real providers;
 * with simulated ones, a payroll of some hundred salaries can be rehearsed (contract LIM-34).
 */
const rehearsal = { hour: 600, day: 5_000 } as const

const allowRehearsal = Effect.gen(function* () {
  const limits = yield* VelocityLimits
  for (const window of ["hour", "day"] as const) {
    const limit = { mode: "test", direction: "payout", window, count: rehearsal[window] } as const
    yield* limits.set(NAME, limit, yield* auditEntry("limit set", NAME, { ...limit, count: String(limit.count) }))
  }
})

/** Where a data folder stores each mode's key, and the external id of the float that comes with it, once per data folder. */
const places = {
  live: { file: "tenant.json", externalId: "start" },
  test: { file: "tenant-test.json", externalId: "start-test" }
} as const satisfies Record<Mode, object>

export const keyFileOf = (dataDir: string, mode: Mode): string => join(dataDir, places[mode].file)

/** The key of the tenant that `start` creates on first use, with float in the key's mode. The data folder has its credentials. */
export const demoTenant = Effect.fn("demoTenant")(function* (dataDir: string, mode: Mode) {
  const file = keyFileOf(dataDir, mode)
  const tenants = yield* Tenants
  const kept = Option.flatMap(yield* DataFolder.read(file), decode)
  if (Option.isSome(kept) && Option.isSome(yield* tenants.signingKey(kept.value.app_id, kept.value.key_id))) return kept.value
  if (Option.isNone(yield* tenants.find(NAME))) yield* createTenant(NAME)
  if (mode === "test") yield* allowRehearsal
  const key = yield* issueKey(NAME, mode, "tenant")
  yield* DataFolder.write(file, `${JSON.stringify(key, null, 2)}\n`)
  yield* adjustFloat({
    appId: NAME,
    mode,
    currency: "UGX",
    direction: "credit",
    amount: FLOAT,
    externalId: places[mode].externalId,
    note: "the float that `npm start` gives its tenant"
  })
  return key
})
