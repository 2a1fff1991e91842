/** The verdicts on a provider that a payment could have gone to. Histories, logs and traces have these words: only add some. */
export const verdicts = {
  used: "the payment was sent there, or was about to be",
  not_sent: "it was tried, and nothing left for it",
  not_asked: "another one was found before its turn came",
  priced: "it gave a price, and nothing was sent",
  code_sent: "it texted the code, which belongs to it alone",
  corridor_off: "the corridor is switched off",
  provider_off: "an operator switched the provider off",
  pinned_elsewhere: "the tenant is pinned to another provider",
  no_account: "it has no account in this mode, or none that does this",
  no_sender: "it has to know who pays, and the tenant has no sender",
  other_wallet: "the recipient's wallet is at another provider",
  code_elsewhere: "the payer's code belongs to another provider",
  network_unreached: "it does not charge the payer's network",
  no_contract_fee: "its contract has no fee for such a charge",
  circuit_open: "its circuit is open: its calls failed, and it is left alone for a while",
  bank_unknown: "it does not know the recipient's bank account, or could not be asked about it",
  no_price: "it could not be asked for a price, or did not answer",
  refused: "it refused to quote this payment",
  network_down: "it says that the network is closed or slow",
  outside_limits: "its account takes no such amount for the network",
  no_turn: "the pace of its account has no turn soon enough",
  has_ceiling: "its account has a ceiling, which is counted only where a payout begins",
  dearer: "it costs more than is held, or delivers another amount",
  moved_on: "the payment was moved or closed meanwhile"
} as const satisfies Readonly<Record<string, string>>

export type Verdict = keyof typeof verdicts

/** One provider that a payment could have gone to. */
export interface Candidate {
  readonly provider: string
  readonly verdict: Verdict
  /** Its position among the providers that the payment was sent to, from 1; null where it was not sent there. */
  readonly attempt: number | null
  /** The reason in the connection's or the gateway's words; empty where the verdict says everything. */
  readonly why: string
  /** The reason for its rank: `by success 98 % of 240`. Absent where the corridor's row did. */
  readonly ranked?: string
}

export type Reason = Pick<Candidate, "verdict" | "why">

/** Further candidates are not recorded: no corridor has as many. */
const CANDIDATES_AT_MOST = 16
const WHY_AT_MOST = 60

/** The provider's name as one word, and the reason without the characters that delimit this text. */
export const oneWord = (name: string): string => name.replaceAll(/[^\w.-]/g, "_")
const plain = (why: string): string =>
  why
    .replaceAll(/[\s();]+/g, " ")
    .trim()
    .slice(0, WHY_AT_MOST)

/** `alpha not_sent #1 (ECONNREFUSED); beta used #2`: the same text in a history, a log line and a span. */
export const candidatesText = (candidates: ReadonlyArray<Candidate>): string =>
  candidates
    .slice(0, CANDIDATES_AT_MOST)
    .map(({ attempt, provider, verdict, ...reasons }) => {
      const why = whyText(reasons)
      return [oneWord(provider), verdict, ...(attempt === null ? [] : [`#${attempt}`]), ...(why === "" ? [] : [`(${why})`])].join(
        " "
      )
    })
    .join("; ")

/** Why it was not used, and what determined its rank. */
export const whyText = ({ ranked = "", why }: Pick<Candidate, "why" | "ranked">): string =>
  [plain(why), plain(ranked)].filter((part) => part !== "").join(", ")

const RANKED = /^(?:(.*), )?(by (?:success|price) [^()]*)$/s

const reasonsIn = (text: string): Pick<Candidate, "why" | "ranked"> => {
  const [, why = "", ranked] = RANKED.exec(text) ?? []
  return ranked === undefined ? { why: text } : { why, ranked }
}

/** A note for the history, followed by the candidates; unchanged where there are none. */
export const noteWithCandidates = (note: string, candidates: string): string =>
  candidates === "" ? note : `${note}${note === "" ? "" : "; "}candidates: ${candidates}`

/** The note before its candidates, and the candidates with everything after them. */
const PARTS = /^(?:(.*); )?candidates: (.*)$/s

/** The note as its author wrote it, with anything that was appended after the candidates. */
export const noteWithoutCandidates = (note: string): string => {
  const [, own = "", text = ""] = PARTS.exec(note) ?? []
  const parts = text.split("; ")
  const last = parts.findLastIndex((part) => candidatesIn(part).length > 0)
  return last < 0 ? note : [own, ...parts.slice(last + 1)].filter((part) => part !== "").join("; ")
}

const ONE = /^([\w.-]+) ([a-z_]+)(?: #(\d{1,3}))?(?: \(([^()]*)\))?$/

const isVerdict = (word: string): word is Verdict => Object.hasOwn(verdicts, word)

/** The candidates that a text names. A part that does not parse, such as a verdict of a later release, is left out. */
export const candidatesIn = (text: string): ReadonlyArray<Candidate> =>
  text.split("; ").flatMap((part) => {
    const [, provider = "", verdict = "", attempt, why = ""] = ONE.exec(part) ?? []
    return isVerdict(verdict)
      ? [{ provider, verdict, attempt: attempt === undefined ? null : Number(attempt), ...reasonsIn(why) }]
      : []
  })

/** The candidates of a payment, from the newest line of its history that names any; empty where no line does. */
export const candidatesOf = (history: ReadonlyArray<{ readonly note: string }>): ReadonlyArray<Candidate> => {
  const note = history.findLast((line) => PARTS.test(line.note))?.note ?? ""
  return candidatesIn(PARTS.exec(note)?.[2] ?? "")
}

const LEFT_OPEN: ReadonlyArray<Verdict> = ["used", "not_sent", "not_asked", "priced", "code_sent"]

/** Whether every candidate of a payment was passed over. False where there was no candidate at all. */
export const foundNone = (candidates: ReadonlyArray<Candidate>): boolean =>
  candidates.length > 0 && candidates.every(({ verdict }) => !LEFT_OPEN.includes(verdict))
