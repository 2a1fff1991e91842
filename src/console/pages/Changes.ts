import { Effect, Option } from "effect"
import { type ComponentChild, type ComponentChildren, h } from "preact"
import {
  type ConfigurationChange,
  configurationKinds,
  corridorMistake,
  corridorName,
  isMadeAlone,
  providerKinds
} from "../../domain/ConfigurationChange.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import type { AppId } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import type { Tenant } from "../../domain/Tenant.ts"
import { ConfigurationApprovals } from "../../services/approvals/ConfigurationApprovals.ts"
import { CorridorDoubts, pinDoubts } from "../../services/ports/CorridorDoubts.ts"
import { Corridors } from "../../services/ports/Corridors.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { Tenants } from "../../services/ports/Tenants.ts"
import { choice, facts, field, form, hidden, link, said, section, table, time, warning } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { proposalTable } from "../ProposalTable.ts"
import { corridorOffer, notOffered, type ProviderOffer, pinOffer } from "../ProviderOffer.ts"
import { type Answer, acting, missing, page, redirect, type Visit } from "../Route.ts"
import { tenantFinder } from "../TenantList.ts"
import { lineOf } from "../TypedText.ts"

export const LONGEST_REASON = 200
const PROPOSALS_SHOWN = 20
const CORRIDOR = "/corridors/:country/:currency/:direction/:method/change"
const TENANT = "/tenants/:app/change"

/** Changes of corridors and tenants. Each page shows the effect first; the change is made only if the state is still the same. */
export const makeChanges = Effect.gen(function* () {
  const corridors = yield* Corridors
  const tenants = yield* Tenants
  const doubts = yield* CorridorDoubts
  const { known } = yield* ProviderRegistry
  const proposals = yield* Proposals
  const approvals = yield* ConfigurationApprovals

  const kinds = configurationKinds.filter((kind) => !providerKinds.some((one) => one === kind))
  const proposed = (visit: Visit, about: string) =>
    Effect.map(proposals.list({ kinds, about }, PROPOSALS_SHOWN), (list) =>
      list.length === 0 ? null : section("Changes that were proposed", proposalTable(visit, list))
    )

  const corridorOf = corridorFinder(corridors)
  const made = changeMaker(approvals)

  const corridorPage = Effect.fnUntraced(function* (visit: Visit, row: Corridor, problem: string | null) {
    const name = corridorName(row)
    const wish = problem === null ? corridorWish(visit.query, row) : null
    const doubtsOf = yield* doubts.read(visit.at)
    return page(
      `Corridor ${name.replaceAll("/", " ")}`,
      [
        warning(problem),
        section("As it is", corridorFacts(row)),
        wish === null
          ? null
          : wouldChange(visit, wish, {
              to: `/corridors/${name}/change`,
              rows: corridorRows(row, wish),
              hidden: { providers: wish.providers.join(","), active: String(wish.active), seen: String(wish.seen) },
              mistake: corridorMistake({ ...row, providers: wish.providers }, row, known),
              doubts: wish.providers.flatMap((one) => doubtsOf(row, one)),
              notes: ["What was sent already stays where it is. Every node follows within a second."],
              reason: wish.active ? "Why, for the audit log" : "Why; tenants read it of a closed one"
            }),
        may(visit.visitor.role, "propose") ? corridorForm(name, wish ?? row, corridorOffer(row, known, doubtsOf)) : null,
        yield* proposed(visit, name)
      ],
      { status: problem === null ? 200 : 409 }
    )
  })

  const showCorridor = Effect.fn("ChangesPage.showCorridor")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const row = yield* corridorOf(visit)
    return row === undefined ? noCorridor : yield* corridorPage(visit, row, null)
  })

  const changeCorridor = Effect.fn("ChangesPage.changeCorridor")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const row = yield* corridorOf(visit)
    if (row === undefined) return noCorridor
    const wish = corridorWish(visit.form, row)
    const seen = Number(visit.form.get("seen"))
    if (wish === null || !Number.isSafeInteger(seen)) return yield* corridorPage(visit, row, NOTHING)
    return yield* made(visit, { ...wish, seen }, `/corridors/${corridorName(row)}/change`, (problem) =>
      corridorPage(visit, row, problem)
    )
  })

  const tenantOf = tenantFinder(tenants)

  const tenantPage = Effect.fnUntraced(function* (visit: Visit, tenant: Tenant, problem: string | null) {
    const { appId, pinned } = tenant
    const wish = problem === null ? tenantWish(visit.query, tenant) : null
    const [rows, doubtsOf] = [yield* corridors.list, yield* doubts.read(visit.at)]
    return page(
      `Change of ${appId}`,
      [
        warning(problem),
        section(
          "As it is",
          facts([
            ["Tenant", link(`/tenants/${appId}`, appId)],
            ["Status", tenant.status],
            ["Pinned to", pinned ?? "no provider"]
          ])
        ),
        wish === null
          ? null
          : wouldChange(visit, wish, {
              to: `/tenants/${appId}/change`,
              rows: tenantRows(tenant, wish),
              hidden: { do: wish.kind, ...("provider" in wish ? { provider: wish.provider } : {}), seen: pinned ?? "" },
              mistake:
                wish.kind === "tenant pin" && !known.includes(wish.provider) ? `There is no provider ${wish.provider}.` : null,
              doubts: wish.kind === "tenant pin" ? pinDoubts(rows, wish.provider, doubtsOf) : [],
              notes: [effects[wish.kind]],
              reason: "Why, for the audit log"
            }),
        may(visit.visitor.role, "propose") ? tenantForms(tenant, pinOffer(rows, known, doubtsOf)) : null,
        yield* proposed(visit, appId)
      ],
      { status: problem === null ? 200 : 409 }
    )
  })

  const showTenant = Effect.fn("ChangesPage.showTenant")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* tenantOf(visit)
    return Option.isNone(found) ? noTenant : yield* tenantPage(visit, found.value, null)
  })

  const changeTenant = Effect.fn("ChangesPage.changeTenant")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* tenantOf(visit)
    if (Option.isNone(found)) return noTenant
    const seen = visit.form.get("seen") ?? ""
    const wish = tenantWish(visit.form, { ...found.value, pinned: seen === "" ? null : seen })
    if (wish === null) return yield* tenantPage(visit, found.value, NOTHING)
    return yield* made(visit, wish, `/tenants/${found.value.appId}/change`, (problem) => tenantPage(visit, found.value, problem))
  })

  return {
    place: null,
    routes: [
      { method: "GET", path: CORRIDOR, permission: "look", answer: showCorridor },
      { method: "POST", path: CORRIDOR, permission: "propose", answer: changeCorridor },
      { method: "GET", path: TENANT, permission: "look", answer: showTenant },
      { method: "POST", path: TENANT, permission: "propose", answer: changeTenant }
    ]
  } satisfies Room
})

