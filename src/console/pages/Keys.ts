import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import { addressRangeFault, MAX_ADDRESS_RANGES } from "../../domain/AddressRange.ts"
import type { CsvValue } from "../../domain/CsvText.ts"
import { type AppId, Mode } from "../../domain/Ids.ts"
import { iso, isoOrNull } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import { MAX_LABEL, Role } from "../../domain/Tenant.ts"
import type { NotDecided } from "../../services/approvals/Deciding.ts"
import { KeyApprovals } from "../../services/approvals/KeyApprovals.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { type KeyRow, Tenants } from "../../services/ports/Tenants.ts"
import {
  badge,
  choice,
  code,
  field,
  folded,
  form,
  link,
  said,
  section,
  table,
  time,
  toChoose,
  warning,
  within
} from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import { type Filter, filterForm, keptOf, listEnd, oneOf, ROWS_SHOWN, readingOf } from "../ListFilters.ts"
import { proposalTable } from "../ProposalTable.ts"
import { type Answer, acting, missing, page, redirect, type Visit } from "../Route.ts"
import { fittingTenants, mistakesIn, tenantFinder, tenantList } from "../TenantList.ts"
import { lineOf } from "../TypedText.ts"

const PROPOSALS_SHOWN = 50
const LONGEST_NOTE = 500
/** The tenants whose keys are read at once for a file. */
const TENANTS_A_READ = 200

