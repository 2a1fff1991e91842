import { Redacted } from "effect"
import type { Rule } from "../ConfigRules.ts"
import type { ChargeOrder } from "../services/ports/Provider.ts"

// Some providers want every payer's e-mail address, and the gateway need not know one.

/** Reserved for examples, so that an address there reaches no person. */
export const RESERVED_DOMAIN = "example.com"

/** `<PROVIDER>_EMAIL_DOMAIN`: of the addresses that stand for payers who gave none. */
export const emailDomain: Rule<string> = {
  meaning: "a domain such as payers.example.com",
  of: (value) => (/^([a-z0-9-]+\.)+[a-z]{2,}$/.test(value.toLowerCase()) ? value.toLowerCase() : undefined)
}

/**
 * The payer's own address, where the provider takes one so long; else a unique one that says nothing about the payer. Providers judge
 * payers by it: one address for all would be one customer who pays very often.
 */
export const payerEmail = (
  payer: ChargeOrder["payer"],
  { domain, longest, own }: { readonly own: string; readonly domain: string; readonly longest: number }
): string => {
  const said = payer?.email ? Redacted.value(payer.email) : ""
  return said === "" || said.length > longest ? `${own}@${domain}` : said
}