export const NOTHING = "Nothing was done: the form is not whole. Choose the change again."

/** Finds the corridor that an address names. */
export const corridorFinder =
  (corridors: Corridors["Service"]) =>
  ({ params }: Visit) => {
    const { country = "", currency = "", direction = "", method = "" } = params
    const name = `${country}/${currency}/${direction}/${method}`
    return Effect.map(corridors.list, (rows) => rows.find((row) => corridorName(row) === name))
  }

/** Makes a change or opens its proposal, with the form's reason. `refused`: the page again, with the problem. */
export const changeMaker = (approvals: ConfigurationApprovals["Service"]) =>
  Effect.fnUntraced(function* (
    visit: Visit,
    change: ConfigurationChange,
    to: string,
    refused: (problem: string) => Effect.Effect<Answer>
  ): Effect.fn.Return<Answer> {
    const reason = lineOf(visit.form.get("reason"), LONGEST_REASON)
    if (reason === null) return yield* refused(`Nothing was done: say why, in at most ${LONGEST_REASON} characters.`)
    return yield* approvals.change({ change, note: maskedText(reason) }, acting(visit), visit.visitor.role).pipe(
      Effect.map((how): Answer => redirect(to, how)),
      Effect.catchTag("NotDecided", ({ message }) => refused(message))
    )
  })

export const noCorridor = missing("corridor", "/providers", "All corridors")
const noTenant = missing("tenant", "/tenants", "All tenants")

interface Outlook {
  readonly to: string
  /** Each row: its name, its present value, and its value after the change. */
  readonly rows: ReadonlyArray<ReadonlyArray<ComponentChildren>>
  readonly hidden: Readonly<Record<string, string>>
  /** Why the change cannot be made; null where it can. */
  readonly mistake: string | null
  /** Why the change may not have the desired effect. */
  readonly doubts: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  /** The label of the reason. */
  readonly reason: string
}

/** The effect of the change, and the form that makes it. */
const wouldChange = (
  visit: Visit,
  { kind }: ConfigurationChange,
  { doubts, hidden, mistake, notes, reason, rows, to }: Outlook
): ComponentChild => {
  if (!may(visit.visitor.role, "propose")) return null
  const isAlone = isMadeAlone(kind, visit.visitor.role)
  return section(
    "What would change",
    table("Nothing is changed yet", ["What", "Now", "Then"], rows, "Nothing."),
    notes.map((note) => h("p", null, note)),
    [...(mistake === null ? [] : [`It cannot be made: ${mistake}`]), ...doubts].map((one) => h("p", { class: "warning" }, one)),
    rows.length === 0 || mistake !== null
      ? null
      : [
          isAlone ? null : h("p", { class: "soft" }, "It takes two people: another one has to approve what you propose."),
          form(visit, {
            to,
            button: isAlone ? "Change it" : "Propose it",
            tone: kind === "tenant freeze" ? "danger" : "strong",
            hidden,
            fields: [field({ name: "reason", label: reason, isRequired: true, maxLength: LONGEST_REASON })]
          })
        ]
  )
}

