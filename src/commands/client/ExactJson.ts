import { Option } from "effect"
import { RawJson } from "../../domain/Json.ts"

/** Reads JSON without rounding a number: amounts and large integers become bigints, and other numbers that would be rounded keep their text. */
export const exactJson = (text: string): Option.Option<unknown> => {
  try {
    return Option.some(
      JSON.parse(text, (name, value, { source }) => (typeof value === "number" ? exact(name, value, source ?? "") : value))
    )
  } catch {
    return Option.none()
  }
}

const exact = (name: string, value: number, source: string): unknown => {
  if (/^(0|-?[1-9]\d*)$/.test(source) && (name.endsWith("_minor") || !Number.isSafeInteger(value))) return BigInt(source)
  return String(value) === source ? value : new RawJson(source)
}
