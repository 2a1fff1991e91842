import { minor } from "../../../src/domain/Money.ts"
import { type Abilities, bank, momo, through, type Way, wallet } from "./Orders.ts"

/** The same in whole units, of which a charge is paid with as many as it asks for. */
const whole = (way: Way): Way => ({ ...way, amount: minor(12_300n), isFixed: true })

/** What each provider's line says about it. */
const abilities: Readonly<Record<string, Abilities>> = {
  eversend: {
    payouts: [
      momo("UG", "UGX", "MTN", "+25677200"),
      momo("ZM", "ZMW", "ZAMTEL", "+26095000"),
      bank("KE", "KES", "01", "001200"),
      wallet("UG", "UGX", "janedoe")
    ],
    charges: [
      momo("UG", "UGX", "MTN", "+25677200"),
      momo("KE", "KES", "MPESA", "+25471200"),
      { ...momo("GH", "GHS", "MTN", "+23324400"), redirect: true }
    ],
    exchange: { currency: "KES", amount: minor(12_345n), destinationCurrency: "UGX" },
    namesFees: { payouts: true },
    paidAtOnce: "successful",
    sentBack: { payouts: "Returned", charges: "Returned" },
    callbackAuth: "hmac",
    namesOtherSide: { payouts: false, charges: false }
  },

  pawapay: {
    payouts: [
      momo("UG", "UGX", "MTN", "+25677000"),
      momo("KE", "KES", "MPESA", "+25470000"),
      momo("TZ", "TZS", "AIRTEL", "+25568000"),
      momo("ZM", "ZMW", "ZAMTEL", "+26095000")
    ],
    charges: [
      momo("UG", "UGX", "AIRTEL", "+25675000"),
      momo("GH", "GHS", "TELECEL", "+23320000"),
      momo("CM", "XAF", "ORANGE", "+23769000")
    ],
    namesFees: { payouts: false },
    sentBack: { payouts: "Succeeded", charges: "Succeeded" },
    callbackAuth: "rfc9421",
    namesOtherSide: { payouts: true, charges: true }
  },

  flutterwave: {
    payouts: [
      momo("UG", "UGX", "MTN", "+25670000"),
      momo("GH", "GHS", "TELECEL", "+23320000"),
      momo("CI", "XOF", "WAVE", "+225070000"),
      bank("NG", "NGN", "058", "001200"),
      bank("KE", "KES", "68", "001200"),
      through("UG160001", bank("UG", "UGX", "16", "001200")),
      through("GH190101", bank("GH", "GHS", "GH190100", "001200")),
      wallet("KE", "KES", "2009")
    ],
    charges: [
      momo("KE", "KES", "MPESA", "+25470000"),
      momo("CM", "XAF", "ORANGE", "+23769000"),
      momo("TZ", "TZS", "TIGO", "+25570000"),
      { ...momo("UG", "UGX", "AIRTEL", "+25670000"), redirect: true },
      { ...momo("GH", "GHS", "AT", "+23320000"), redirect: true },
      { ...momo("RW", "RWF", "MTN", "+25070000"), redirect: true },
      { ...momo("ZM", "ZMW", "ZAMTEL", "+26070000"), redirect: true }
    ],
    namesFees: { payouts: true },
    paidAtOnce: "successful",
    sentBack: { payouts: "Refused", charges: "Succeeded" },
    callbackAuth: "weak",
    namesOtherSide: { payouts: true, charges: false }
  },

  paystack: {
    payouts: [
      momo("GH", "GHS", "MTN", "+23320000"),
      momo("KE", "KES", "MPESA", "+25470000"),
      bank("NG", "NGN", "058", "001200"),
      bank("GH", "GHS", "130100", "001200"),
      bank("KE", "KES", "68", "001200")
    ],
    charges: [
      momo("GH", "GHS", "MTN", "+23320000"),
      momo("KE", "KES", "MPESA", "+25470000"),
      momo("CI", "XOF", "ORANGE", "+225070000"),
      { ...momo("CI", "XOF", "WAVE", "+225070000"), redirect: true }
    ],
    namesFees: { payouts: true },
    sentBack: { payouts: "Returned", charges: "Returned" },
    callbackAuth: "hmac",
    namesOtherSide: { payouts: true, charges: false }
  },

  mtn: {
    payouts: [
      momo("UG", "UGX", "MTN", "+25677200"),
      momo("GH", "GHS", "MTN", "+23324400"),
      momo("ZM", "ZMW", "MTN", "+26096000"),
      momo("CI", "XOF", "MTN", "+225050000")
    ],
    charges: [
      momo("UG", "UGX", "MTN", "+25677200"),
      momo("GH", "GHS", "MTN", "+23324400"),
      momo("RW", "RWF", "MTN", "+25078000")
    ],
    namesFees: { payouts: false },
    sentBack: { payouts: "Succeeded", charges: "Succeeded" },
    callbackAuth: "none",
    namesOtherSide: { payouts: true, charges: true }
  },

  airtel: {
    payouts: [
      momo("ZM", "ZMW", "AIRTEL", "+26097000"),
      momo("UG", "UGX", "AIRTEL", "+25675200"),
      momo("KE", "KES", "AIRTEL", "+25473200"),
      momo("RW", "RWF", "AIRTEL", "+25073000"),
      momo("TZ", "TZS", "AIRTEL", "+25568000")
    ],
    charges: [
      momo("ZM", "ZMW", "AIRTEL", "+26097000"),
      momo("UG", "UGX", "AIRTEL", "+25675200"),
      momo("TZ", "TZS", "AIRTEL", "+25568000")
    ],
    namesFees: { payouts: false },
    namesAmounts: false,
    refusesUnder200: true,
    callsBack: { payouts: false },
    lists: ["collection"],
    sentBack: { payouts: "Succeeded", charges: "Succeeded" },
    callbackAuth: "none",
    namesOtherSide: { payouts: false, charges: false }
  },

  daraja: {
    payouts: [whole(momo("KE", "KES", "MPESA", "+25471100"))],
    charges: [whole(momo("KE", "KES", "MPESA", "+25471100"))],
    namesFees: { payouts: true },
    sentBack: { payouts: "Succeeded", charges: "Succeeded" },
    callbackAuth: "none",
    namesOtherSide: { payouts: true, charges: false }
  },

  wave: {
    payouts: [momo("CI", "XOF", "WAVE", "+225070000"), momo("SN", "XOF", "WAVE", "+22177000")],
    charges: [
      { ...momo("CI", "XOF", "WAVE", "+225070000"), redirect: true },
      { ...momo("SN", "XOF", "WAVE", "+22177000"), redirect: true }
    ],
    namesFees: { payouts: true },
    sentBack: { payouts: "Returned", charges: "Succeeded" },
    callbackAuth: "weak",
    callsBack: { payouts: false },
    namesOtherSide: { payouts: true, charges: false }
  }
}

export const abilitiesOf = (name: string): Abilities => {
  const own = abilities[name]
  if (own === undefined) throw new Error(`nothing is said about ${name}`)
  return own
}
