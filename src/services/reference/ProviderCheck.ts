import { Effect, Redacted } from "effect"
import { type Corridor, corridorKeyOf } from "../../domain/Corridor.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import { type Mode, Mode as Modes } from "../../domain/Ids.ts"
import { LARGEST_AMOUNT, type MinorUnits, minor, toDecimal } from "../../domain/Money.ts"
import { withCallCount } from "../../runtime/CapturedCall.ts"
import type { Provider } from "../ports/Provider.ts"
import type { ProviderRegistry } from "../ports/ProviderRegistry.ts"

/**
 * The result of one check. `differs`: the account does not match the corridor rows. `unanswered`: the provider refused the read
 * or cannot be reached. `to_confirm`: an assumption of the program that only the provider can confirm. `not_tried`: no call was
 * made, because the program has its own table, the provider has no such read, or money would move.
 */
type CheckResult = "ok" | "differs" | "unanswered" | "to_confirm" | "not_tried"

export interface ProviderCheckRow {
  readonly mode: Mode
  readonly account: "current" | "previous"
  readonly check: "wallets" | "countries" | "banks" | "networks" | "prices" | "callbacks" | "promises" | "payments"
  /** The corridor, country or currency; empty when the check is about the account. */
  readonly subject: string
  readonly result: CheckResult
  readonly detail: string
}

type Found = Pick<ProviderCheckRow, "check" | "subject" | "result" | "detail">

/** Used when a row has no minimum: an amount that most corridors accept. */
const SAMPLE_MAJOR = 100n

/**
 * Makes all free reads with every configured account of a provider, and reports where the account differs from the active
 * corridor rows that lead to it (contract REF-1 to REF-8 for the reads). Nothing is charged, sent or exchanged.
 */
export const checkProvider = Effect.fn("ProviderCheck")(function* (
  registry: ProviderRegistry["Service"],
  rows: ReadonlyArray<Corridor>,
  name: string
) {
  const led = rows.filter((row) => row.active && row.providers.includes(name))
  const checked = yield* Effect.forEach(Modes.literals, (mode) =>
    Effect.forEach(registry.accounts(name, mode), (provider, index) =>
      Effect.map(checkAccount(provider, led, registry.routeKey(name, mode)), (found) =>
        found.map((one): ProviderCheckRow => ({ mode, account: index === 0 ? "current" : "previous", ...one }))
      )
    )
  )
  return checked.flat(2)
})

const checkAccount = Effect.fnUntraced(function* (provider: Provider, led: ReadonlyArray<Corridor>, routeKey: string) {
  const own = led.filter(({ currency }) => provider.fingerprints(currency).length > 0)
  const served = own.filter(({ direction }) => (direction === "payout" ? provider.payouts : provider.collections) !== undefined)
  const unserved = led
    .filter((row) => !served.includes(row))
    .map(
      (row): Found => differs("networks", nameOf(row), "the corridor leads to it, and the account that is set does not serve it")
    )
  return [
    ...unserved,
    ...(yield* walletsOf(provider, served)),
    ...(yield* countriesOf(provider, served)),
    ...(yield* banksOf(provider, served)),
    ...numbersOf(provider, served),
    ...networksOf(provider, served),
    ...(yield* pricesOf(provider, served)),
    callbacksOf(provider, routeKey),
    ...(yield* confirmationsOf(provider)),
    promisesOf(provider),
    notTried("payments", "", "nothing was charged, sent, exchanged or refunded: pay and charge numbers of your own")
  ]
})

/** The wallets that pay payouts must exist; their balances are shown but not judged. */
const walletsOf = Effect.fnUntraced(function* ({ reference }: Provider, served: ReadonlyArray<Corridor>) {
  if (reference?.balances === undefined) return [notTried("wallets", "", TELLS_NONE)]
  const { answer: wallets, why } = yield* read(reference.balances)
  if (wallets === undefined)
    return [unanswered("wallets", "", `the balance cannot be read (${why}): look at the credentials and the address`)]
  const shown = wallets.map(
    ({ available, currency }): Found => ok("wallets", currency, `${toDecimal(available, currency)} ${currency} available`)
  )
  const needed = new Set(served.filter(({ direction }) => direction === "payout").map(({ currency }) => currency))
  const missing = [...needed].filter((currency) => !wallets.some((one) => one.currency === currency))
  return [
    ...shown,
    ...missing.map((currency) => differs("wallets", currency, "payouts are paid in it, and the account has no such wallet"))
  ]
})

