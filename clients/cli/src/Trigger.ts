import { randomInt } from "node:crypto"
import type { Schema } from "../../typescript/src/Gateway.ts"
import { stringify } from "../../typescript/src/Json.ts"
import { choice, command, text } from "./CommandLine.ts"
import { Refusal } from "./Refusal.ts"
import { openSession, type Profile, profileOption, type Session } from "./Session.ts"
import { amountOption, follow, type PaymentKind, place, show } from "./Transactions.ts"

/** Enough for every corridor's minimum, and below what test mode may move. */
const AMOUNT = 10_000n
const REDIRECT_URL = "https://example.com/done"

/** How a mobile number goes on after the country's prefix; the random digits and the ending fill it up. */
const numbers: Readonly<Record<string, string>> = {
  UG: "25677",
  KE: "25471",
  RW: "25078",
  GH: "23324",
  TZ: "25575",
  ZM: "26097",
  NG: "234803"
}
const countries = Object.keys(numbers).join(", ")

export const trigger = command({
  name: "trigger",
  description:
    "Make a payout or a collection in test mode whose number ends in ENDING, and follow it until it is settled. It takes a test key: with a live one the gateway refuses it",
  argument: {
    name: "ENDING",
    description: "the number's last four digits, which choose how it ends, such as 0002; 1234 succeeds",
    pattern: /^\d{4}$/
  },
  options: {
    kind: choice("what is made; a payout if left out", ["payout", "collection"]),
    country: text(`where, by mobile money: ${countries}; UG if left out`),
    "amount-minor": amountOption,
    profile: profileOption
  },
  examples: ["gateway trigger 0002", "gateway trigger 0014 --kind collection"],
  run: async (given, screen, ending) => {
    const session = await openSession(screen, given.profile)
    const { country = "UG" } = given
    const kind: PaymentKind = given.kind === "collection" ? "collection" : "payout"
    if (session.profile.mode === "live") throw new Refusal(liveKey(session.profile))
    const msisdn = numberIn(country, ending)
    const corridor = await corridorOf(session, kind, country)
    const minimum = corridor.minimum_minor ?? 0n
    const body = stringify({
      // Refused with mode_mismatch where the key is live: no ending of a real number is worth a try.
      mode: "test",
      amount_minor: given["amount-minor"] === undefined ? (minimum > AMOUNT ? minimum : AMOUNT) : BigInt(given["amount-minor"]),
      currency: corridor.currency,
      country,
      method: "momo",
      [kind === "payout" ? "destination" : "source"]: { type: "momo", msisdn, network: corridor.networks[0], country },
      ...(corridor.requires_redirect_url ? { redirect_url: REDIRECT_URL } : {})
    })
    const made = await place(screen, session, kind, { body }).catch((error: unknown) => {
      throw explained(error, session.profile, corridor.currency)
    })
    show(screen, await follow(screen, session, made))
  }
})

/** A number of its own each time: the guard against double charges, and limits for one number, have nothing to do with an ending. */
const numberIn = (country: string, ending: string): string => {
  const beginning = numbers[country]
  if (beginning === undefined) throw new Refusal(`no test number of ${country} is known: use one of ${countries}`)
  return `${beginning}${String(randomInt(1000)).padStart(3, "0")}${ending}`
}

const corridorOf = async (session: Session, kind: PaymentKind, country: string): Promise<Schema.Corridor> => {
  const rows = await session.call((gateway, options) => gateway.reference.corridors(options))
  const row = rows.find((one) => one.active && one.country === country && one.direction === kind && one.method === "momo")
  if (row === undefined)
    throw new Refusal(`${country} has no active corridor for a ${kind} by mobile money: try another --country`)
  return row
}

const liveKey = ({ app_id }: Profile): string =>
  `trigger moves test money only, and this login's key is live: log in with one of gateway key issue ${app_id} --mode test --json`

const explained = (error: unknown, profile: Profile, currency: string): unknown => {
  if (!(error instanceof Refusal)) return error
  if (error.code === "mode_mismatch") return new Refusal(liveKey(profile))
  if (error.code !== "insufficient_tenant_float") return error
  return new Refusal(
    `there is no test float in ${currency}: an operator adds some with gateway float credit ${profile.app_id} --mode test --currency ${currency} --amount-minor 1000000 --external-id test-1 --note test`
  )
}
