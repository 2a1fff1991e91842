import { Option } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { Mode } from "../../domain/Ids.ts"
import type { AccountWork, CountedWork } from "../ports/GatewayStatus.ts"
import type { Provider } from "../ports/Provider.ts"
import { type ProviderRegistry, sentWith } from "../ports/ProviderRegistry.ts"

/** `unset`: transactions were sent with it, and it is no longer configured. `absent`: no account is configured. */
type Turn = "current" | "previous" | "unset" | "absent"

/** One account, and how many transactions depend on it. */
export interface AccountUsage {
  readonly provider: string
  readonly mode: Mode
  readonly turn: Turn
  /** The fingerprints in its transactions; several when countries have separate accounts or a secret was changed. */
  readonly fingerprints: ReadonlyArray<string>
  readonly open: number
  readonly followed: number
  /** Whether all were counted; otherwise the numbers are lower bounds. */
  readonly isWhole: boolean
}

/** Every provider and mode with its configured accounts, and those that are not configured but still needed. */
export const accountUsages = (
  registry: ProviderRegistry["Service"],
  { isWhole, work }: CountedWork
): ReadonlyArray<AccountUsage> =>
  registry.known.flatMap((provider) =>
    Mode.literals.flatMap((mode) => usagesIn(registry, provider, mode, work).map((one) => ({ ...one, isWhole })))
  )

type Usage = Omit<AccountUsage, "isWhole">

const usagesIn = (
  registry: ProviderRegistry["Service"],
  provider: string,
  mode: Mode,
  work: ReadonlyArray<AccountWork>
): ReadonlyArray<Usage> => {
  const own = work.filter((row) => row.provider === provider && row.mode === mode)
  const senderOf = ({ account, ...row }: AccountWork): Provider | undefined =>
    Option.getOrUndefined(sentWith(registry, account === null ? row : { ...row, account }))
  const accounts = registry.accounts(provider, mode)
  const set = accounts.map((account, index) =>
    usage({
      provider,
      mode,
      turn: index === 0 ? "current" : "previous",
      fingerprints: Currency.literals.flatMap(account.fingerprints),
      work: own.filter((row) => senderOf(row) === account)
    })
  )
  const strays = own.filter((row) => senderOf(row) === undefined)
  const names = [...new Set(strays.map(({ account }) => account))]
  const unset = names.map((name) =>
    usage({
      provider,
      mode,
      turn: "unset",
      fingerprints: name === null ? registry.claimed(provider, mode) : [name],
      work: strays.filter(({ account }) => account === name)
    })
  )
  const absent = usage({ provider, mode, turn: "absent", fingerprints: [], work: [] })
  return set.length + unset.length === 0 ? [absent] : [...set, ...unset]
}

const usage = ({
  fingerprints,
  work,
  ...place
}: Pick<AccountUsage, "provider" | "mode" | "turn" | "fingerprints"> & {
  readonly work: ReadonlyArray<AccountWork>
}): Usage => ({
  ...place,
  fingerprints: [...new Set(fingerprints)],
  open: work.reduce((sum, { open }) => sum + open, 0),
  followed: work.reduce((sum, { followed }) => sum + followed, 0)
})

/** Warnings for an operator: records that cannot be polled, and accounts that must stay configured. */
export const accountWarnings = (standings: ReadonlyArray<AccountUsage>): ReadonlyArray<string> =>
  standings.flatMap(({ fingerprints, followed, isWhole, mode, open, provider, turn }) => {
    const place = `${provider} (${mode})`
    const count = `${isWhole ? "" : "at least "}${open} open transactions${followed === 0 ? "" : ` and ${followed} that are followed after their end`}`
    if (open + followed === 0)
      return turn !== "previous" || isWhole
        ? []
        : [`whether the previous account at ${place} is still needed was not counted to the end: gateway provider list counts it`]
    if (turn === "unset")
      return [
        `${count} were sent with the account ${fingerprints.join(", ")} at ${place}, which is not set: nobody can ask about them`
      ]
    return turn === "previous" ? [`${count} still need the previous account at ${place}`] : []
  })