/** The keys with which tenants sign. It takes two people to make one, and two to revoke one. */
export const makeKeys = Effect.gen(function* () {
  const tenants = yield* Tenants
  const approvals = yield* KeyApprovals
  const proposals = yield* Proposals

  const all = Effect.fn("KeysPage.all")(function* ({ query }: Visit) {
    const { end, form, shown, status } = tenantList(yield* tenants.list, "/keys", query, { hasFile: true })
    const rows = shown.map((one) => [
      link(`/keys/${one.appId}`, one.appId),
      badge(one.status, one.status === "active" ? "good" : "bad")
    ])
    return page("Keys", [form, section("Tenants", table("By name", ["Tenant", "Status"], rows), end)], { status })
  })

  const newestKeys = (appId: AppId) => Effect.map(tenants.keys(appId), (keys) => keys.toReversed())

  const file = Effect.fn("KeysPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    if (mistakesIn(visit.query, []).size > 0) return yield* all(visit)
    const found = fittingTenants(yield* tenants.list, visit.query)
    return listFile({
      name: "keys",
      columns,
      // Each read includes all keys of a tenant, because none has many.
      read: Effect.fnUntraced(function* ({ after, limit }: { readonly limit: number; readonly after: number | null }) {
        const rows: Array<KeyRow> = []
        let place = after ?? 0
        for (const { appId } of found.slice(place, place + TENANTS_A_READ)) {
          if (rows.length >= limit) break
          rows.push(...(yield* newestKeys(appId)))
          place++
        }
        return { rows, next: place < found.length ? place : null }
      })
    })
  })

  const find = tenantFinder(tenants)

  const shown = Effect.fnUntraced(function* (visit: Visit, appId: AppId, problem: string | null) {
    const { fits, mistakes } = keyFilterOf(visit.query)
    const keys = mistakes.size > 0 ? [] : (yield* newestKeys(appId)).filter(fits)
    const begin = keys.findIndex(({ keyId }) => keyId === visit.query.get("after")) + 1
    const listed = keys.slice(begin, begin + ROWS_SHOWN)
    const next = keys.length > begin + ROWS_SHOWN ? (listed.at(-1)?.keyId ?? null) : null
    const about = yield* proposals.list({ kinds: ["key issue", "key revoke"], about: appId }, PROPOSALS_SHOWN)
    const to = `/keys/${appId}`
    const propose = may(visit.visitor.role, "propose") ? proposeSection(visit, appId) : null
    const isWrong = problem !== null && !isRevocation(visit)
    const body = [
      warning(problem),
      // A form with an error comes first.
      isWrong ? propose : null,
      filterForm({ to, filters: keyFilters, asked: visit.query, mistakes }),
      section(
        "Keys",
        table(
          "The newest first",
          ["Key", "Label", "Mode", "Role", "From", "Made", "Last used", "Revoked", ""],
          listed.map((key) => keyRow(visit, key)),
          "There is none."
        ),
        listEnd({ to, file: `${to}/keys.csv`, kept: keptOf(keyFilters, visit.query), next })
      ),
      section("Keys that were proposed", proposalTable(visit, about)),
      isWrong ? null : propose
    ]
    return page(`Keys of ${appId}`, body, { status: problem === null && mistakes.size === 0 ? 200 : 422 })
  })

  const one = Effect.fn("KeysPage.one")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    return Option.isNone(found) ? noTenant : yield* shown(visit, found.value.appId, null)
  })

  const oneFile = Effect.fn("KeysPage.oneFile")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTenant
    const { appId } = found.value
    const { fits, mistakes } = keyFilterOf(visit.query)
    if (mistakes.size > 0) return yield* shown(visit, appId, null)
    const read = () => Effect.map(newestKeys(appId), (keys) => ({ rows: keys.filter(fits), next: null }))
    return listFile({ name: `keys-${appId}`, columns, read })
  })

  const proposed = (visit: Visit, propose: (appId: AppId, note: string) => Effect.Effect<void, NotDecided> | string) =>
    Effect.gen(function* (): Effect.fn.Return<Answer> {
      const found = yield* find(visit)
      if (Option.isNone(found)) return noTenant
      const { appId } = found.value
      const why = lineOf(visit.form.get("why"), LONGEST_NOTE)
      if (why === null) return yield* shown(visit, appId, `Say why, in at most ${LONGEST_NOTE} characters.`)
      const proposal = propose(appId, maskedText(why))
      if (typeof proposal === "string") return yield* shown(visit, appId, proposal)
      return yield* proposal.pipe(
        Effect.as(redirect(`/keys/${appId}`, "proposed")),
        Effect.catchTag("NotDecided", ({ message }) => shown(visit, appId, message))
      )
    })

  const proposeKey = Effect.fn("KeysPage.proposeKey")((visit: Visit) =>
    proposed(visit, (appId, note) => {
      const mode = Mode.literals.find((literal) => literal === visit.form.get("mode"))
      if (mode === undefined) return "Choose the mode: live or test."
      const role = Role.literals.find((literal) => literal === visit.form.get("role"))
      if (role === undefined) return "Choose the role: tenant, reader or admin."
      const label = lineOf(visit.form.get("label"), MAX_LABEL)
      if (label === null && isGiven(visit, "label")) return `A label is one line of at most ${MAX_LABEL} characters.`
      const addresses = addressesOf(visit.form.get("from") ?? "")
      if (typeof addresses === "string") return addresses
      return approvals.proposeIssue({ appId, mode, role, label: maskedText(label ?? ""), addresses, note }, acting(visit))
    })
  )

  const proposeRevocation = Effect.fn("KeysPage.proposeRevocation")((visit: Visit) =>
    proposed(visit, (appId, note) =>
      approvals.proposeRevocation({ appId, keyId: visit.params["key"] ?? "", note }, acting(visit))
    )
  )

  return {
    place: { to: "/keys", name: "Keys" },
    routes: [
      { method: "GET", path: "/keys", permission: "look", answer: all },
      { method: "GET", path: "/keys.csv", permission: "look", answer: file },
      { method: "GET", path: "/keys/:app", permission: "look", answer: one },
      { method: "GET", path: "/keys/:app/keys.csv", permission: "look", answer: oneFile },
      { method: "POST", path: "/keys/:app/propose", permission: "propose", answer: proposeKey },
      { method: "POST", path: "/keys/:app/:key/revoke", permission: "propose", answer: proposeRevocation }
    ]
  } satisfies Room
})

// The form for a new key, on the same page, has fields for a mode and a role too.
const filters = {
  mode: oneOf("key_mode", "Mode", Mode.literals),
  role: oneOf("key_role", "Role", Role.literals),
  state: oneOf("state", "State", ["active", "revoked"] as const)
}
const keyFilters = [filters.mode, filters.role, filters.state] satisfies ReadonlyArray<Filter<unknown>>

