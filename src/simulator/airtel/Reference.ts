import { Effect } from "effect"
import { balanceOf, gateOf, shownBalance } from "../Call.ts"
import { type Call, json, refuse, succeeded } from "./Responses.ts"
import { portalKeyText } from "./Signature.ts"

/** GET /standard/v1/users/balance: a text with commas between thousands. */
export const balance = (call: Call) => {
  const { currency } = call.merchant.country
  const [whole = "", fraction] = shownBalance(balanceOf(call, currency), currency).split(".")
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",")
  return Effect.succeed(
    json({
      data: { balance: fraction === undefined ? grouped : `${grouped}.${fraction}`, currency, account_status: "ACTIVE" },
      status: succeeded({ response_code: "DP02100000001" })
    })
  )
}

/** GET /standard/v1/users/{number} */
export const holder = Effect.fnUntraced(function* (call: Call, number: string) {
  const gate = yield* gateOf(call, number, ["unavailable"])
  if (gate === "no_account") return yield* refuse({ response_code: "DP02200000002" }, "User Not Found")
  return json({
    data: {
      first_name: "JOHN",
      last_name: "DOE",
      grade: "SUBS",
      is_barred: false,
      is_pin_set: true,
      msisdn: number,
      registration: { status: "ACTIVE" }
    },
    status: succeeded({ response_code: "DP02200000001" })
  })
})

/** GET /v1/rsa/encryption-keys */
export const encryptionKeys = () =>
  Effect.succeed(
    json({
      data: { key_id: 104, key: portalKeyText, valid_upto: "12-08-2030 21:29:26" },
      status: succeeded({ response_code: "DP02010001001" })
    })
  )
