import type { RunItem } from "../../typescript/src/Gateway.ts"
import { stringify, verbatim } from "../../typescript/src/Json.ts"
import { type Csv, csvLine, readCsv } from "./Csv.ts"
import { Refusal } from "./Refusal.ts"

/** The columns, by the names that the members of a payout have. Each is empty where a row does not need it. */
const columns = {
  amount_minor: "what to pay, a whole number of the currency's smallest unit; needed",
  currency: "the currency of your float that pays, such as UGX; needed",
  country: "two capital letters, such as UG; needed",
  method: "momo, bank or wallet; momo where it is empty",
  msisdn: "the mobile-money number with its country's prefix, such as 256772123456; or the one of a wallet",
  network: "the mobile network, such as MTN; for momo",
  name: "the recipient's name; for momo",
  bank_code: "of the bank, from GET /v1/reference/banks/{country}; for bank",
  branch_code: "of the branch, where the corridor wants one; for bank",
  account_number: "for bank",
  account_name: "the account's holder; for bank",
  email: "of the wallet",
  tag: "of the wallet",
  destination_country: "the recipient's country, where it is another one",
  destination_currency: "what is delivered, where that is another currency; then amount_type as well",
  amount_type: "SOURCE or DESTINATION: which of the two the amount is",
  deduct_fee_from_amount: "true takes the fee out of the amount",
  narration: "what the recipient is shown, at most 140 characters"
}
const METADATA = "metadata."
const needed = ["amount_minor", "currency", "country"]

const examples: ReadonlyArray<Readonly<Record<string, string>>> = [
  {
    amount_minor: "10000",
    currency: "UGX",
    country: "UG",
    method: "momo",
    msisdn: "256772123456",
    network: "MTN",
    name: "Jane Doe",
    narration: "Salary of November",
    "metadata.employee": "17"
  },
  {
    amount_minor: "25000",
    currency: "UGX",
    country: "UG",
    method: "bank",
    bank_code: "01",
    account_number: "9030001234567",
    account_name: "John Doe",
    narration: "Salary of November",
    "metadata.employee": "18"
  }
]

/** A file to begin with, and what each of its columns is. */
export const template = (): { readonly file: string; readonly about: ReadonlyArray<string> } => {
  const names = [...Object.keys(columns), `${METADATA}employee`]
  const rows = examples.map((example) => csvLine(names.map((name) => example[name] ?? "")))
  const width = Math.max(...names.map(({ length }) => length))
  const about = Object.entries(columns).map(([name, text]) => `${name.padEnd(width)}  ${text}`)
  return {
    file: [csvLine(names), ...rows].join("").replaceAll("\r\n", "\n").trimEnd(),
    about: [...about, `${`${METADATA}NAME`.padEnd(width)}  a text of your own, which every answer repeats; as many as you like`]
  }
}

/** Something about one row. */
export interface Remark {
  readonly row: number
  readonly message: string
}

export interface PayoutList {
  readonly separator: string
  readonly items: ReadonlyArray<RunItem>
  /** What no payout can be made of. */
  readonly issues: ReadonlyArray<Remark>
  /** What a spreadsheet may have changed: somebody has to look. */
  readonly doubts: ReadonlyArray<Remark>
}

type Cells = Readonly<Record<string, string>>

export const readPayouts = (bytes: Uint8Array): PayoutList => {
  const csv = readCsv(bytes)
  const names = namesOf(csv)
  const rows = csv.records.slice(1)
  if (rows.length === 0) throw new Refusal("the file has no row below its heading")
  const issues: Array<Remark> = []
  const read = rows.flatMap(({ cells, row }) => {
    if (cells.length !== names.length) {
      issues.push({ row, message: `has ${cells.length} cells, and the heading has ${names.length}` })
      return []
    }
    const given = Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]))
    const found = issuesOf(given)
    issues.push(...found.map((message) => ({ row, message })))
    return found.length > 0 ? [] : [{ row, given }]
  })
  return {
    separator: csv.separator,
    items: read.map(({ given, row }) => ({ row, body: verbatim<RunItem["body"]>(stringify(bodyOf(given))) })),
    issues,
    doubts: lostZeros(read)
  }
}

