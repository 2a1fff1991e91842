import { expect, it } from "vitest"
import { answerBy } from "../../src/providers/ProviderStatus.ts"
import { noteOf } from "../../src/providers/pawapay/Refusals.ts"
import { refusedUnsaid } from "../../src/providers/Refusals.ts"

const shown = {
  kind: "payout",
  isOurs: true,
  standing: undefined,
  providerReference: null,
  note: "",
  sum: undefined,
  refusal: refusedUnsaid
} as const

it("a provider's word outside its vocabulary comes into notes and alarms short, quoted and without a number", () => {
  const status = `sent to +256 772 918273 ${"and on ".repeat(100_000)}`
  const word = '"sent to ••••8273 and on and on an"'
  expect(answerBy({ ...shown, status, isOfAnother: true }).fact).toEqual({
    _tag: "Mismatched",
    note: `status ${word}, for another number`
  })
  expect(answerBy({ ...shown, status }).alarm).toBe(`the status has no meaning here (status ${word})`)
  expect(noteOf(status, "FAILED")).toBe(`FAILED ${word}`)
  // One of its vocabulary stays as it is.
  expect(answerBy({ ...shown, status: "COMPLETED", standing: "successful", isOfAnother: true }).fact).toMatchObject({
    note: "status COMPLETED, for another number"
  })
})