const countriesOf = Effect.fnUntraced(function* ({ reference }: Provider, served: ReadonlyArray<Corridor>) {
  if (reference?.countries === undefined) return [notTried("countries", "", TELLS_NONE)]
  const { answer: payable, calls, why } = yield* read(reference.countries)
  if (payable === undefined) return [unanswered("countries", "", `the countries that can be paid cannot be read (${why})`)]
  return served
    .filter(({ direction, method }) => direction === "payout" && method !== "card")
    .map((row): Found => {
      const country = payable.find((one) => one.country === row.country)
      const isThere = country?.methods.some((method) => method === row.method) === true
      if (isThere) return calls > 0 ? ok("countries", nameOf(row), "can be paid") : notTried("countries", nameOf(row), OWN_TABLE)
      return differs(
        "countries",
        nameOf(row),
        "the corridor is open, and the provider does not list the country with this method"
      )
    })
})

const numbersOf = ({ guarantees }: Provider, served: ReadonlyArray<Corridor>): ReadonlyArray<Found> =>
  guarantees.bankMsisdn === undefined
    ? []
    : served
        .filter((row) => row.direction === "payout" && row.method === "bank" && !row.requiresMsisdn)
        .map((row) => ({
          check: "banks",
          subject: nameOf(row),
          result: "to_confirm",
          detail:
            "its documents have the recipient's number in every bank payout: set --requires-msisdn true, or confirm that it takes one without"
        }))

const banksOf = Effect.fnUntraced(function* ({ reference }: Provider, served: ReadonlyArray<Corridor>) {
  const banks = reference?.banks
  const countries = new Set(
    served.filter((row) => row.direction === "payout" && row.method === "bank").map(({ country }) => country)
  )
  if (banks === undefined) return [...countries].map((country) => notTried("banks", country, TELLS_NONE))
  return yield* Effect.forEach(countries, (country) =>
    Effect.map(read(banks(country)), ({ answer: found, calls, why }): Found => {
      if (found === undefined) return unanswered("banks", country, `the list of banks cannot be read (${why})`)
      if (found.length === 0) return differs("banks", country, "bank payouts are open, and no bank can be paid")
      const detail = `${found.length} banks can be paid`
      return calls > 0 ? ok("banks", country, detail) : notTried("banks", country, `${detail}: ${OWN_TABLE}`)
    })
  )
})

/** Providers are not asked which networks they charge; only the program's table is compared. */
const networksOf = ({ collections }: Provider, served: ReadonlyArray<Corridor>): ReadonlyArray<Found> => {
  const reaches = collections?.reachesNetwork
  return served
    .filter(({ direction, method }) => direction === "collection" && method === "momo")
    .flatMap((row) =>
      row.networks.map((network): Found => {
        if (reaches === undefined) return notTried("networks", `${nameOf(row)} ${network}`, TELLS_NONE)
        const payer = { _tag: "momo", msisdn: Redacted.make(""), network, country: row.country } as const
        return reaches(payer, row.currency)
          ? notTried("networks", `${nameOf(row)} ${network}`, OWN_TABLE)
          : differs("networks", `${nameOf(row)} ${network}`, "the corridor lists the network, and the account does not charge it")
      })
    )
}

const pricesOf = Effect.fnUntraced(function* ({ payouts }: Provider, served: ReadonlyArray<Corridor>) {
  if (payouts === undefined) return []
  const priced = served.filter(({ direction }) => direction === "payout")
  return yield* Effect.forEach(priced, (row) => {
    const { country, currency } = row
    const amount = sampleOf(row)
    const shown = `${toDecimal(amount, currency)} ${currency}`
    const order = {
      corridor: row,
      amount,
      amountType: "SOURCE",
      destinationCurrency: currency,
      destinationCountry: country
    } as const
    return Effect.map(read(payouts.quote({ ...order, destination: null })), ({ answer: quote, calls, why }): Found => {
      if (quote === undefined) return unanswered("prices", nameOf(row), `${shown} cannot be priced now (${why})`)
      if (!("_tag" in quote)) {
        const detail = `${shown} costs ${toDecimal(quote.fee, currency)} ${currency}`
        return calls > 0 ? ok("prices", nameOf(row), detail) : notTried("prices", nameOf(row), `${detail} by the set contract`)
      }
      return quote.kind === "no_recipient"
        ? { check: "prices", subject: nameOf(row), result: "to_confirm", detail: "it is priced for a recipient only" }
        : differs("prices", nameOf(row), `${shown} is not priced: ${quote.note}`)
    })
  })
})

