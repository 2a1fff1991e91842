import type { ComponentChild } from "preact"
import { Currency, isCurrency } from "../domain/Currency.ts"
import { type AppId, Mode } from "../domain/Ids.ts"
import { maskedText } from "../domain/Masking.ts"
import type { AdjustmentWish } from "../services/tenants/FloatAdjustments.ts"
import { amountOf, notAnAmount } from "./AmountText.ts"
import { choice, field, words } from "./Elements.ts"
import { lineOf } from "./TypedText.ts"

const LONGEST_EXTERNAL_ID = 128
const LONGEST_NOTE = 500
const directions = ["credit", "debit"] as const

const choose = ["", "choose"] as const
const optionsOf = (all: ReadonlyArray<string>) => [choose, ...all.map((one) => [one, one] as const)]

/** What the form asks for. `given` is what was typed before, where something of it was wrong. */
export const adjustmentFields = (given: URLSearchParams): ReadonlyArray<ComponentChild> => {
  const value = (name: string) => given.get(name) ?? ""
  return [
    choice("direction", "Credit or debit", optionsOf(directions), value("direction")),
    choice("mode", "Mode", optionsOf(Mode.literals), value("mode")),
    choice("currency", "Currency", optionsOf(Currency.literals), value("currency")),
    field({ name: "amount", label: "Amount, such as 1,000 or 12.50", value: value("amount"), isRequired: true, maxLength: 30 }),
    field({
      name: "external_id",
      label: "External id",
      hint: "What names it outside, such as the bank's reference. The same one is posted once, whoever uses it.",
      value: value("external_id"),
      isRequired: true,
      maxLength: LONGEST_EXTERNAL_ID
    }),
    words({ name: "why", label: "Why, for the audit log", value: value("why"), maxLength: LONGEST_NOTE })
  ]
}

/** What the form says, or one line on what is wrong with it. */
export const adjustmentOf = (form: URLSearchParams, appId: AppId): AdjustmentWish | string => {
  const direction = directions.find((one) => one === form.get("direction"))
  if (direction === undefined) return "Choose whether it is a credit or a debit."
  const mode = Mode.literals.find((one) => one === form.get("mode"))
  if (mode === undefined) return "Choose the mode: live or test."
  const currency = form.get("currency")
  if (!isCurrency(currency)) return "Choose the currency."
  const amount = amountOf(form.get("amount"), currency)
  if (amount === undefined) return notAnAmount(currency)
  if (amount === null || amount === 0n) return "Say the amount. It is more than zero."
  const externalId = lineOf(form.get("external_id"), LONGEST_EXTERNAL_ID)
  if (externalId === null) return `An external id has 1 to ${LONGEST_EXTERNAL_ID} characters, all of which can be seen.`
  const why = lineOf(form.get("why")?.replaceAll(/\s+/g, " ") ?? null, LONGEST_NOTE)
  if (why === null) return `Say why, in at most ${LONGEST_NOTE} characters.`
  return { appId, mode, currency, direction, amount, externalId, note: maskedText(why) }
}
