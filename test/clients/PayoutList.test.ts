import { describe, expect, it } from "vitest"
import { csvLine, readCsv } from "../../clients/cli/src/Csv.ts"
import { readPayouts, template } from "../../clients/cli/src/PayoutList.ts"
import { stringify } from "../../clients/typescript/src/Json.ts"

const bytes = (text: string): Uint8Array => Buffer.from(text)
const cellsOf = (text: string) => readCsv(bytes(text)).records.map(({ cells, row }) => [row, ...cells])
const refusal = (read: () => unknown): string => {
  try {
    read()
    return ""
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe("a list of payouts as CSV", () => {
  it("is read by RFC 4180: quotes, doubled quotes, ends of lines within a cell, a byte order mark, and no last end of line", () => {
    expect(cellsOf('\ufeffa,b,c\r\n"x, y","say ""hi""","two\r\nlines"\r\n\r\n1,,')).toEqual([
      [1, "a", "b", "c"],
      [2, "x, y", 'say "hi"', "two\r\nlines"],
      [4, "1", "", ""]
    ])
  })

  it("is read with semicolons and tabs, as spreadsheets write where the comma is the decimal point", () => {
    expect(cellsOf('a;b\n"1,5";2\n')).toEqual([
      [1, "a", "b"],
      [2, "1,5", "2"]
    ])
    expect(readCsv(bytes("a\tb\n1\t2\n")).separator).toBe("\t")
  })

  it("is refused where it can be read in two ways, and where it is not UTF-8", () => {
    expect(refusal(() => cellsOf('a,b\n"1,2\n'))).toBe("row 2: a cell begins with a quote and never ends")
    expect(refusal(() => cellsOf('a,b\n1"2,3\n'))).toMatch(/^row 2: a cell with a quote in it stands in quotes/)
    expect(refusal(() => cellsOf('a,b\n"1"2,3\n'))).toMatch(/^row 2: after the quotes of a cell/)
    expect(refusal(() => readCsv(Buffer.from([0x61, 0xe9, 0x0a])))).toBe("the file is not UTF-8: export it as CSV UTF-8")
  })

  it("has columns of known names, each once, and those that every payout needs", () => {
    const heading = (text: string) => refusal(() => readPayouts(bytes(`${text}\n1\n`)))
    expect(heading("amount,currency,country")).toMatch(/^no column is named "amount"/)
    expect(heading("amount_minor,currency,country,currency")).toBe("two columns are named currency")
    expect(heading("amount_minor,msisdn")).toMatch(/^the file has no column currency, country/)
    expect(refusal(() => readPayouts(bytes("amount_minor,currency,country\n")))).toBe("the file has no row below its heading")
  })

  it("names by its row what a spreadsheet has spoiled: digits, blanks, commas, prefixes and zeros", () => {
    const { doubts, issues, items } = readPayouts(
      bytes(
        [
          "amount_minor,currency,country,method,msisdn,network,bank_code,account_number,account_name",
          "1000,UGX,UG,,2.56772E+11,MTN,,,",
          '"1,000",UGX,UG,,256772123456,MTN,,,',
          "1000,UGX,UG,,772123456,MTN,,,",
          "1000,UGX,UG,cash,,,,,",
          "1000,UGX,UG",
          "1000,UGX,UG,bank,,,01,0123456789,Jane Doe",
          "1000,UGX,UG,bank,,,01,123456780,John Doe",
          "1000,UGX,UG,bank,,,1,55,John Doe"
        ].join("\n")
      )
    )
    expect(issues.map(({ message, row }) => `${row} ${message}`)).toEqual([
      "2 msisdn is 2.56772E+11: the spreadsheet has lost its digits; make the column text, type it again and export it",
      "3 amount_minor is 1,000: give a whole number of the currency's smallest unit, without blanks, dots and commas",
      "4 msisdn is 772123456: it lacks its country's prefix, or a spreadsheet has taken its first digits away",
      "5 method is cash: give momo, bank or wallet",
      "6 has 3 cells, and the heading has 9"
    ])
    expect(doubts.map(({ row }) => row)).toEqual([8, 9])
    expect(items.map(({ row }) => row)).toEqual([7, 8, 9])
  })

  it("becomes the bodies of payouts, as its template does", () => {
    const { issues, items } = readPayouts(bytes(template().file))
    expect([issues, items.map(({ body, row }) => [row, JSON.parse(stringify(body))])]).toEqual([
      [],
      [
        [
          2,
          {
            amount_minor: 10_000,
            currency: "UGX",
            country: "UG",
            method: "momo",
            destination: { type: "momo", country: "UG", msisdn: "256772123456", network: "MTN", name: "Jane Doe" },
            narration: "Salary of November",
            metadata: { employee: "17" }
          }
        ],
        [
          3,
          {
            amount_minor: 25_000,
            currency: "UGX",
            country: "UG",
            method: "bank",
            destination: {
              type: "bank",
              country: "UG",
              bank_code: "01",
              account_number: "9030001234567",
              account_name: "John Doe"
            },
            narration: "Salary of November",
            metadata: { employee: "18" }
          }
        ]
      ]
    ])
  })

  it("is written so that no cell is a formula", () => {
    expect(csvLine(["=1+1", 'a"b', "x,y", "plain"])).toBe('\'=1+1,"a""b","x,y",plain\r\n')
  })
})
