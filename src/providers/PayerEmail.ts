import { Redacted } from "effect"
import type { Rule } from "../ConfigRules.ts"
import type { ChargeOrder } from "../services/ports/Provider.ts"

// Some providers require an e-mail address for every payer, which the gateway may not have.

/** Reserved for examples, so that mail to it reaches no person. */
export const RESERVED_DOMAIN = "example.com"

/** `<PROVIDER>_EMAIL_DOMAIN`: the domain of generated addresses, for payers without one. */
export const emailDomain: Rule<string> = {
  meaning: "a domain such as payers.example.com",
  of: (value) => (/^([a-z0-9-]+\.)+[a-z]{2,}$/.test(value.toLowerCase()) ? value.toLowerCase() : undefined)
}

/**
 * The payer's address, if the provider accepts one of its length; otherwise a unique generated one that reveals nothing about
 * the payer. Providers score payers by it: a shared address would look like one customer who pays very often.
 */
export const payerEmail = (
  payer: ChargeOrder["payer"],
  { domain, longest, own }: { readonly own: string; readonly domain: string; readonly longest: number }
): string => {
  const said = payer?.email ? Redacted.value(payer.email) : ""
  return said === "" || said.length > longest ? `${own}@${domain}` : said
}