const namesOf = ({ records }: Csv): ReadonlyArray<string> => {
  const names = records[0]?.cells ?? []
  const unknown = names.filter(
    (name) => !Object.hasOwn(columns, name) && !(name.startsWith(METADATA) && name.length > METADATA.length)
  )
  if (unknown.length > 0)
    throw new Refusal(
      `no column is named ${unknown.map((name) => JSON.stringify(name)).join(", ")}: --template shows the columns`
    )
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Refusal(`two columns are named ${twice}`)
  const missing = needed.filter((name) => !names.includes(name))
  if (missing.length > 0) throw new Refusal(`the file has no column ${missing.join(", ")}: --template shows the columns`)
  return names
}

const SCIENTIFIC = /^\d+(?:[.,]\d+)?E[+]?\d+$/i
const AMOUNT = /^[1-9]\d{0,15}$/
/** A prefix and a number are longer; a national number that lost its zero is as short. */
const WHOLE_NUMBER = /^(?:\+|00)?[1-9][\d ()-]{9,}$/
const numbers = ["amount_minor", "msisdn", "account_number", "bank_code", "branch_code"]

const issuesOf = (cells: Cells): ReadonlyArray<string> => {
  const spoiled = numbers.filter((name) => SCIENTIFIC.test(cells[name] ?? ""))
  if (spoiled.length > 0)
    return spoiled.map(
      (name) =>
        `${name} is ${cells[name]}: the spreadsheet has lost its digits; make the column text, type it again and export it`
    )
  const { amount_minor = "", deduct_fee_from_amount: deducts = "", method = "", msisdn = "" } = cells
  return [
    ...needed.filter((name) => cells[name] === "").map((name) => `${name} is empty`),
    ...(amount_minor === "" || AMOUNT.test(amount_minor)
      ? []
      : [
          `amount_minor is ${amount_minor}: give a whole number of the currency's smallest unit, without blanks, dots and commas`
        ]),
    ...(["", "momo", "bank", "wallet"].includes(method) ? [] : [`method is ${method}: give momo, bank or wallet`]),
    ...(["", "true", "false"].includes(deducts.toLowerCase()) ? [] : ["deduct_fee_from_amount is neither true nor false"]),
    ...(msisdn === "" || WHOLE_NUMBER.test(msisdn)
      ? []
      : [`msisdn is ${msisdn}: it lacks its country's prefix, or a spreadsheet has taken its first digits away`])
  ]
}

/** Members that are empty are left out. */
const bodyOf = (cells: Cells): object => {
  const given = (name: string): string | undefined => (cells[name] ? cells[name] : undefined)
  const { amount_minor = "", country = "", method = "" } = cells
  const type = method === "" ? "momo" : method
  const own = Object.entries(cells).filter(([name, text]) => name.startsWith(METADATA) && text !== "")
  const party = ["msisdn", "network", "name", "bank_code", "branch_code", "account_number", "account_name", "email", "tag"]
  return {
    amount_minor: BigInt(amount_minor),
    currency: given("currency"),
    destination_currency: given("destination_currency"),
    country,
    method: type,
    amount_type: given("amount_type"),
    deduct_fee_from_amount: cells["deduct_fee_from_amount"]?.toLowerCase() === "true" ? true : undefined,
    destination: {
      type,
      country: given("destination_country") ?? country,
      ...Object.fromEntries(party.map((name) => [name, given(name)]))
    },
    narration: given("narration"),
    metadata: own.length === 0 ? undefined : Object.fromEntries(own.map(([name, text]) => [name.slice(METADATA.length), text]))
  }
}

const ONE_DIGIT = /^\d$/
const DIGITS = /^\d+$/

/** A zero that a spreadsheet took away leaves a number that looks whole. The other rows of the bank give it away. */
const lostZeros = (rows: ReadonlyArray<{ readonly row: number; readonly given: Cells }>): ReadonlyArray<Remark> => {
  const longest = new Map<string, number>()
  for (const { given } of rows) {
    const { account_number = "", bank_code = "" } = given
    if (account_number.startsWith("0")) longest.set(bank_code, Math.max(longest.get(bank_code) ?? 0, account_number.length))
  }
  return rows.flatMap(({ given, row }) => {
    const { account_number = "", bank_code = "" } = given
    const expected = longest.get(bank_code) ?? 0
    const isShort = DIGITS.test(account_number) && !account_number.startsWith("0") && account_number.length < expected
    return [
      ...(ONE_DIGIT.test(bank_code)
        ? [{ row, message: `bank_code is ${bank_code}: did a spreadsheet take a zero before it away?` }]
        : []),
      ...(isShort
        ? [
            {
              row,
              message: `account_number has ${account_number.length} digits, and others of this bank have ${expected} and begin with 0: did a spreadsheet take a zero away?`
            }
          ]
        : [])
    ]
  })
}
