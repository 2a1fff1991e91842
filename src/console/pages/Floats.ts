import { Effect, Option, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import { AppId, Mode } from "../../domain/Ids.ts"
import type { FloatPosition } from "../../domain/Ledger.ts"
import { may } from "../../domain/Operator.ts"
import { FloatDesk } from "../../services/console/FloatDesk.ts"
import { FloatLedger } from "../../services/ports/FloatLedger.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { Tenants } from "../../services/ports/Tenants.ts"
import { adjustmentFields, adjustmentOf } from "../AdjustmentForm.ts"
import { badge, field, form, link, money, section, table } from "../Elements.ts"
import { entriesPath } from "../EntryTable.ts"
import type { Room } from "../Handler.ts"
import { proposalTable } from "../ProposalTable.ts"
import { type Answer, page, redirect, type Visit } from "../Route.ts"

const PROPOSALS_SHOWN = 50

/** Each tenant's floats, and the credits and debits that two people make. */
export const makeFloats = Effect.gen(function* () {
  const tenants = yield* Tenants
  const ledger = yield* FloatLedger
  const desk = yield* FloatDesk
  const proposals = yield* Proposals

  const all = Effect.fn("FloatsPage.all")(function* ({ query }: Visit) {
    const wanted = query.get("app")?.trim() ?? ""
    if (isTenant(wanted)) return redirect(`/floats/${wanted}`)
    const rows = (yield* tenants.list).map(({ appId, pinned, status }) => [
      link(`/floats/${appId}`, appId),
      badge(status, status === "active" ? "good" : "bad"),
      pinned ?? "not pinned"
    ])
    return page("Floats", [tenantForm, section("Tenants", table("By name", ["Tenant", "Status", "Pinned to"], rows))])
  })

  const find = ({ params }: Visit) => {
    const appId = params["app"] ?? ""
    return isTenant(appId) ? tenants.find(appId) : Effect.succeedNone
  }

  const ofMode = Effect.fnUntraced(function* (appId: AppId, mode: Mode) {
    const positions = yield* ledger.positions(appId, mode)
    const rows = positions.map((position) => positionRow(position, entriesPath({ appId, mode, currency: position.currency })))
    return section(`Float, ${mode}`, table("One position a currency", positionColumns, rows, "There is none."))
  })

  const shown = Effect.fnUntraced(function* (visit: Visit, appId: AppId, problem: string | null) {
    const adjustments = yield* proposals.list({ kinds: ["float credit", "float debit"], about: appId }, PROPOSALS_SHOWN)
    const propose = may(visit.visitor.role, "propose") ? proposeSection(visit, appId) : null
    const body = [
      // What has to be put right comes first.
      problem === null ? null : [h("p", { class: "warning", role: "alert" }, problem), propose],
      yield* Effect.forEach(Mode.literals, (mode) => ofMode(appId, mode)),
      section("Credits and debits that were proposed", proposalTable(visit, adjustments)),
      problem === null ? propose : null
    ]
    return page(`Floats of ${appId}`, body, { status: problem === null ? 200 : 422 })
  })

  const one = Effect.fn("FloatsPage.one")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    return Option.isNone(found) ? noTenant : yield* shown(visit, found.value.appId, null)
  })

  const propose = Effect.fn("FloatsPage.propose")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTenant
    const { appId } = found.value
    const wish = adjustmentOf(visit.form, appId)
    if (typeof wish === "string") return yield* shown(visit, appId, wish)
    return yield* desk.propose(wish, { by: visit.visitor.name, at: visit.at }).pipe(
      Effect.as(redirect(`/floats/${appId}`, "proposed")),
      Effect.catchTag("NotDecided", ({ message }) => shown(visit, appId, message))
    )
  })

  return {
    place: { to: "/floats", name: "Floats" },
    routes: [
      { method: "GET", path: "/floats", permission: "look", answer: all },
      { method: "GET", path: "/floats/:app", permission: "look", answer: one },
      { method: "POST", path: "/floats/:app/propose", permission: "propose", answer: propose }
    ]
  } satisfies Room
})

const isTenant = Schema.is(AppId)

const tenantForm: ComponentChild = h(
  "form",
  { method: "get", action: "/floats", class: "filters" },
  field({ name: "app", label: "Tenant", isRequired: true, maxLength: 40 }),
  h("button", { type: "submit" }, "Show")
)

const noTenant = page("There is no such tenant", tenantForm, { status: 404 })

const positionColumns = ["Float", "Available", "Reserved", "Collected", "Paid out", "Provider's fees", "Owed"]

const positionRow = (position: FloatPosition, entries: string): ReadonlyArray<ComponentChild> => {
  const { available, collected, currency, paidOut, providerFees, receivable, reserved } = position
  return [
    link(entries, `${currency}: its entries`),
    money(available, currency),
    money(reserved, currency),
    money(collected, currency),
    money(paidOut, currency),
    money(providerFees, currency),
    receivable === undefined || receivable === 0n ? "nothing" : money(receivable, currency)
  ]
}

const proposeSection = (visit: Visit, appId: AppId): ComponentChild =>
  section(
    "Propose a credit or a debit",
    h("p", { class: "soft" }, "It takes two people, whatever the amount: another one has to approve what you propose."),
    form(visit, {
      to: `/floats/${appId}/propose`,
      button: "Propose it",
      tone: "strong",
      fields: adjustmentFields(visit.form)
    })
  )
