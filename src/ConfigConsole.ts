import { hostName, httpUrl, isLoopbackHost, type Reader, type Rule, wholeNumber } from "./ConfigRules.ts"
import { type Currency, isCurrency } from "./domain/Currency.ts"
import { type MinorUnits, minor } from "./domain/Money.ts"

const LARGEST_PORT = 65_535

/** From about 500 US dollars, in minor units, a ruling in the console takes two people. */
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

/** Where the operators' console listens, and its address for people. No console where the port is null. */
export const consoleOf = (read: Reader, mistakes: Array<string>, others: ReadonlyArray<number>) => {
  const port = read.optional("CONSOLE_PORT", wholeNumber(0, LARGEST_PORT))
  const host = read("CONSOLE_HOST", "127.0.0.1", hostName)
  /** The console's URL as the browser shows it; null: the listener's own. */
  const url = read.optional("CONSOLE_URL", httpUrl)
  /** Where a trace can be viewed, with `{trace}` in place of its id. */
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

/** A listener on "any address" is open to other machines, although connecting to it reaches this one. */
const isReachable = (host: string): boolean => host === "0.0.0.0" || !isLoopbackHost(host)
