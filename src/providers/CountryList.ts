import type { Rule } from "../ConfigRules.ts"

interface Wanted<C> {
  /** The exact set of countries that must be given. */
  readonly exactly?: ReadonlyArray<C>
  /** Whether a value is valid for a country. */
  readonly fits?: (country: C, value: string) => boolean
}

/** Parses a setting with one value per country, such as `UG:one,GH:another`. */
export const byCountry = <C extends string, A>(
  rule: Rule<A>,
  countries: ReadonlyArray<C>,
  { exactly = [], fits = () => true }: Wanted<C> = {}
): Rule<ReadonlyMap<C, A>> => {
  const example = countries.slice(0, 2).map((country) => `${country}:value`)
  const which = exactly.length === 0 ? `, of the countries ${countries.join(", ")}` : ` with exactly ${exactly.join(", ")}`
  return {
    ...rule,
    meaning: `a comma list such as ${example.join(",")}${which}, each ${rule.meaning}`,
    of: (value) => {
      const read = new Map<C, A>()
      const items = value.split(",")
      for (const item of items) {
        const at = item.indexOf(":")
        const named = item.slice(0, Math.max(at, 0)).trim()
        const country = countries.find((one) => one === named)
        const own = item.slice(at + 1).trim()
        const one = own === "" ? undefined : rule.of(own)
        if (country !== undefined && one !== undefined && fits(country, own)) read.set(country, one)
      }
      const isWhole = read.size === items.length && (exactly.length === 0 || exactly.length === read.size)
      return isWhole && exactly.every((country) => read.has(country)) ? read : undefined
    }
  }
}
