import { Effect, Option, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import type { FloatPosition } from "../../domain/Ledger.ts"
import { FloatLedger } from "../../services/ports/FloatLedger.ts"
import { Tenants } from "../../services/ports/Tenants.ts"
import { type PostedEntry, Transactions } from "../../services/ports/Transactions.ts"
import { badge, field, link, money, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { page, redirect, type Visit } from "../Route.ts"

/** The entries of so many of the newest transactions are shown. */
const TRANSACTIONS_SHOWN = 20
const anything = {
  kind: null,
  status: null,
  provider: null,
  amount: null,
  currency: null,
  partyEnd: null,
  needsReview: false,
  createdFrom: null,
  createdTo: null
}

/** Each tenant's floats, and what moved them last. */
export const makeFloats = Effect.gen(function* () {
  const tenants = yield* Tenants
  const ledger = yield* FloatLedger
  const transactions = yield* Transactions

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

  const ofMode = Effect.fnUntraced(function* (appId: AppId, mode: Mode) {
    const positions = yield* ledger.positions(appId, mode)
    const { items } = yield* transactions.search({ ...anything, appId, mode }, TRANSACTIONS_SHOWN)
    const entries = yield* Effect.forEach(items, (record) =>
      Effect.map(transactions.entries(record.reference), (posted) => posted.map((entry) => entryRow(record, entry)))
    )
    return [
      section(`Float, ${mode}`, table("One position a currency", positionColumns, positions.map(positionRow), "There is none.")),
      section(
        `Entries of the newest transactions, ${mode}`,
        table(
          `Of the last ${TRANSACTIONS_SHOWN}`,
          ["When", "Transaction", "Entry", "Postings"],
          entries.flat(),
          "There are none."
        )
      )
    ]
  })

  const one = Effect.fn("FloatsPage.one")(function* ({ params }: Visit) {
    const appId = params["app"] ?? ""
    const found = isTenant(appId) ? yield* tenants.find(appId) : Option.none()
    if (Option.isNone(found)) return page("There is no such tenant", tenantForm, { status: 404 })
    return page(`Floats of ${appId}`, yield* Effect.forEach(Mode.literals, (mode) => ofMode(found.value.appId, mode)))
  })

  return {
    place: { to: "/floats", name: "Floats" },
    routes: [
      { method: "GET", path: "/floats", permission: "look", answer: all },
      { method: "GET", path: "/floats/:app", permission: "look", answer: one }
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

const positionColumns = ["Available", "Reserved", "Collected", "Paid out", "Provider's fees", "Owed"]

const positionRow = ({ available, collected, currency, paidOut, providerFees, receivable, reserved }: FloatPosition) => [
  money(available, currency),
  money(reserved, currency),
  money(collected, currency),
  money(paidOut, currency),
  money(providerFees, currency),
  receivable === undefined || receivable === 0n ? "nothing" : money(receivable, currency)
]

const entryRow = ({ reference }: LedgerRecord, { at, phase, postings }: PostedEntry): ReadonlyArray<ComponentChild> => [
  time(at),
  transactionLink(reference),
  phase,
  h(
    "ul",
    null,
    postings.map(({ account, amount, currency }) => h("li", null, `${account} `, money(amount, currency)))
  )
]
