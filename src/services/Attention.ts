import type { Instant } from "../domain/Instant.ts"
import type { AuditProtection, StatusSnapshot } from "./ports/GatewayStatus.ts"

const MINUTE_MS = 60_000
const DAY_MS = 1440 * MINUTE_MS
/** A queue that is later than this is stuck. */
const LATE_MS = 1.5 * MINUTE_MS

/** Fewer refused callbacks than this may be a stray attempt. */
const REFUSED_FROM = 5

/**
 * The findings that an operator should see first, most important first; empty when all is well. `others`: further facts, about
 * accounts that are still needed and calls that circuits hold back.
 */
export const attention = (
  {
    at,
    auditHead,
    callbacksRefused,
    checks,
    clock,
    database,
    endpointsFailing,
    endpointsSlow,
    floats,
    inbox,
    open,
    outbox,
    pollsDueSince,
    reviews,
    silentServers,
    unparted,
    walletRefusals
  }: StatusSnapshot,
  { holds, role }: AuditProtection,
  others: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const unknown = open.reduce((total, row) => (row.age === "1m" ? total : total + row.unknown), 0)
  const broken = checks.filter(({ differences }) => differences > 0)
  const isLate = (since: Instant | null) => since !== null && at - since > LATE_MS
  const verifiedAt = Math.max(...checks.filter(({ name }) => name === "ledger verify").map((check) => check.at))
  return [
    ...silentServers.map((server) => `the database server ${server} does not answer: nothing of its tenants is counted here`),
    ...database.commits.flatMap(({ server, weakness }) =>
      weakness === null ? [] : [`a crash of the database server ${server ?? ""} could take back what is committed (${weakness})`]
    ),
    ...(database.archive?.isFailing === true ? ["the write-ahead log is not archived: PostgreSQL's log says why"] : []),
    ...(auditHead.authentic ? [] : ["the end of the audit log is not one that a gateway wrote: run gateway audit verify"]),
    ...(clock.doubt === null ? [] : [`${clock.doubt}: nothing is removed until gateway clock confirm`]),
    ...broken.map(({ differences, name, subject }) => `${`${name} ${subject}`.trim()} found ${differences} differences`),
    ...(reviews.count > 0 ? [`reviews that wait for a person: ${reviews.count}`] : []),
    ...(unknown > 0 ? [`outcomes unknown for more than a minute: ${unknown}`] : []),
    ...walletRefusals.map(
      ({ count, mode, provider }) => `refused within 15 minutes because our wallet at ${provider} ${mode} is too small: ${count}`
    ),
    ...others,
    ...callbacksRefused
      .filter(({ count }) => count >= REFUSED_FROM)
      .map(({ count, mode, provider }) => `callbacks refused within 15 minutes, not signed by ${provider} ${mode}: ${count}`),
    ...(isLate(pollsDueSince) ? ["providers are not polled for open transactions"] : []),
    ...(isLate(inbox.oldestAt) ? ["callbacks are not looked at"] : []),
    ...(isLate(outbox.oldestAt) ? ["webhooks are not sent"] : []),
    ...(endpointsFailing > 0 ? [`webhook endpoints that accept nothing: ${endpointsFailing}`] : []),
    ...(endpointsSlow > 0 ? [`webhook endpoints that answer too slowly for what they are sent: ${endpointsSlow}`] : []),
    ...unparted.map((table) => `rows of ${table} lie in no month's partition`),
    ...(inbox.parked > 0 ? [`callbacks that matched nothing: ${inbox.parked}`] : []),
    ...(outbox.parked > 0 ? [`parked webhooks: ${outbox.parked}`] : []),
    ...(floats.some(({ receivable }) => receivable > 0n) ? ["a tenant owes more than its float"] : []),
    ...(at - verifiedAt > DAY_MS ? ["the ledger was not verified for a day"] : []),
    ...(holds ? [] : [unprotected(role)])
  ]
}

/** The log says so at start-up, too. */
const unprotected = (role: string): string =>
  `the database role ${role} could change or remove audit rows, postings and history: nothing protects them from this gateway`

/** How long ago, in the two largest units; null when never, "0s" for a future time. */
export const elapsed = (now: Instant, at: Instant | null): string | null => {
  if (at === null) return null
  const seconds = Math.max(0, Math.floor((now - at) / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"]
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  return first === -1
    ? "0s"
    : parts
        .slice(first, first + 2)
        .map(([count, unit]) => `${count}${unit}`)
        .join(" ")
}
