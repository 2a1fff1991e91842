import { createHmac } from "node:crypto"
import { iso } from "../../../src/domain/Instant.ts"
import type { RawCallback } from "../../../src/services/ports/Provider.ts"
import type { SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import type { Random } from "../../../test/support/Random.ts"
import type { Asked, HostileLine, Spoken } from "../HostileLine.ts"
import { DAY } from "./Plan.ts"

// What payers, banks and merchants take back of charges weeks later, and how their provider lists it. The words are those of the providers'
// documents, and nothing here is read by the program.

/** `taken`: the money is gone. `kept`: it is not, and never will be by this. */
export type Standing = "open" | "taken" | "kept"
/** What a list shows: a standing, or a word that no document has. */
export type Shown = Standing | "strange"

/** From these days on. */
interface Course {
  readonly name: string
  readonly by: "dispute" | "refund"
  readonly is: ReadonlyArray<readonly [day: number, Standing]>
  /** The same where the list is late, or says it in words that nobody knows. */
  readonly shows: ReadonlyArray<readonly [day: number, Shown]>
  /** How often the list has its row. */
  readonly rows: 1 | 2
  /** Of how many parts of the charge it is one. */
  readonly share: 1n | 3n
}

const course = (
  name: string,
  by: Course["by"],
  is: Course["is"],
  { shows = is, ...rest }: Partial<Pick<Course, "shows" | "rows" | "share">> = {}
): Course => ({ name, by, is, rows: 1, share: 1n, ...rest, shows })

const [BEGUN, DECIDED, REOPENED] = [8, 20, 30]

/** Played in this order by the charges that succeeded. The last is nothing at all. */
export const courses: ReadonlyArray<Course | null> = [
  course(
    "a dispute that is lost, in two rows",
    "dispute",
    [
      [BEGUN, "open"],
      [DECIDED, "taken"]
    ],
    { rows: 2 }
  ),
  course(
    "a dispute under an unknown word, then lost",
    "dispute",
    [
      [BEGUN, "open"],
      [DECIDED, "taken"]
    ],
    {
      shows: [
        [BEGUN, "strange"],
        [DECIDED, "taken"]
      ]
    }
  ),
  course(
    "a refund of a part",
    "refund",
    [
      [BEGUN, "open"],
      [DECIDED, "taken"]
    ],
    { share: 3n }
  ),
  course("a dispute that is lost, and won after all", "dispute", [
    [BEGUN, "open"],
    [DECIDED, "taken"],
    [REOPENED, "kept"]
  ]),
  course("a dispute that is won", "dispute", [
    [BEGUN, "open"],
    [DECIDED, "kept"]
  ]),
  course("a refund that the list shows days later", "refund", [[BEGUN, "taken"]], { shows: [[BEGUN + 6, "taken"]] }),
  course("a refund that failed", "refund", [[BEGUN, "kept"]], { rows: 2 }),
  null
]

/** Where an account has no list, its charges alone show that they were undone. */
export const undone: ReadonlyArray<Course | null> = [course("undone", "refund", [[BEGUN, "taken"]]), null]

/** What becomes of one charge. */
export interface Claim {
  readonly course: Course
  readonly charge: SimulatedTransaction
  /** Of the charge, in minor units. */
  readonly amount: bigint
}

const last = <A>(steps: ReadonlyArray<readonly [number, A]>, ageMs: number): A | null =>
  steps.findLast(([day]) => day * DAY <= ageMs)?.[1] ?? null

export const isNow = ({ course }: Claim, ageMs: number): Standing | null => last(course.is, ageMs)
export const isShown = ({ course }: Claim, ageMs: number): Shown | null => last(course.shows, ageMs)

/** A row of a list, and what the list has for each. */
interface List {
  readonly by: Course["by"]
  readonly path: RegExp
  readonly pageSize: number
  readonly row: (claim: Row) => object
}

interface Row {
  readonly id: number
  readonly charge: SimulatedTransaction
  readonly amount: bigint
  readonly shown: Shown
}

const hundredths = ({ amount, charge: { currency } }: Row) => Number(wholeCurrencies.has(currency) ? amount * 100n : amount)
const major = ({ amount, charge: { currency } }: Row) => (wholeCurrencies.has(currency) ? Number(amount) : Number(amount) / 100)
const wholeCurrencies: ReadonlySet<string> = new Set(["UGX", "XOF", "XAF", "RWF"])

const lists: Readonly<Record<string, ReadonlyArray<List>>> = {
  paystack: [
    {
      by: "dispute",
      path: /\/dispute$/,
      pageSize: 100,
      row: (row) => ({
        id: row.id,
        refund_amount: hundredths(row),
        currency: row.charge.currency,
        ...{
          open: { status: "awaiting-merchant-feedback", resolution: null },
          taken: { status: "resolved", resolution: "merchant-accepted" },
          kept: { status: "resolved", resolution: "declined" },
          strange: { status: "escalated-to-scheme", resolution: null }
        }[row.shown],
        transaction: { id: Number(row.charge.id), reference: row.charge.detail.reference ?? null, status: "success" },
        transaction_reference: null,
        category: "chargeback",
        dueAt: null
      })
    },
    {
      by: "refund",
      path: /\/refund$/,
      pageSize: 100,
      row: (row) => ({
        id: row.id,
        transaction: Number(row.charge.id),
        amount: String(hundredths(row)),
        currency: row.charge.currency,
        status: { open: "processing", taken: "processed", kept: "failed", strange: "in-arbitration" }[row.shown]
      })
    }
  ],
  flutterwave: [
    {
      by: "dispute",
      path: /\/chargebacks$/,
      pageSize: 20,
      row: (row) => ({
        id: row.id,
        amount: major(row),
        flw_ref: `FLW${row.charge.id}`,
        transaction_id: Number(row.charge.id),
        tx_ref: row.charge.reference,
        status: { open: "initiated", taken: "lost", kept: "won", strange: "pre-arbitration" }[row.shown],
        stage: "chargeback"
      })
    },
    {
      by: "refund",
      path: /\/refunds$/,
      pageSize: 20,
      // "completed" says that it was begun.
      row: (row) => ({
        id: row.id,
        tx_id: Number(row.charge.id),
        amount_refunded: major(row),
        status: row.shown === "strange" ? "in-arbitration" : "completed",
        meta: { disburse_status: { open: "", taken: "successful", kept: "failed", strange: "" }[row.shown] }
      })
    }
  ]
}

export const hasLists = (provider: string): boolean => provider in lists

/** More than a page of them is about charges that the gateway knows nothing of. */
const FOREIGN_BEYOND_A_PAGE = 3

/** The provider's lists of what is taken back, in place of its simulator's own. */
export const listing = (
  provider: string,
  claims: ReadonlyArray<Claim>,
  ageMs: number,
  isLong: boolean
): ((asked: Asked) => ((spoken: Spoken) => Spoken) | null) => {
  const rowsOf = ({ by, pageSize }: List) => {
    const own = claims.flatMap((claim, number): ReadonlyArray<Row> => {
      const shown = isShown(claim, ageMs)
      if (shown === null || claim.course.by !== by) return []
      const row = { id: 9_000 + number, charge: claim.charge, amount: claim.amount / claim.course.share, shown }
      return Array.from({ length: claim.course.rows }, () => row)
    })
    const [first] = own
    if (first === undefined) return []
    const foreign = Array.from({ length: isLong ? pageSize + FOREIGN_BEYOND_A_PAGE - own.length : 0 }, (_, number): Row => {
      const id = String(7_700_000_000 + number)
      return { ...first, id: 5_000 + number, charge: { ...first.charge, id, reference: `not ours ${number}`, detail: {} } }
    })
    // The newest first: where pages shift, the oldest are lost.
    return [...foreign, ...own]
  }
  return ({ path }) => {
    const { pathname, searchParams } = new URL(path, "http://provider")
    const list = lists[provider]?.find((one) => one.path.test(pathname))
    if (list === undefined) return null
    const all = rowsOf(list)
    const page = Number(searchParams.get("page") ?? 1)
    const data = all.slice((page - 1) * list.pageSize, page * list.pageSize).map(list.row)
    const total_pages = Math.max(1, Math.ceil(all.length / list.pageSize))
    const meta = { page_info: { total: all.length, current_page: page, total_pages } }
    return (spoken) => ({
      ...spoken,
      body: Buffer.from(JSON.stringify({ ...JSON.parse(spoken.body.toString("utf8")), data, meta }))
    })
  }
}

/** The twist of a line on which the lists are such, and then changed once more. */
export const listed =
  (desk: ReturnType<typeof listing>, then: HostileLine["twist"]): HostileLine["twist"] =>
  (asked) => {
    const [own, further] = [desk(asked), then?.(asked)?.change]
    return { change: (spoken) => (further ?? same)(own === null ? spoken : own(spoken)) }
  }

const same = (spoken: Spoken): Spoken => spoken

/** How a provider calls back about disputes: which of its events says what. */
interface Telling {
  readonly events: ReadonlyArray<readonly [event: string, says: Shown]>
  readonly signed: (body: string) => RawCallback["headers"]
}

const tellings: Readonly<Record<string, Telling>> = {
  paystack: {
    events: [
      ["charge.dispute.create", "open"],
      ["charge.dispute.remind", "open"],
      ["charge.dispute.resolve", "taken"],
      ["charge.dispute.resolve", "kept"]
    ],
    signed: (body) => ({ "x-paystack-signature": createHmac("sha512", "sk_live_simulated").update(body).digest("hex") })
  }
}

/** Every event of each dispute that was begun, authentic, twice and in no order: one of them contradicts what the provider's list says. */
export const disputesTold = (
  provider: string,
  claims: ReadonlyArray<Claim>,
  ageMs: number,
  random: Random
): ReadonlyArray<RawCallback> => {
  const [list, telling] = [lists[provider]?.find(({ by }) => by === "dispute"), tellings[provider]]
  if (list === undefined || telling === undefined) return []
  const all: Array<RawCallback> = []
  for (const [number, { amount, charge, course }] of claims.entries()) {
    if (course.by !== "dispute" || ageMs < BEGUN * DAY) continue
    for (const [event, says] of [...telling.events, ...telling.events]) {
      const row = list.row({ id: 9_000 + number, charge, amount: amount / course.share, shown: says })
      const body = JSON.stringify({ event, data: { ...row, updatedAt: iso(ageMs) } })
      const callback = { method: "POST", path: "/", headers: telling.signed(body), body: Buffer.from(body) }
      all.splice(random.below(all.length + 1), 0, callback)
    }
  }
  return all
}
