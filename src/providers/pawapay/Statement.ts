import { Clock, DateTime, Effect, Option, Result } from "effect"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import { iso } from "../../domain/Instant.ts"
import type { Statement, UnreadableRow } from "../../domain/ReconciliationDifference.ts"
import { StatementUnreadable } from "../../services/ports/Provider.ts"
import { decoded, isSuccess } from "../AnswerParsing.ts"
import type { Connection } from "../Connection.ts"
import { csvReader } from "../Csv.ts"
import { readRow } from "../Rows.ts"
import { type Days, statementOf } from "../Statements.ts"
import type { ProviderCall, Transport } from "../Transport.ts"
import type { PawapaySettings } from "./Client.ts"
import { markets } from "./Networks.ts"
import { type StatementRows, statementRows } from "./StatementRows.ts"
import { BalancesAnswer, StatementAccepted, StatementAnswer, StatementWallet } from "./Wire.ts"

/** Before a name it stands for all its subdomains, but not for the name itself. */
const BELOW = "*."
/** The default hosts of statement files: pawaPay's own, by its documentation. Anyone can have a host at a cloud provider. */
export const FILE_HOSTS: ReadonlyArray<string> = ["pawapay.io", `${BELOW}pawapay.io`]
/** pawaPay requires a callback URL; nothing listens there. */
const NO_HOST = "callbacks.invalid"

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A payment's fee may be booked after midnight. */
const MARGIN_MS = HOUR_MS
/** How long pawaPay may take for a file. The first check comes after the shortest interval, then they grow to the longest. */
const READY_WITHIN_MS = 10 * 60_000
const ASKED_FIRST_AFTER_MS = 500
const ASKED_AT_LEAST_EVERY_MS = 10_000
/** For fetching one file. */
const FETCH_WITHIN_MS = 5 * 60_000
const WALLETS_AT_ONCE = 4
const SECONDS_LENGTH = "2026-01-31T12:00:00".length

type Refused = ProviderError | StatementUnreadable

interface Wallet extends Pick<typeof StatementWallet.Type, "country" | "currency"> {
  /** Absent for most wallets, which are for all networks of a country. */
  readonly provider?: string
}

