/** Whether a text is a payment card's number, however it is grouped: 13 to 19 digits whose check digit holds. */
export const looksLikeCard = (text: string): boolean => {
  const digits = text.replace(/[ .-]/g, "")
  return /^[0-9]{13,19}$/.test(digits) && luhn(digits)
}

const luhn = (digits: string): boolean => {
  const sum = Array.from(digits, Number)
    .toReversed()
    .reduce((total, digit, at) => total + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0)
  return sum % 10 === 0
}
