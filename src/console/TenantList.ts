import type { Tenant } from "../domain/Tenant.ts"
import { TenantStatus } from "../domain/Tenant.ts"
import { type Filter, filterForm, keptOf, listEnd, oneOf, ROWS_SHOWN, readingOf, written } from "./ListFilters.ts"

const begins = written(
  "begins",
  "Tenant begins with",
  /^[a-z0-9_-]{1,40}$/,
  "A tenant has 1 to 40 characters of a-z, 0-9, _ and -."
)
const status = oneOf("status", "Status", TenantStatus.literals)
const filters = [begins, status] satisfies ReadonlyArray<Filter<unknown>>

/** One page of all tenants by name, with what stands above and below it. `to` is the page that lists them. */
export const tenantList = (tenants: ReadonlyArray<Tenant>, to: string, asked: URLSearchParams) => {
  const { mistakes, value } = readingOf(asked)
  const [start, wanted, after] = [value(begins) ?? "", value(status), asked.get("after") ?? ""]
  const found = tenants.filter(
    ({ appId, status: own }) => appId.startsWith(start) && (wanted === null || own === wanted) && appId > after
  )
  const shown = mistakes.size > 0 ? [] : found.slice(0, ROWS_SHOWN)
  const next = found.length > shown.length ? (shown.at(-1)?.appId ?? null) : null
  return {
    shown,
    status: mistakes.size > 0 ? 422 : 200,
    form: filterForm({ to, filters, asked, mistakes }),
    end: listEnd({ to, kept: keptOf(filters, asked), next, older: "Next ones", hasFile: false })
  }
}
