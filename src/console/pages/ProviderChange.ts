import { Effect } from "effect"
import { type ComponentChild, h } from "preact"
import { providerKinds, providerSubject } from "../../domain/ConfigurationChange.ts"
import { may } from "../../domain/Operator.ts"
import { ConfigurationApprovals } from "../../services/approvals/ConfigurationApprovals.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type ProviderSwitch, ProviderSwitches, switchOf } from "../../services/ports/ProviderSwitches.ts"
import { badge, facts, field, form, said, section, time, warning } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { proposalTable } from "../ProposalTable.ts"
import { type Answer, missing, page, type Visit } from "../Route.ts"
import { changeMaker, LONGEST_REASON, NOTHING } from "./Changes.ts"

const PROPOSALS_SHOWN = 20
const PROVIDER = "/providers/:provider/change"

/** The switch of a whole provider. It takes two people, and the one who approves is an administrator. */
export const makeProviderChange = Effect.gen(function* () {
  const switches = yield* ProviderSwitches
  const { known } = yield* ProviderRegistry
  const proposals = yield* Proposals
  const made = changeMaker(yield* ConfigurationApprovals)

  const providerOf = ({ params }: Visit) => known.find((name) => name === params["provider"])

  const shown = Effect.fnUntraced(function* (visit: Visit, provider: string, problem: string | null) {
    const standing = switchOf(yield* switches.list, provider)
    const list = yield* proposals.list({ kinds: providerKinds, about: providerSubject(provider) }, PROPOSALS_SHOWN)
    return page(
      `Switch of ${provider}`,
      [
        warning(problem),
        section("As it is", standingFacts(standing)),
        may(visit.visitor.role, "propose") ? switchForm(visit, provider, standing) : null,
        list.length === 0 ? null : section("Changes that were proposed", proposalTable(visit, list))
      ],
      { status: problem === null ? 200 : 409 }
    )
  })

  const show = Effect.fn("ProviderChange.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const provider = providerOf(visit)
    return provider === undefined ? noProvider : yield* shown(visit, provider, null)
  })

  const propose = Effect.fn("ProviderChange.propose")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const provider = providerOf(visit)
    if (provider === undefined) return noProvider
    const kind = providerKinds.find((one) => one === visit.form.get("do"))
    const seen = seenIn(visit.form)
    if (kind === undefined || seen === undefined) return yield* shown(visit, provider, NOTHING)
    return yield* made(visit, { kind, provider, seen }, `/providers/${provider}/change`, (problem) =>
      shown(visit, provider, problem)
    )
  })

  return {
    place: null,
    routes: [
      { method: "GET", path: PROVIDER, permission: "look", answer: show },
      { method: "POST", path: PROVIDER, permission: "propose", answer: propose }
    ]
  } satisfies Room
})

const noProvider = missing("provider", "/providers", "All providers")

/** When the switch that the person saw had last changed; null where it was never set, undefined where the form does not say. */
const seenIn = (form: URLSearchParams): number | null | undefined => {
  const seen = form.get("seen")
  if (seen === "never") return null
  return seen !== null && /^\d{1,15}$/.test(seen) ? Number(seen) : undefined
}

export const switchBadge = (standing: ProviderSwitch | undefined): ComponentChild =>
  standing?.isOff === true ? badge("off", "bad") : badge("on", "good")

const standingFacts = (standing: ProviderSwitch | undefined): ComponentChild =>
  facts([
    ["Switch", switchBadge(standing)],
    ["Changed last", time(standing?.changedAt ?? null)],
    ["Why", standing === undefined ? null : said(standing.reason)]
  ])

const effects = {
  "provider off":
    "Nothing new goes to it, in any corridor and for any tenant, also one that is pinned to it: no payment, no exchange, no price. A corridor that has no other provider is not served meanwhile. What was sent already is asked about, and its callbacks are taken, as before. Every node follows within a second.",
  "provider on": "Corridors and pins lead to it again. Every node follows within a second."
}

const switchForm = (visit: Visit, provider: string, standing: ProviderSwitch | undefined): ComponentChild => {
  const isOff = standing?.isOff === true
  const kind = isOff ? "provider on" : "provider off"
  return section(
    isOff ? "Switch it on again" : "Switch it off",
    h("p", null, effects[kind]),
    h("p", { class: "soft" }, "It takes two people, whoever proposes it: an administrator has to approve what you propose."),
    form(visit, {
      to: `/providers/${provider}/change`,
      button: isOff ? "Propose to switch it on" : "Propose to switch it off",
      tone: isOff ? "strong" : "danger",
      hidden: { do: kind, seen: standing === undefined ? "never" : String(standing.changedAt) },
      fields: [field({ name: "reason", label: "Why, for the audit log", isRequired: true, maxLength: LONGEST_REASON })]
    })
  )
}
