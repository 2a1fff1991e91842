import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import { isReference, type Mode } from "../../domain/Ids.ts"
import type { Posting } from "../../domain/Ledger.ts"
import { may } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { isOfFile, ReviewFiles } from "../../services/approvals/ReviewFiles.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { type JudgedFile, type LeftRow, type RulableRow, RulingFiles, shortOf } from "../../services/settlement/RulingFiles.ts"
import { badge, code, hidden, link, money, section, table, transactionLink, warning, words } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { proposalTable } from "../ProposalTable.ts"
import { amountCurrencyOf } from "../RecordText.ts"
import { type Answer, acting, missing, page, redirect, type Visit } from "../Route.ts"

/** Together with the line and the file, this is the evidence of each ruling. */
const LONGEST_EVIDENCE = 400

/** Many rulings from one evidence file: the preview, the proposal, and the result of each row. */
export const makeRulingFiles = Effect.gen(function* () {
  const files = yield* RulingFiles
  const approvals = yield* ReviewFiles
  const proposals = yield* Proposals

  /** Shows the effect of the file; writes nothing. */
  const look = Effect.fn("RulingFilePages.look")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const text = visit.form.get("file") ?? ""
    return yield* shown(visit, text, null)
  })

  const shown = Effect.fnUntraced(function* (visit: Visit, text: string, problem: string | null): Effect.fn.Return<Answer> {
    const judged = yield* files.judge(text)
    if (typeof judged === "string") return refused(judged)
    return page(
      "What the file would book",
      [
        warning(problem),
        h("p", null, "Nothing is booked yet. The file is ", code(shortOf(judged.digest)), " in the audit log."),
        ...judgedSections(judged, "Would be booked", "Would not be ruled"),
        judged.ready.length === 0 ? null : proposeForm(visit, text, judged.ready)
      ],
      { status: problem === null ? 200 : 422 }
    )
  })

  const propose = Effect.fn("RulingFilePages.propose")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const text = Buffer.from(visit.form.get("base64") ?? "", "base64").toString("utf8")
    const evidence = (visit.form.get("evidence") ?? "").trim()
    if (evidence === "" || evidence.length > LONGEST_EVIDENCE)
      return yield* shown(visit, text, `Say how that is known, in at most ${LONGEST_EVIDENCE} characters.`)
    return yield* approvals.propose({ text, evidence, seen: seenIn(visit.form) }, acting(visit)).pipe(
      Effect.map((id): Answer => redirect(`/unknown/files/${id}`, "proposed")),
      Effect.catchTag("NotDecided", ({ message }) => shown(visit, text, message))
    )
  })

  const show = Effect.fn("RulingFilePages.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const id = visit.params["id"] ?? ""
    const found = isReference(id) ? yield* proposals.find(id) : Option.none<Proposal>()
    if (Option.isNone(found) || !isOfFile(found.value)) return noFile
    const standing = yield* approvals.standing(found.value)
    const isOver = found.value.status !== "open" && found.value.status !== "approved"
    const rest = isOver ? "Was not ruled" : "Would not be ruled"
    return page(`The file ${shortOf(found.value.details["file"] ?? "")}`, [
      section("Its approval", proposalTable(visit, [found.value])),
      ...judgedSections(standing, isOver ? "In review, and not ruled by it" : "Would be booked", rest)
    ])
  })

  return {
    place: null,
    routes: [
      { method: "POST", path: "/unknown/files", permission: "resolve", answer: look },
      { method: "POST", path: "/unknown/files/propose", permission: "resolve", answer: propose },
      { method: "GET", path: "/unknown/files/:id", permission: "look", answer: show }
    ]
  } satisfies Room
})

const refused = (why: string): Answer =>
  page("That is no file of evidence", [warning(`${why}.`), h("p", null, link("/unknown", "Unknown outcomes"))], { status: 422 })

const noFile = missing("file", "/proposals", "All approvals")

