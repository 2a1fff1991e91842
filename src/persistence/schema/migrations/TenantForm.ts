/**
 * A function that money steps call exists twice, made from one text: over the steps of any tenants, and over those of one, called `…_of_tenant`. The
 * second is what Citus can send whole to the server that has the tenant: its first parameter is the tenant, and every statement in it that reads, locks
 * or changes rows names that tenant, so that the server plans it for itself. On one server the first is called, because its batches span tenants.
 *
 * What only the second says stands in the text as a comment that begins with a plus. A plan that is made once, without the tenant's value, would ask
 * every server: the second has none.
 */
export const inBothForms = (functions: ReadonlyArray<string>, text: string, textOfTenant = text): string =>
  text.replaceAll(ONLY_OF_TENANT, "") + ofTenant(functions, textOfTenant)

const ONLY_OF_TENANT = / ?\/\*\+ (.*?) \*\//g
const PLANNED_ONCE = "SET plan_cache_mode = force_generic_plan"

const ofTenant = (functions: ReadonlyArray<string>, text: string): string =>
  functions
    .reduce((renamed, name) => renamed.replaceAll(new RegExp(`\\b${name}\\b`, "g"), `${name}_of_tenant`), text)
    .replaceAll(ONLY_OF_TENANT, " $1")
    .replaceAll(PLANNED_ONCE, "")