const openText = (active: boolean): string => (active ? "open" : "closed")

const corridorFacts = (row: Corridor): ComponentChild =>
  facts([
    ["Corridor", [openText(row.active), row.inactiveReason === null ? null : [": ", said(row.inactiveReason)]]],
    ["Tried in this order", row.providers.join(", ")],
    ["Changed last", time(row.updatedAt)]
  ])

type CorridorChange = Extract<ConfigurationChange, { readonly kind: "corridor set" }>

/** The change that a form or an address asks for; null where it asks for none. */
const corridorWish = (given: URLSearchParams, row: Corridor): CorridorChange | null => {
  const [providers, active] = [given.get("providers"), given.get("active")]
  if (providers === null || (active !== "true" && active !== "false")) return null
  const names = providers.split(/[\s,;]+/).filter((name) => name !== "")
  return { kind: "corridor set", key: row, providers: names, active: active === "true", seen: row.updatedAt }
}

const corridorRows = (row: Corridor, { active, providers }: CorridorChange): Outlook["rows"] => [
  ...(row.active === active ? [] : [["Open or closed", openText(row.active), openText(active)]]),
  ...(row.providers.join() === providers.join()
    ? []
    : [["Tried in this order", row.providers.join(", "), said(providers.join(", "))]])
]

const corridorForm = (
  name: string,
  { active, providers }: Pick<Corridor, "active" | "providers">,
  offer: ProviderOffer
): ComponentChild =>
  section(
    "Change it",
    h(
      "form",
      { method: "get", action: `/corridors/${name}/change`, class: "stacked" },
      field({
        name: "providers",
        label: "Providers in the order in which they are tried",
        value: providers.join(", "),
        hint: `One that is left out gets nothing new here. Able to serve it: ${offer.able.join(", ") || "none"}.`,
        isRequired: true
      }),
      choice(
        "active",
        "Open or closed",
        [
          ["true", "open"],
          ["false", "closed"]
        ],
        String(active)
      ),
      h("button", { type: "submit" }, "See what would change")
    ),
    notOffered(offer)
  )

type TenantChange = Extract<ConfigurationChange, { readonly appId: AppId }>

/** The change that a form or an address asks for; null where it asks for none that applies to this tenant. */
const tenantWish = (given: URLSearchParams, { appId, pinned }: Tenant): TenantChange | null => {
  const kind = given.get("do")
  switch (kind) {
    case "tenant freeze":
    case "tenant unfreeze":
      return { kind, appId }
    case "tenant pin": {
      const provider = given.get("provider") ?? ""
      return provider === "" ? null : { kind, appId, provider, seen: pinned }
    }
    case "tenant unpin":
      return pinned === null ? null : { kind, appId, seen: pinned }
    default:
      return null
  }
}

const effects: { readonly [K in TenantChange["kind"]]: string } = {
  "tenant freeze": "Everything of it that moves money is refused at once; what is open still settles.",
  "tenant unfreeze": "It moves money again at once.",
  "tenant pin": "It goes to that provider alone in every corridor that has it, and to no other where that one fails.",
  "tenant unpin": "The corridors decide again."
}

const tenantRows = ({ pinned, status }: Tenant, wish: TenantChange): Outlook["rows"] => {
  switch (wish.kind) {
    case "tenant freeze":
      return status === "frozen" ? [] : [["Status", status, "frozen"]]
    case "tenant unfreeze":
      return status === "active" ? [] : [["Status", status, "active"]]
    case "tenant pin":
      return pinned === wish.provider ? [] : [["Pinned to", pinned ?? "no provider", said(wish.provider)]]
    case "tenant unpin":
      return [["Pinned to", pinned ?? "no provider", "no provider"]]
  }
}

const tenantForms = ({ appId, pinned, status }: Tenant, offer: ProviderOffer): ComponentChild => {
  const offered = offer.able.filter((name) => name !== pinned)
  const to = `/tenants/${appId}/change`
  const other = status === "active" ? "tenant freeze" : "tenant unfreeze"
  return section(
    "Change it",
    h("p", { class: "inline choices" }, [
      link(`${to}?${new URLSearchParams({ do: other })}`, status === "active" ? "Freeze it" : "Let it move money again"),
      pinned === null ? null : link(`${to}?${new URLSearchParams({ do: "tenant unpin" })}`, `Undo its pin to ${pinned}`)
    ]),
    offered.length === 0
      ? h("p", null, "There is no other provider that it could be pinned to.")
      : h(
          "form",
          { method: "get", action: to, class: "stacked" },
          hidden("do", "tenant pin"),
          choice(
            "provider",
            "Pin it to one provider",
            offered.map((name) => [name, name] as const)
          ),
          h("button", { type: "submit" }, "See what would change")
        ),
    notOffered(offer)
  )
}