/** The movements in all of the account's wallets on a UTC day, from a file per wallet, parsed as it arrives and not stored. */
export const statement = (
  connection: Connection,
  transport: Transport,
  settings: Pick<PawapaySettings, "baseUrl" | "callbackHosts" | "statementHosts">
) => {
  const { call, get, giveUp, readAsUnknown } = connection

  /** The file's handle; null when the account has no such wallet. */
  const requested = Effect.fnUntraced(function* (wallet: Wallet, from: number, until: number) {
    const [host = NO_HOST] = settings.callbackHosts
    const body = {
      wallet,
      callbackUrl: `https://${host}/`,
      startDate: iso(from).slice(0, SECONDS_LENGTH),
      endDate: iso(until).slice(0, SECONDS_LENGTH),
      compressed: false
    }
    const response = yield* call({ operation: "statement", method: "POST", path: "/statements", body })
    const { failureReason, statementId, status } = Option.getOrElse(
      decoded(StatementAccepted, response, canAnswer),
      () => nothingSaid
    )
    if (failureReason?.failureCode === "WALLET_NOT_FOUND") return null
    if (status === "ACCEPTED" && typeof statementId === "string") return statementId
    const why = failureReason?.failureCode ?? status ?? readAsUnknown(response).fact.note
    return yield* new StatementUnreadable({ why: `pawaPay makes none: ${why}` })
  })

  const addressOf = Effect.fnUntraced(function* (id: string) {
    const since = yield* Clock.currentTimeMillis
    for (let pause = ASKED_FIRST_AFTER_MS; ; pause = Math.min(2 * pause, ASKED_AT_LEAST_EVERY_MS)) {
      const { data } = yield* get(StatementAnswer, "statement_status", `/statements/${encodeURIComponent(id)}`)
      if (data?.status === "COMPLETED" && typeof data.downloadUrl === "string") return data.downloadUrl
      if (data?.status === "FAILED")
        return yield* new StatementUnreadable({
          why: `pawaPay could not make it: ${data.failureReason?.failureCode ?? "no reason"}`
        })
      if ((yield* Clock.currentTimeMillis) - since >= READY_WITHIN_MS)
        return yield* new StatementUnreadable({
          why: `pawaPay did not make it within ${READY_WITHIN_MS / 60_000} minutes: try again`
        })
      yield* Effect.sleep(pause)
    }
  })

  const ofWallet = Effect.fnUntraced(function* (
    wallet: Wallet,
    from: number,
    until: number
  ): Effect.fn.Return<StatementRows | null, Refused> {
    const id = yield* requested(wallet, from, until)
    if (id === null) return null
    const url = yield* addressOf(id)
    if (!isFileAddress(url, settings))
      return yield* new StatementUnreadable({
        why: `its file lies at ${hostOf(url)}, from where none is fetched: if that is pawaPay's, add it to PAWAPAY_STATEMENT_HOSTS`
      })
    return yield* fetched(transport, url, statementName(wallet))
  })

  /** A wallet that cannot be read does not hide the others; its payments are then polled one by one. */
  const readOrNamed = (wallet: Wallet, from: number, until: number) =>
    Effect.catch(ofWallet(wallet, from, until), (error) => Effect.succeed(unread(statementName(wallet), error)))

  return statementOf(
    connection,
    Effect.fnUntraced(function* (_: Connection, { day }: Days) {
      const start = DateTime.toEpochMillis(DateTime.makeUnsafe(`${day}T00:00:00Z`))
      const from = start - MARGIN_MS
      // In whole seconds, without leaving any out.
      const until = Math.min(start + DAY_MS + MARGIN_MS, (yield* Clock.currentTimeMillis) + SECOND_MS)
      if (until <= from) return nothing
      const response = yield* call({ operation: "wallet_balances", method: "GET", path: "/wallet-balances" })
      const answer = Option.getOrUndefined(decoded(BalancesAnswer, response))
      if (answer === undefined) {
        const { alarm, fact } = readAsUnknown(response)
        // In that case payments could not be polled either.
        if (fact.reason !== "bad_response") return yield* giveUp(alarm)
        const why = new StatementUnreadable({ why: `pawaPay does not list them: ${fact.note}` })
        return { ...nothing, unreadable: [unread("the list of wallets", why)], isPart: true }
      }
      const { isWhole, wallets } = walletsIn(answer.balances)
      const read = (all: ReadonlyArray<Wallet>) =>
        Effect.forEach(all, (one) => readOrNamed(one, from, until), { concurrency: WALLETS_AT_ONCE })
      const listed = yield* read(wallets)
      // A wallet whose row cannot be parsed may be any wallet, so all are tried.
      const asked = new Set(wallets.flatMap((one, index) => (listed[index] === null ? [] : [nameOf(one)])))
      const others = isWhole && !listed.includes(null) ? [] : everyWallet.filter((one) => !asked.has(nameOf(one)))
      const all = [...listed, ...(yield* read(others))].filter((one) => one !== null)
      const files = all.flatMap((one) => ("lines" in one ? [one] : []))
      const named = all.flatMap((one) => ("lines" in one ? [] : [one]))
      return {
        lines: files.flatMap((one) => one.lines()),
        unreadable: [...named, ...files.flatMap((one) => one.unreadable())],
        unsteady: [],
        ...(named.length > 0 && { isPart: true as const })
      } satisfies Statement
    })
  )
}

const nothing: Statement = { lines: [], unreadable: [], unsteady: [] }
const nothingSaid: typeof StatementAccepted.Type = {}

