import { Redacted } from "effect"
import { type Destination, nameOf } from "../domain/Party.ts"
import { withoutUnseen } from "../domain/VisibleText.ts"

// A person's text for a provider. No payment is refused or lost for a note: the provider gets the part that it accepts.

export interface TextRule {
  /** In code points. */
  readonly atMost: number
  /** A shorter text counts as missing. */
  readonly atLeast?: number
  /** Whether letters and digits of every script are accepted; otherwise only ASCII. */
  readonly everyScript: boolean
  /** The accepted characters other than letters, digits and blanks. */
  readonly punctuation: string
}

/** Every script, and common punctuation: for providers that do not list characters. */
export const plainRule = (atMost: number): TextRule => ({ atMost, everyScript: true, punctuation: "'’-.,/()&:;#+@!?%_" })

/** The text in accepted characters: without accents if necessary, others as blanks. Undefined when nothing readable is left. */
export const providerText = (rule: TextRule, text: string): string | undefined => {
  const normal = withoutUnseen(text).normalize("NFC")
  const letters = rule.everyScript ? normal : inAscii(normal)
  const words = Array.from(letters, (character) => (isTaken(rule, character) ? character : " "))
    .join("")
    .replace(/ +/g, " ")
    .trim()
  const cut = Array.from(words).slice(0, rule.atMost).join("").trimEnd()
  return /[\p{L}\p{N}]/u.test(cut) && Array.from(cut).length >= (rule.atLeast ?? 1) ? cut : undefined
}

/** The note for the other party; our reference when there is none or nothing of it is left. */
export const noteText = (rule: TextRule, narration: string | null, reference: string): string =>
  (narration === null ? undefined : providerText(rule, narration)) ?? reference

/** The recipient's name; without one, a placeholder that cannot be mistaken for a name. */
export const recipientName = (rule: TextRule, destination: Destination): string => {
  const name = nameOf(destination)
  return (name === null ? undefined : providerText(rule, Redacted.value(name))) ?? "Payment Recipient"
}

/** With the country's prefix but without the plus sign. */
export const digitsOf = (msisdn: Redacted.Redacted): string => Redacted.value(msisdn).replace(/\D/g, "")

const isTaken = ({ everyScript, punctuation }: TextRule, character: string): boolean =>
  (everyScript ? /[\p{L}\p{M}\p{N}]/u : /[A-Za-z0-9]/).test(character) || punctuation.includes(character)

const inAscii = (text: string): string =>
  text
    // Keeps a fraction apart from the number before it, so that its digits are not appended.
    .replace(/(?<=\p{Nd})(?=\p{No})/gu, " ")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\0-\x7f]/gu, (letter) => plainLetters[letter] ?? letter)

/** Letters of the languages in and near our markets that Unicode does not decompose. */
const plainLetters: Readonly<Record<string, string>> = {
  "⁄": "/",
  ß: "ss",
  æ: "ae",
  Æ: "AE",
  œ: "oe",
  Œ: "OE",
  ø: "o",
  Ø: "O",
  ł: "l",
  Ł: "L",
  đ: "d",
  Đ: "D",
  ɖ: "d",
  Ɖ: "D",
  ɗ: "d",
  Ɗ: "D",
  ɓ: "b",
  Ɓ: "B",
  ɛ: "e",
  Ɛ: "E",
  ɔ: "o",
  Ɔ: "O",
  ƒ: "f",
  Ƒ: "F",
  ɣ: "g",
  Ɣ: "G",
  ŋ: "ng",
  Ŋ: "Ng",
  ƙ: "k",
  Ƙ: "K",
  ɲ: "ny",
  Ɲ: "Ny",
  ʋ: "v",
  Ʋ: "V",
  ƴ: "y",
  Ƴ: "Y",
  ı: "i"
}
