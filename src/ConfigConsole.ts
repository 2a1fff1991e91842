import { hostName, httpUrl, isLoopbackHost, type Reader, type Rule, wholeNumber } from "./ConfigRules.ts"

const LARGEST_PORT = 65_535

/** Where the operators' console is, and where people find it. A port that is null: there is none. */
export const consoleOf = (read: Reader, mistakes: Array<string>, others: ReadonlyArray<number>) => {
  const port = read.optional("CONSOLE_PORT", wholeNumber(0, LARGEST_PORT))
  const host = read("CONSOLE_HOST", "127.0.0.1", hostName)
  /** As it stands in the browser; null: the listener's own. */
  const url = read.optional("CONSOLE_URL", httpUrl)
  /** Where a trace can be seen, with `{trace}` for its id. */
  const traceUrl = read.optional("CONSOLE_TRACE_URL", traceAddress)
  if (port !== null && port !== 0 && others.includes(port))
    mistakes.push("CONSOLE_PORT must differ from PORT and MANAGEMENT_PORT")
  // Whoever logs in there sends a token.
  if (port !== null && isReachable(host) && url?.startsWith("https:") !== true)
    mistakes.push(
      "CONSOLE_HOST lets other machines in: set CONSOLE_URL to the https address at which a proxy serves the console, or leave CONSOLE_HOST at loopback"
    )
  return { host, port, url, traceUrl }
}

const traceAddress: Rule<string> = {
  meaning: "an http or https address with {trace} for the trace's id",
  of: (value) => (value.includes("{trace}") ? httpUrl.of(value) : undefined)
}

/** A listener on "any address" is one for other machines, although connecting to it leads to this one. */
const isReachable = (host: string): boolean => host === "0.0.0.0" || !isLoopbackHost(host)