const keyFilterOf = (asked: URLSearchParams) => {
  const { mistakes, value } = readingOf(asked)
  const [mode, role, state] = [value(filters.mode), value(filters.role), value(filters.state)]
  const fits = (key: KeyRow): boolean =>
    (mode === null || key.mode === mode) &&
    (role === null || key.role === role) &&
    (state === null || (key.revokedAt === null) === (state === "active"))
  return { mistakes, fits }
}

const columns: ReadonlyArray<readonly [string, (key: KeyRow) => CsvValue]> = [
  ["app_id", ({ appId }) => appId],
  ["key_id", ({ keyId }) => keyId],
  ["label", ({ label }) => label],
  ["mode", ({ mode }) => mode],
  ["role", ({ role }) => role],
  ["used_from", ({ addresses }) => addresses.join(" ")],
  ["created_at", ({ createdAt }) => iso(createdAt)],
  ["last_used_hour", ({ lastUsedAt }) => isoOrNull(lastUsedAt)],
  ["revoked_at", ({ revokedAt }) => isoOrNull(revokedAt)]
]

const isGiven = ({ form }: Visit, name: string): boolean => (form.get(name) ?? "").trim() !== ""

/** The networks that were typed, separated by commas or spaces; a string says which one is invalid, and why. */
const addressesOf = (text: string): ReadonlyArray<string> | string => {
  const addresses = text.split(/[\s,]+/).filter((one) => one !== "")
  if (addresses.length > MAX_ADDRESS_RANGES) return `A key is held to at most ${MAX_ADDRESS_RANGES} networks.`
  const faults = addresses.flatMap((one) => {
    const fault = addressRangeFault(one)
    return fault === undefined ? [] : [`Used from: ${one} is not accepted; what is accepted ${fault}.`]
  })
  return faults[0] ?? addresses
}

const isRevocation = ({ path }: Visit): boolean => path.endsWith("/revoke")

const noTenant = missing("tenant", "/keys", "All tenants")

const keyRow = (visit: Visit, { appId, keyId, revokedAt, ...key }: KeyRow): ReadonlyArray<ComponentChild> => [
  code(keyId),
  said(key.label),
  key.mode,
  key.role,
  key.addresses.length === 0 ? "anywhere" : key.addresses.join(", "),
  time(key.createdAt),
  within(key.lastUsedAt),
  revokedAt === null ? badge("no", "good") : time(revokedAt),
  revokedAt === null && may(visit.visitor.role, "propose")
    ? folded(
        "Revoke",
        form(visit, {
          to: `/keys/${appId}/${keyId}/revoke`,
          button: "Propose to revoke it",
          about: keyId,
          tone: "danger",
          fields: [
            field({ name: "why", id: `why-${keyId}`, label: "Why, for the audit log", isRequired: true, maxLength: LONGEST_NOTE })
          ]
        })
      )
    : null
]

const proposeSection = (visit: Visit, appId: AppId): ComponentChild => {
  // The input for revoking a key is not input for a new one.
  const given = isRevocation(visit) ? new URLSearchParams() : visit.form
  return section(
    "Propose a new key",
    h(
      "p",
      { class: "soft" },
      "Another person has to approve it. After that you have it made here, and see its two secrets once. Nobody else sees them."
    ),
    form(visit, {
      to: `/keys/${appId}/propose`,
      button: "Propose it",
      tone: "strong",
      fields: [
        choice("mode", "Mode", toChoose(Mode.literals), given.get("mode") ?? ""),
        choice(
          "role",
          "Role",
          [
            ["tenant", "tenant: signs the tenant's own requests"],
            ["reader", "reader: only reads the tenant's own records"],
            ["admin", "admin: an operator, reads every tenant and changes nothing"]
          ],
          given.get("role") ?? "tenant"
        ),
        field({
          name: "label",
          label: "Label: who or what it is for",
          value: given.get("label") ?? "",
          isRequired: false,
          maxLength: MAX_LABEL
        }),
        field({
          name: "from",
          label: "Used from: IP addresses and networks such as 10.0.0.0/8, with commas between them; from anywhere if left empty",
          value: given.get("from") ?? "",
          isRequired: false
        }),
        field({
          name: "why",
          label: "Why, for the audit log",
          value: given.get("why") ?? "",
          isRequired: true,
          maxLength: LONGEST_NOTE
        })
      ]
    })
  )
}
