import { Effect, Option, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import { Currency, isCurrency } from "../../domain/Currency.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import type { FloatPosition } from "../../domain/Ledger.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import { FloatApprovals } from "../../services/approvals/FloatApprovals.ts"
import { FloatLedger } from "../../services/ports/FloatLedger.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { Tenants } from "../../services/ports/Tenants.ts"
import type { AdjustmentWish } from "../../services/tenants/FloatAdjustments.ts"
import { badge, choice, field, form, link, money, section, table, toChoose, warning, words } from "../Elements.ts"
import { entriesPath } from "../EntryTable.ts"
import type { Room } from "../Handler.ts"
import { proposalTable } from "../ProposalTable.ts"
import { type Answer, acting, page, redirect, type Visit } from "../Route.ts"
import { tenantFinder, tenantList } from "../TenantList.ts"
import { amountOf, lineOf, notAnAmount } from "../TypedText.ts"

const PROPOSALS_SHOWN = 50

/** Each tenant's floats, and the credits and debits that take two people. */
export const makeFloats = Effect.gen(function* () {
  const tenants = yield* Tenants
  const ledger = yield* FloatLedger
  const approvals = yield* FloatApprovals
  const proposals = yield* Proposals

  const all = Effect.fn("FloatsPage.all")(function* ({ query }: Visit) {
    const wanted = query.get("app")?.trim() ?? ""
    if (isTenant(wanted)) return redirect(`/floats/${wanted}`)
    const { end, form, shown, status } = tenantList(yield* tenants.list, "/floats", query)
    const rows = shown.map((one) => [
      link(`/floats/${one.appId}`, one.appId),
      badge(one.status, one.status === "active" ? "good" : "bad"),
      one.pinned ?? "not pinned"
    ])
    const list = section("Tenants", table("By name", ["Tenant", "Status", "Pinned to"], rows), end)
    return page("Floats", [tenantForm, form, list], { status })
  })

  const find = tenantFinder(tenants)

  const ofMode = Effect.fnUntraced(function* (appId: AppId, mode: Mode) {
    const positions = yield* ledger.positions(appId, mode)
    const rows = positions.map((position) => positionRow(position, entriesPath({ appId, mode, currency: position.currency })))
    return section(`Float, ${mode}`, table("One position a currency", positionColumns, rows, "There is none."))
  })

  const shown = Effect.fnUntraced(function* (visit: Visit, appId: AppId, problem: string | null) {
    const adjustments = yield* proposals.list({ kinds: ["float credit", "float debit"], about: appId }, PROPOSALS_SHOWN)
    const propose = may(visit.visitor.role, "propose") ? proposeSection(visit, appId) : null
    const body = [
      // A form with an error comes first.
      problem === null ? null : [warning(problem), propose],
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
    return yield* approvals.propose(wish, acting(visit)).pipe(
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
  h("button", { type: "submit" }, "Search")
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

const LONGEST_EXTERNAL_ID = 128
const LONGEST_NOTE = 500
const directions = ["credit", "debit"] as const

/** The fields of the form. `given` has the previous input, where it had an error. */
const adjustmentFields = (given: URLSearchParams): ReadonlyArray<ComponentChild> => {
  const value = (name: string) => given.get(name) ?? ""
  return [
    choice("direction", "Credit or debit", toChoose(directions), value("direction")),
    choice("mode", "Mode", toChoose(Mode.literals), value("mode")),
    choice("currency", "Currency", toChoose(Currency.literals), value("currency")),
    field({ name: "amount", label: "Amount, such as 1,000 or 12.50", value: value("amount"), isRequired: true, maxLength: 30 }),
    field({
      name: "external_id",
      label: "External id",
      hint: "What names it outside, such as the bank's reference. The same one is posted once, whoever uses it.",
      value: value("external_id"),
      isRequired: true,
      maxLength: LONGEST_EXTERNAL_ID
    }),
    words({ name: "why", label: "Why, for the audit log", value: value("why"), maxLength: LONGEST_NOTE })
  ]
}

/** The adjustment from the form, or its error as one line. */
const adjustmentOf = (form: URLSearchParams, appId: AppId): AdjustmentWish | string => {
  const direction = directions.find((one) => one === form.get("direction"))
  if (direction === undefined) return "Choose whether it is a credit or a debit."
  const mode = Mode.literals.find((one) => one === form.get("mode"))
  if (mode === undefined) return "Choose the mode: live or test."
  const currency = form.get("currency")
  if (!isCurrency(currency)) return "Choose the currency."
  const amount = amountOf(form.get("amount"), currency)
  if (amount === undefined) return notAnAmount(currency)
  if (amount === null || amount === 0n) return "Say the amount. It is more than zero."
  const externalId = lineOf(form.get("external_id"), LONGEST_EXTERNAL_ID)
  if (externalId === null) return `An external id has 1 to ${LONGEST_EXTERNAL_ID} characters, all of which can be seen.`
  const why = lineOf(form.get("why")?.replaceAll(/\s+/g, " ") ?? null, LONGEST_NOTE)
  if (why === null) return `Say why, in at most ${LONGEST_NOTE} characters.`
  return { appId, mode, currency, direction, amount, externalId, note: maskedText(why) }
}
