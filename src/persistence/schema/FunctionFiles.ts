import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { tenantFunctions } from "../connection/DistributedTables.ts"
import { ofNamedEndpoints } from "../connection/EndpointTables.ts"
import { sessionSettings } from "../connection/SessionSettings.ts"

/** A file of functions of the database that change together, as it is applied. */
export interface FunctionFile {
  readonly name: string
  /** How many texts of it were released so far, this one included. */
  readonly version: number
  readonly sql: string
}

export const checksumOfText = (text: string): string => createHash("sha256").update(text).digest("hex")

const ONLY_OF_TENANT = / ?\/\*\+ (.*?) \*\//g
const PLANNED_ONCE = "SET plan_cache_mode = force_generic_plan"

/**
 * A function that money steps call exists twice, made from one text: over the steps of any tenants, and over those of one, called `…_of_tenant`. The
 * second is what Citus can send whole to the server that has the tenant: its first parameter is the tenant, and every statement in it that reads, locks
 * or changes rows names that tenant, so that the server plans it for itself. On one server the first is called, because its batches span tenants.
 *
 * What only the second says stands in the text as a comment that begins with a plus. A plan that is made once, without the tenant's value, would ask
 * every server: the second has none. A session's settings do not reach a worker: the second brings its wait for locks along.
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
  /** The checksums of the texts that were released, the first 16 digits of each; the last one is the file's. */
  readonly texts: ReadonlyArray<string>
  /** The functions that exist in the form of one tenant, too, and are called in it by that name. */
  readonly ofTenant?: ReadonlyArray<string>
  /** Whether its functions exist for endpoints that have a name, too, under names of their own. */
  readonly named?: boolean
}

/**
 * The files in the order in which they are applied. Who changes one puts the checksum of its text at the end of its line (a test says which), or in the
 * place of the last one where no release has that: how many there are is what tells an older text from a newer one. The functions keep their
 * signatures, because the release before calls them, and an older text of one may call a newer text of another: a changed signature is a new name.
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
  // `arrive_requests` is of the release before.
  arrival: { texts: ["38c9deca4a8cc96f"], ofTenant: ["arrive_requests", "spend_nonces"] },
  // On one server `arrive_together` is of the release before.
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

/** What the list says of each file's text. */
export const listedChecksums: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(files).map(([name, { texts }]) => [name, texts.at(-1) ?? ""])
)