/** Reports a whole list as if it were one row. */
const unread = (place: string, error: Refused): UnreadableRow => ({
  direction: null,
  place,
  providerReference: null,
  reference: null,
  at: null,
  word: error._tag === "StatementUnreadable" ? error.why : "pawaPay did not answer as it has to: try again"
})

const statementName = (wallet: Wallet): string => `the statement of ${nameOf(wallet)}`

const canAnswer = (status: number): boolean => isSuccess(status) || status === 400 || status === 403

/** For people. */
const nameOf = ({ country, currency, provider }: Wallet): string =>
  `${country} ${currency}${provider === undefined ? "" : ` ${provider}`}`

const everyWallet: ReadonlyArray<Wallet> = markets.map(({ currency, iso3 }) => ({ country: iso3, currency }))

const readWallet = readRow(StatementWallet)

/** Without duplicates. `isWhole`: every row could be parsed. */
const walletsIn = (rows: ReadonlyArray<unknown>) => {
  const read = rows.map(readWallet)
  const wallets = read.flatMap((one): ReadonlyArray<Wallet> => {
    if (Result.isFailure(one)) return []
    const { country, currency, provider = null } = one.success
    return [{ country, currency, ...(provider === null || provider === "" ? {} : { provider }) }]
  })
  return {
    isWhole: wallets.length === read.length,
    wallets: [...new Map(wallets.map((one) => [nameOf(one), one])).values()]
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "no address")

/**
 * Checks the file's URL, which comes from a response: https only, and known hosts only. Otherwise an attacker who can change
 * the response could choose the data that our books are compared with. The host of the API itself is allowed as well, without
 * TLS, for the simulator.
 */
export const isFileAddress = (
  url: string,
  { baseUrl, statementHosts }: Pick<PawapaySettings, "baseUrl" | "statementHosts">
): boolean => {
  if (!URL.canParse(url)) return false
  const { hostname, password, protocol, username } = new URL(url)
  if (username !== "" || password !== "") return false
  const base = new URL(baseUrl)
  if (protocol === base.protocol && hostname === base.hostname) return true
  const isOne = (host: string) => (host.startsWith(BELOW) ? hostname.endsWith(host.slice(1)) : hostname === host)
  return protocol === "https:" && statementHosts.some(isOne)
}

/** Without the account's token: the URL itself opens the file, and no other host may see the token. */
const fetched = Effect.fnUntraced(function* (
  transport: Transport,
  url: string,
  name: string
): Effect.fn.Return<StatementRows, StatementUnreadable> {
  const rows = statementRows(name)
  const csv = csvReader(rows.read)
  const decoder = new TextDecoder("utf-8")
  const file: ProviderCall = {
    operation: "statement_file",
    method: "GET",
    url,
    headers: { accept: "text/csv", "accept-encoding": "identity" },
    body: null,
    timeoutMs: FETCH_WITHIN_MS,
    into: (piece) => csv.read(decoder.decode(piece, { stream: true }))
  }
  const response = yield* transport.call(file)
  if (response._tag !== "Answered") return yield* new StatementUnreadable({ why: "its file did not come in whole: try again" })
  if (response.status !== 200) return yield* new StatementUnreadable({ why: `its file is HTTP ${response.status}` })
  // Not delivered in pieces when a proxy compressed it: the file is then small.
  csv.read(response.body === "" ? decoder.decode() : response.body)
  if (!csv.end()) return yield* new StatementUnreadable({ why: "a row of it does not end" })
  const without = rows.without()
  if (without !== null)
    return yield* new StatementUnreadable({
      why: `it has no column ${without.missing.join(", ")}; its columns are ${shortened(without.there.join(", "))}`
    })
  return rows.hasHeader() ? rows : yield* new StatementUnreadable({ why: "it is empty: not even its columns are named" })
})

/** One line for an operator, whatever the input. */
const shortened = (text: string): string => JSON.stringify(text).slice(1, -1).slice(0, LONGEST_HEADER)
const LONGEST_HEADER = 400
