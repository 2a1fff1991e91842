import { hostName, httpUrl, isLoopbackHost, type Reader, type Rule, wholeNumber } from "./ConfigRules.ts"
import { type Currency, isCurrency } from "./domain/Currency.ts"
import { type MinorUnits, minor } from "./domain/Money.ts"

const LARGEST_PORT = 65_535

/** From about 500 US dollars on, in minor units, a ruling of the console takes two people. */
const approvalFromDefault: Readonly<Record<Currency, MinorUnits>> = {
  UGX: minor(1_900_000n),
  RWF: minor(700_000n),
  XAF: minor(300_000n),
  XOF: minor(300_000n),
  KES: minor(6_500_000n),
  GHS: minor(600_000n),
  NGN: minor(75_000_000n),
  TZS: minor(130_000_000n),
  ZMW: minor(1_300_000n),
  USD: minor(50_000n),
  EUR: minor(45_000n),
  GBP: minor(40_000n)
}

const amountsRule: Rule<Partial<Record<Currency, MinorUnits>>> = {
  meaning: "a comma list of currencies and minor units such as UGX:1000000,KES:500000",
  of: (value) => {
    const items = value === "" ? [] : value.split(",").map((item) => /^\s*([A-Z]{3}):(\d{1,15})\s*$/.exec(item))
    const amounts: Partial<Record<Currency, MinorUnits>> = {}
    for (const item of items) {
      const [, currency, units = "0"] = item ?? []
      if (!isCurrency(currency)) return undefined
      amounts[currency] = minor(BigInt(units))
    }
    return amounts
  }
}

/** Where the operators' console is, and where people find it. A port that is null: there is none. */
export const consoleOf = (read: Reader, mistakes: Array<string>, others: ReadonlyArray<number>) => {
  const port = read.optional("CONSOLE_PORT", wholeNumber(0, LARGEST_PORT))
  const host = read("CONSOLE_HOST", "127.0.0.1", hostName)
  /** As it stands in the browser; null: the listener's own. */
  const url = read.optional("CONSOLE_URL", httpUrl)
  /** Where a trace can be seen, with `{trace}` for its id. */
  const traceUrl = read.optional("CONSOLE_TRACE_URL", traceAddress)
  const approvalFrom = { ...approvalFromDefault, ...read("CONSOLE_APPROVAL_FROM", "", amountsRule) }
  if (port !== null && port !== 0 && others.includes(port))
    mistakes.push("CONSOLE_PORT must differ from PORT and MANAGEMENT_PORT")
  // A person who signs in there sends a token.
  if (port !== null && isReachable(host) && url?.startsWith("https:") !== true)
    mistakes.push(
      "CONSOLE_HOST lets other machines in: set CONSOLE_URL to the https address at which a proxy serves the console, or leave CONSOLE_HOST at loopback"
    )
  return { host, port, url, traceUrl, approvalFrom }
}

const traceAddress: Rule<string> = {
  meaning: "an http or https address with {trace} for the trace's id",
  of: (value) => (value.includes("{trace}") ? httpUrl.of(value) : undefined)
}

/** A listener on "any address" is one for other machines, although connecting to it leads to this one. */
const isReachable = (host: string): boolean => host === "0.0.0.0" || !isLoopbackHost(host)
