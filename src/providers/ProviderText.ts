import { Redacted } from "effect"
import { type Destination, nameOf } from "../domain/Party.ts"
import { withoutUnseen } from "../domain/VisibleText.ts"

// A person's text, for a provider. No payment is refused or lost for a note: the provider gets the part that it takes.

/** A provider's rule for a text. */
export interface TextRule {
  /** Code points. */
  readonly atMost: number
  /** A shorter text is none. */
  readonly atLeast?: number
  /** Whether letters and digits of every script are taken; else those of ASCII alone. */
  readonly everyScript: boolean
  /** The characters that it takes beside letters, digits and blanks. */
  readonly punctuation: string
}

/** Every script, and the punctuation of names and sentences: for providers that name no characters. */
export const plainRule = (atMost: number): TextRule => ({ atMost, everyScript: true, punctuation: "'’-.,/()&:;#+@!?%_" })

/**
 * The text in what the rule takes: letters lose their marks where they need to, and what is not taken is a blank. Undefined where nothing is
 * left that could be read.
 */
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

/** A note to a person, or our reference where there is none, or nothing of it is left. */
export const noteText = (rule: TextRule, narration: string | null, reference: string): string =>
  (narration === null ? undefined : providerText(rule, narration)) ?? reference

/** A recipient's name, or where none is given words that cannot be mistaken for one. */
export const recipientName = (rule: TextRule, destination: Destination): string => {
  const name = nameOf(destination)
  return (name === null ? undefined : providerText(rule, Redacted.value(name))) ?? "Payment Recipient"
}

/** With the country's prefix, and without the plus sign. */
export const digitsOf = (msisdn: Redacted.Redacted): string => Redacted.value(msisdn).replace(/\D/g, "")

const isTaken = ({ everyScript, punctuation }: TextRule, character: string): boolean =>
  (everyScript ? /[\p{L}\p{M}\p{N}]/u : /[A-Za-z0-9]/).test(character) || punctuation.includes(character)

const inAscii = (text: string): string =>
  text
    // A fraction is read beside the number before it, not as more of its digits.
    .replace(/(?<=\p{Nd})(?=\p{No})/gu, " ")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\0-\x7f]/gu, (letter) => plainLetters[letter] ?? letter)

/** Letters of the languages of our markets, and of their neighbours, that no mark is taken from. */
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