/** Shows every row of a file, which has at most `ROWS_AT_MOST`: so the approver has seen everything. */
export const judgedSections = (
  { left, ready }: Pick<JudgedFile, "ready" | "left">,
  readyTitle: string,
  leftTitle: string
): ReadonlyArray<ComponentChild> => {
  const done = left.filter(({ isDone }) => isDone)
  const rest = left.filter(({ isDone }) => !isDone)
  return [
    ready.length === 0 ? null : section(`${readyTitle}: ${ready.length}`, sumsOf(ready), readyTable(ready)),
    done.length === 0 ? null : section(`Ruled so already: ${done.length}`, leftTable(done)),
    rest.length === 0 ? null : section(`${leftTitle}: ${rest.length}`, leftTable(rest))
  ]
}

const captionOf = (count: number): string => (count === 1 ? "The only one" : `All ${count}, by line`)

const readyTable = (rows: ReadonlyArray<RulableRow>): ComponentChild =>
  table(
    captionOf(rows.length),
    ["Line", "Reference", "Tenant", "Kind", "Outcome", "Amount", "Posts"],
    rows.map(({ line, outcome, postings, record, reference }) => [
      String(line),
      transactionLink(reference),
      record.appId,
      `${record.kind}, ${record.mode}`,
      badge(outcome, outcome === "successful" ? "good" : "quiet"),
      money(record.amount, amountCurrencyOf(record)),
      postings.length === 0
        ? "nothing"
        : postings.map((posting) => h("div", null, `${posting.account} `, money(posting.amount, posting.currency)))
    ])
  )

const leftTable = (rows: ReadonlyArray<LeftRow>): ComponentChild =>
  table(
    captionOf(rows.length),
    ["Line", "Reference", "Why"],
    rows.map(({ line, reference, why }) => [
      String(line),
      isReference(reference) ? transactionLink(reference) : code(reference),
      why
    ])
  )

interface Sum extends Posting {
  readonly tenant: string
  readonly mode: Mode
}

/** The sums of all rows for each float, that is for each tenant, mode and currency; test money must not be added to live money. */
const sumsOf = (rows: ReadonlyArray<RulableRow>): ComponentChild => {
  const sums = new Map<string, Sum>()
  for (const { postings, record } of rows)
    for (const posting of postings) {
      const name = [record.appId, record.mode, posting.account, posting.currency].join(" ")
      const before = sums.get(name)?.amount ?? 0n
      sums.set(name, { ...posting, tenant: record.appId, mode: record.mode, amount: before + posting.amount })
    }
  return table(
    "All of it together",
    ["Tenant", "Mode", "Account", "Posts"],
    [...sums.values()].map(({ account, amount, currency, mode, tenant }) => [tenant, mode, account, money(amount, currency)]),
    "It posts nothing."
  )
}

/** The revisions that the person looked at, as "REFERENCE:REVISION"; `proposeForm` writes them. */
const seenIn = (form: URLSearchParams): ReadonlyMap<string, bigint> =>
  new Map(
    [...(form.get("seen") ?? "").matchAll(/(\w{26}):(\d{1,18})/g)].map(([, reference = "", at = ""]) => [reference, BigInt(at)])
  )

const proposeForm = (visit: Visit, text: string, ready: ReadonlyArray<RulableRow>): ComponentChild =>
  may(visit.visitor.role, "resolve")
    ? section(
        "Propose it",
        h(
          "p",
          { class: "soft" },
          "Many rulings take two people, whatever their amounts: another one has to approve what you propose."
        ),
        h(
          "form",
          { method: "post", action: "/unknown/files/propose", enctype: "multipart/form-data", class: "stacked" },
          hidden("form_token", visit.visitor.formToken),
          hidden("seen", ready.map(({ reference, seen }) => `${reference}:${seen}`).join(" ")),
          // Encoded, because a browser would change the line ends.
          hidden("base64", Buffer.from(text, "utf8").toString("base64")),
          words({
            name: "evidence",
            label: "How that is known",
            hint: "For the history and the audit log of each, such as the provider's letter or statement. The line and the file are added.",
            maxLength: LONGEST_EVIDENCE
          }),
          h("button", { type: "submit", class: "strong" }, "Propose")
        )
      )
    : null
