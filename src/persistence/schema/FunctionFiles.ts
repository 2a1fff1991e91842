import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { tenantFunctions } from "../connection/DistributedTables.ts"
import { ofNamedEndpoints } from "../connection/EndpointTables.ts"
import { sessionSettings } from "../connection/SessionSettings.ts"

/** A file of database functions that change together, in the form in which it is applied. */
export interface FunctionFile {
  readonly name: string
  /** How many texts of it were released so far, including this one. */
  readonly version: number
  readonly sql: string
}

export const checksumOfText = (text: string): string => createHash("sha256").update(text).digest("hex")

const ONLY_OF_TENANT = / ?\/\*\+ (.*?) \*\//g
const PLANNED_ONCE = "SET plan_cache_mode = force_generic_plan"

/**
 * Each function that money steps call exists twice, built from one text: for steps of any tenants, and for steps of one tenant,
 * called `…_of_tenant`. Citus can delegate the second form to the server of the tenant: its first parameter is the tenant, and
 * every statement in it that reads, locks or changes rows names that tenant, so that the server plans it locally. A single
 * server uses the first form, because its batches span tenants.
 *
 * Text that only the second form has is in comments that begin with a plus. A generic plan, made without the tenant's value,
 * would query every server, so the second form uses none. A session's settings do not reach a worker, so the second form has
 * its own lock timeout.
 */
const inBothForms = (functions: ReadonlyArray<string>, text: string): string => {
  const plain = text.replaceAll(ONLY_OF_TENANT, "")
  if (functions.length === 0) return plain
  const ofTenant = functions
    .reduce((renamed, name) => renamed.replaceAll(new RegExp(`\\b${name}\\b`, "g"), `${name}_of_tenant`), text)
    .replaceAll(ONLY_OF_TENANT, " $1")
    .replaceAll(PLANNED_ONCE, "")
  const waits = functions
    .map((name) => `${name}_of_tenant`)
    .filter((name) => name in tenantFunctions)
    .map((name) => `ALTER FUNCTION ${name} SET lock_timeout = '${sessionSettings["lock_timeout"]}';\n`)
  return `${plain}\n${ofTenant}\n${waits.join("")}`
}

interface Listed {
  /** The checksums of the released texts, 16 digits each; the last one is the file's present text. */
  readonly texts: ReadonlyArray<string>
  /** The functions that also exist in the form for one tenant, under that name. */
  readonly ofTenant?: ReadonlyArray<string>
  /** Whether its functions also exist for named endpoints, under their own names. */
  readonly named?: boolean
}

/**
 * The files in the order in which they are applied. To change one, append the checksum of its new text to its line (a test
 * prints it), or replace the last one if no release contains it: the number of checksums distinguishes older from newer texts.
 * The functions keep their signatures, because the previous release calls them, and an older text of one may call a newer text
 * of another: a changed signature needs a new name.
 */
const files: Readonly<Record<string, Listed>> = {
  refuse_commit: { texts: ["032119bcf7896808"] },
  digests: { texts: ["e00730e100def629"] },
  metadata: { texts: ["4edcd8c1c6dc4cf4", "b54aab889a995513", "e73a374f21e186b7"] },
  add_charge: { texts: ["99a45f18c02a8ecc"] },
  signed_postings: { texts: ["e9223a0564b2395c"] },
  events: { texts: ["2be7906e2d292f45", "e0b832c737f99176"], ofTenant: ["write_events"] },
  windows: { texts: ["b7190d6572f9fd49"] },
  spend_each_nonce: { texts: ["22261034b1ed9779"] },
  // `arrive_requests` is for the previous release.
  arrival: { texts: ["38c9deca4a8cc96f"], ofTenant: ["arrive_requests", "spend_nonces"] },
  // On a single server, `arrive_together` is for the previous release.
  arrive: { texts: ["f27d937e24c7d95f", "9c17963bdd4c1bbc"], ofTenant: ["arrive_key", "arrive_together"] },
  arrive_at_once: { texts: ["e0bb689f7ce79e58"] },
  open_step: { texts: ["48680fec104cd199", "647fa41a058d4ead", "91b63f909d5d917b"], ofTenant: ["open_step"] },
  open_steps: { texts: ["fc5fc60937e85eb8", "594856bf2bcc77ff"], ofTenant: ["open_steps", "use_windows", "write_events"] },
  late_poll: { texts: ["0ddc30c6105583fe"] },
  apply_step: {
    texts: ["a5b01a2a9e351944", "a0038ea6f12b21f0", "743ecd2f43588f26", "29323ad5a42e6405"],
    ofTenant: ["apply_step"]
  },
  apply_steps: {
    texts: ["e230b7c2278b870f", "767eb2bcb712512e", "46f250e349a65945", "627fcbe221e4c782"],
    ofTenant: ["apply_steps", "write_events"]
  },
  claim_deliveries: { texts: ["8deb8d42933958c7"] },
  record_attempts: { texts: ["ea6d26a663785e2e"], named: true },
  audit: { texts: ["6b82332cb216abcf"] },
  tenant_changes: { texts: ["786e2ec43696bf88"] },
  access: { texts: ["a2a658dde045c28b", "a87c6733ab63b4fb", "59043e265c64f21c", "f96b624673bca63a"] },
  months: { texts: ["1c635e50fb534e29", "7ac06176158dd350"] }
}

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, "functions", `${name}.sql`), "utf8")

export const functionFiles: ReadonlyArray<FunctionFile> = Object.entries(files).map(
  ([name, { named = false, ofTenant = [], texts }]) => ({
    name,
    version: texts.length,
    sql: inBothForms(ofTenant, named ? `${textOf(name)}\n${ofNamedEndpoints(textOf(name))}` : textOf(name))
  })
)

/** The checksum of each file's text according to the list. */
export const listedChecksums: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(files).map(([name, { texts }]) => [name, texts.at(-1) ?? ""])
)
