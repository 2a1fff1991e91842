import { executedOf, MINUTE } from "./Movement.ts"
import { type CodeRequest, refusalIn, type Said, type Seen, type Span, type Told, wasFrozen } from "./Seen.ts"

const WRONG_AT_MOST = 5
const REQUESTS_AT_MOST = 3
const WINDOW_MS = 10 * MINUTE

/** A charge that needs a code moves with the right one only, few wrong ones are heard, and few are sent to one number. */
export const codeFaults = (seen: Seen): ReadonlyArray<string> => [
  ...seen.told.flatMap((one) => [...uncoded(one, seen), ...saidTooOften(one, seen), ...falseAnswers(one, seen), ...changed(one)]),
  ...tooManySent(seen),
  ...sentTooFew(seen)
]

const uncoded = ({ kind, reference }: Told, { movements, needsCode }: Seen): ReadonlyArray<string> =>
  executedOf(movements, reference)
    .filter(({ hasCode }) => kind === "collection" && needsCode && !hasCode)
    .map(() => `${reference}: charged without the code that it needs`)

const saidTooOften = ({ reference }: Told, { unrefusedCodes, wrongCodes }: Seen): ReadonlyArray<string> => {
  const heard = wrongCodes.filter((one) => one.reference === reference).map(({ pin, pinId }) => `${pinId} ${pin}`)
  const different = new Set(heard).size
  const unrefused = unrefusedCodes.filter((one) => one === reference).length
  return [
    ...(unrefused > 1 ? [`${reference}: a code was said again after one that may have been taken`] : []),
    ...(different > WRONG_AT_MOST ? [`${reference}: the provider heard ${different} wrong codes`] : []),
    ...(heard.length > different ? [`${reference}: the same wrong code was sent again`] : [])
  ]
}

const falseAnswers = (one: Told, { freezes, wrongCodes }: Seen): ReadonlyArray<string> =>
  one.said.flatMap((said) => {
    const { answeredAt, isReplay, pin, status } = said
    const code = refusalIn(said.body)?.code
    const wrong = wrongCodes.filter(({ reference }) => reference === one.reference)
    if (code === "otp_incorrect" && !wrong.some((other) => other.pin === pin))
      return [`${one.reference}: a code was called wrong that the provider did not refuse`]
    if (code === "rate_limited" && wrong.length < WRONG_AT_MOST)
      return [`${one.reference}: no more codes after ${wrong.length} wrong ones`]
    // What is repeated was decided for an earlier request.
    if (code === "tenant_frozen" && wasFrozen(freezes, one.appId, { askedAt: isReplay ? one.askedAt : said.askedAt, answeredAt }))
      return []
    return status === 200 || EXPECTED.has(code ?? "") ? [] : [`${one.reference}: a code was answered ${status} ${code}`]
  })

/** What may be said to a code; each but the first two says that nothing is known yet or that another charge is. */
const EXPECTED: ReadonlySet<string> = new Set([
  "otp_incorrect",
  "rate_limited",
  "charge_rejected_by_provider",
  "duplicate_charge_in_flight",
  "request_in_progress",
  "indeterminate_outcome",
  "provider_unavailable",
  "provider_timeout",
  "provider_bad_response",
  "provider_error"
])

/** A key that came with a code has one answer. */
const changed = ({ reference, said }: Told): ReadonlyArray<string> =>
  said
    .filter((one) => one.isReplay && said.some((other) => isOther(one, other)))
    .map(() => `${reference}: a replay with other bytes`)

const isOther = (one: Said, other: Said): boolean =>
  other.key === one.key && (other.isReplay || other.status === 200) && other.body !== one.body

const tooManySent = ({ codeRequests, needsCode, offAtMostMs, records, told }: Seen): ReadonlyArray<string> =>
  codeRequests.flatMap((last) => {
    const { answer } = last
    if (answer?.error !== null) return []
    const sent = ofSame(codeRequests, last).filter(
      (one) => one.answer?.error === null && one.askedAt <= last.askedAt && one.askedAt > answer.at - WINDOW_MS + offAtMostMs
    )
    const texted = ofSame(told.filter(isTexted), last).filter(({ reference }) => {
      const createdAt = records.get(reference ?? "")?.createdAt
      return createdAt !== undefined && createdAt <= last.askedAt && createdAt > answer.at - WINDOW_MS + offAtMostMs
    })
    const codes = sent.length + (needsCode ? texted.length : 0)
    return codes > REQUESTS_AT_MOST ? [`${last.party}: ${codes} codes within ten minutes`] : []
  })

/** Who was refused another code had been sent enough of them, or may have been. */
const sentTooFew = (seen: Seen): ReadonlyArray<string> =>
  seen.codeRequests.flatMap((last) => {
    const { answer } = last
    if (answer === null || answer.error !== "rate_limited") return []
    const codes = codesAtMost(last, { askedAt: last.askedAt, answeredAt: answer.at }, seen)
    return codes < REQUESTS_AT_MOST ? [`${last.party}: no code after ${codes} within ten minutes`] : []
  })

/**
 * How many codes a number may have been sent when a request for another one was answered. What was not answered, or of which the provider
 * said nothing, may have been sent; a charge sends one each time that it is tried, and once more where nobody heard of a try.
 */
export const codesAtMost = (last: Texted, span: Span, { codeRequests, needsCode, offAtMostMs, told }: Seen): number => {
  const since = span.askedAt - WINDOW_MS - offAtMostMs
  const byHand = ofSame(codeRequests, last).filter(
    ({ answer, askedAt }) =>
      askedAt <= span.answeredAt && (answer === null || (answer.error !== "rate_limited" && answer.at > since))
  )
  const charges = needsCode ? ofSame(told.filter(isTexted), last) : []
  const tries = charges.map(({ answers, askedAt }) =>
    askedAt > span.answeredAt ? 0 : 1 + answers.filter(({ answeredAt }) => answeredAt > since).length
  )
  return byHand.length + tries.reduce((sum, one) => sum + one, 0)
}

/** A charge that brings no code is what one is texted for. */
const isTexted = ({ kind, pin }: Told): boolean => kind === "collection" && pin === null

type Texted = Pick<CodeRequest, "appId" | "party">

/** A number's codes are counted over both modes. */
const ofSame = <One extends Texted>(all: ReadonlyArray<One>, { appId, party }: Texted): ReadonlyArray<One> =>
  all.filter((one) => one.appId === appId && one.party === party)
