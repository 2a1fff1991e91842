import { Effect, Schema } from "effect"
import { AppId } from "../domain/Ids.ts"
import type { Tenant } from "../domain/Tenant.ts"
import { TenantStatus } from "../domain/Tenant.ts"
import { type Tenants } from "../services/ports/Tenants.ts"
import { type Filter, filterForm, keptOf, listEnd, oneOf, ROWS_SHOWN, readingOf, written } from "./ListFilters.ts"
import { type Visit } from "./Route.ts"

const begins = written(
  "begins",
  "Tenant begins with",
  /^[a-z0-9_-]{1,40}$/,
  "A tenant has 1 to 40 characters of a-z, 0-9, _ and -."
)
const status = oneOf("status", "Status", TenantStatus.literals)
const ofAll = [begins, status] satisfies ReadonlyArray<Filter<unknown>>

interface OfPage {
  /** Further filters of this page, which have already been applied to the tenants. */
  readonly own?: ReadonlyArray<Filter<unknown>>
  readonly hasFile?: boolean
}

/** One page of all tenants by name, with its filters and links. `to` is the page that lists them. */
export const tenantList = (
  tenants: ReadonlyArray<Tenant>,
  to: string,
  asked: URLSearchParams,
  { hasFile = false, own = [] }: OfPage = {}
) => {
  const filters = [...ofAll, ...own]
  const mistakes = mistakesIn(asked, own)
  const after = asked.get("after") ?? ""
  const found = fittingTenants(tenants, asked).filter(({ appId }) => appId > after)
  const shown = mistakes.size > 0 ? [] : found.slice(0, ROWS_SHOWN)
  const next = found.length > shown.length ? (shown.at(-1)?.appId ?? null) : null
  return {
    shown,
    status: mistakes.size > 0 ? 422 : 200,
    form: filterForm({ to, filters, asked, mistakes }),
    end: mistakes.size > 0 ? null : listEnd({ to, kept: keptOf(filters, asked), next, older: "Next ones", hasFile })
  }
}

export const mistakesIn = (asked: URLSearchParams, own: ReadonlyArray<Filter<unknown>>): ReadonlySet<string> => {
  const { mistakes, value } = readingOf(asked)
  for (const filter of [...ofAll, ...own]) value(filter)
  return mistakes
}

/** The tenants that match the filters that every list of tenants has. */
export const fittingTenants = (tenants: ReadonlyArray<Tenant>, asked: URLSearchParams): ReadonlyArray<Tenant> => {
  const { value } = readingOf(asked)
  const [start, wanted] = [value(begins) ?? "", value(status)]
  return tenants.filter((tenant) => tenant.appId.startsWith(start) && (wanted === null || tenant.status === wanted))
}

/** Finds the tenant that an address names as `:app`. */
export const tenantFinder =
  (tenants: Tenants["Service"]) =>
  ({ params }: Visit) => {
    const appId = params["app"] ?? ""
    return isTenant(appId) ? tenants.find(appId) : Effect.succeedNone
  }

const isTenant = Schema.is(AppId)
