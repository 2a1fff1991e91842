import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { AppId, Mode } from "../domain/Ids.ts"
import { minor } from "../domain/Money.ts"
import { Role } from "../domain/Tenant.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { DataFolder } from "./DataFolder.ts"
import { adjustFloat } from "./Float.ts"
import { issueKey } from "./Key.ts"
import { KeyFile } from "./signing/SignedHeaders.ts"
import { createTenant } from "./Tenant.ts"

const NAME = AppId.make("demo")
const FLOAT = minor(1_000_000n)

const IssuedKey = Schema.Struct({ ...KeyFile.fields, mode: Mode, role: Role })
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(IssuedKey))

/** Where a data folder keeps each mode's key, and the external id of the float that comes with it: once per data folder. */
const places = {
  live: { file: "tenant.json", externalId: "start" },
  test: { file: "tenant-test.json", externalId: "start-test" }
} as const satisfies Record<Mode, object>

export const keyFileOf = (dataDir: string, mode: Mode): string => join(dataDir, places[mode].file)

/** The key of the tenant that `start` makes on first use, with some float in the key's mode; its credentials stay in the data folder. */
export const demoTenant = Effect.fn("demoTenant")(function* (dataDir: string, mode: Mode) {
  const file = keyFileOf(dataDir, mode)
  const tenants = yield* Tenants
  const kept = Option.flatMap(yield* DataFolder.read(file), decode)
  if (Option.isSome(kept) && Option.isSome(yield* tenants.signingKey(kept.value.app_id, kept.value.key_id))) return kept.value
  if (Option.isNone(yield* tenants.find(NAME))) yield* createTenant(NAME)
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