const sampleOf = ({ currency, maximum, minimum }: Corridor): MinorUnits => {
  const scale = 10n ** BigInt(toDecimal(LARGEST_AMOUNT, currency).split(".")[1]?.length ?? 0)
  const sample = SAMPLE_MAJOR * scale
  const least = minimum === null || sample > minimum ? sample : minimum
  return minor(maximum !== null && least > maximum ? maximum : least)
}

const callbacksOf = ({ guarantees: { callbackAuth }, name }: Provider, routeKey: string): Found => ({
  check: "callbacks",
  subject: `/webhooks/${name}/${routeKey}`,
  result: "to_confirm",
  detail:
    callbackAuth === "none"
      ? "nobody signs them: each only makes the gateway ask. Compare the address with the one that is set at the provider"
      : "compare the address, and whether they are signed, with what is set at the provider"
})

const confirmationsOf = Effect.fnUntraced(function* ({ callbacks: { registration }, mode, name }: Provider) {
  if (registration === undefined) return []
  const detail = (yield* registration.isRegistered)
    ? "this gateway registered where they go"
    : `this gateway registered no address for them: gateway provider register ${name} --mode ${mode}`
  return [{ check: "callbacks", subject: "confirmations", result: "to_confirm", detail } satisfies Found]
})

/** To be compared with the provider's answers to the questions in docs/going-live. */
const promisesOf = ({ guarantees }: Provider): Found => {
  const { chargeLookup, chargeNotFoundGraceMs, chargeReference, clientReference, lookup, notFoundGraceMs } = guarantees
  const twice = { idempotent: "is the first one again", unique_reject: "is refused", none: "may move money twice" }
  const charged = chargeLookup === undefined ? "" : `, of a charge ${chargeLookup}`
  const charge = chargeReference === undefined ? "" : `, of a charge ${twice[chargeReference]}`
  const ofCharge = chargeNotFoundGraceMs === undefined ? "" : `, of a charge for ${chargeNotFoundGraceMs / 1_000} s`
  return {
    check: "promises",
    subject: "",
    result: "to_confirm",
    detail: `our reference sent a second time ${twice[clientReference]}${charge}; lookup ${lookup}${charged}; "not found" proves nothing for ${notFoundGraceMs / 1_000} s${ofCharge}`
  }
}

/** Undefined when the provider did not answer; `why` is what is known about that. */
const read = <A>(effect: Effect.Effect<A, ProviderError>) =>
  Effect.map(withCallCount(Effect.catchTag(effect, "provider_error", () => Effect.undefined)), ({ answer, calls, failures }) => ({
    answer,
    calls,
    why: [...new Set(failures)].join("; ") || NO_USE
  }))

/** Also shown when an answer comes by callback and no gateway is running to receive it. */
const NO_USE = "no answer came that can be used; where answers come to the callback address, a gateway has to run there"

const TELLS_NONE = "the provider tells none, or the program does not read it"
const OWN_TABLE = "the program's own table has it, and the provider was not asked"

const nameOf = (row: Corridor): string => Object.values(corridorKeyOf(row)).join(" ")

const ok = (check: Found["check"], subject: string, detail: string): Found => ({ check, subject, result: "ok", detail })
const differs = (check: Found["check"], subject: string, detail: string): Found => ({ check, subject, result: "differs", detail })
const unanswered = (check: Found["check"], subject: string, detail: string): Found => ({
  check,
  subject,
  result: "unanswered",
  detail
})
const notTried = (check: Found["check"], subject: string, detail: string): Found => ({
  check,
  subject,
  result: "not_tried",
  detail
})
