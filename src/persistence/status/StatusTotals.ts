import type { AccountWork, FloatTotal, OpenGroup, QueueBacklog, StatusSnapshot } from "../../services/ports/GatewayStatus.ts"

// Merges the counts of several shards of a distributed database. The rows of a single server are returned unchanged.

type Reviews = StatusSnapshot["reviews"]

export const allOpen = (groups: ReadonlyArray<OpenGroup>): ReadonlyArray<OpenGroup> =>
  summed(
    groups,
    ({ age, kind, mode, provider }) => `${kind} ${mode} ${provider} ${age}`,
    (one, other) => ({
      ...one,
      count: one.count + other.count,
      unknown: one.unknown + other.unknown,
      acknowledged: one.acknowledged + other.acknowledged,
      oldestAt: Math.min(one.oldestAt, other.oldestAt),
      oldestUnknownAt: earlier(one.oldestUnknownAt, other.oldestUnknownAt)
    })
  ).toSorted(
    (one, other) =>
      byText(`${one.kind} ${one.mode} ${one.provider}`, `${other.kind} ${other.mode} ${other.provider}`) ||
      one.oldestAt - other.oldestAt
  )

export const allAccounts = (work: ReadonlyArray<AccountWork>): ReadonlyArray<AccountWork> => {
  const nameOf = ({ account, currency, mode, provider }: AccountWork) => `${provider} ${mode} ${currency} ${account ?? ""}`
  return summed(work, nameOf, (one, other) => ({
    ...one,
    open: one.open + other.open,
    followed: one.followed + other.followed
  })).toSorted((one, other) => byText(nameOf(one), nameOf(other)))
}

export const allFloats = (totals: ReadonlyArray<FloatTotal>): ReadonlyArray<FloatTotal> =>
  summed(
    totals,
    ({ currency, mode }) => `${mode} ${currency}`,
    (one, other) => ({
      ...one,
      available: one.available + other.available,
      reserved: one.reserved + other.reserved,
      receivable: one.receivable + other.receivable
    })
  ).toSorted((one, other) => byText(`${one.mode} ${one.currency}`, `${other.mode} ${other.currency}`))

export const allQueues = (queues: ReadonlyArray<QueueBacklog>): QueueBacklog =>
  queues.reduce(
    (one, other) => ({
      due: one.due + other.due,
      parked: one.parked + other.parked,
      oldestAt: earlier(one.oldestAt, other.oldestAt)
    }),
    { due: 0, parked: 0, oldestAt: null }
  )

export const allReviews = (counts: ReadonlyArray<Reviews>): Reviews =>
  counts.reduce(
    (one, other) => ({
      count: one.count + other.count,
      acknowledged: one.acknowledged + other.acknowledged,
      oldestAt: earlier(one.oldestAt, other.oldestAt)
    }),
    { count: 0, acknowledged: 0, oldestAt: null }
  )

export const byText = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1)

export const summed = <A>(all: ReadonlyArray<A>, nameOf: (one: A) => string, add: (one: A, other: A) => A): ReadonlyArray<A> => {
  const sums = new Map<string, A>()
  for (const one of all) {
    const name = nameOf(one)
    const known = sums.get(name)
    sums.set(name, known === undefined ? one : add(known, one))
  }
  return [...sums.values()]
}

const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)
