import { Context, Effect, Exit } from "effect"
import type { Instant } from "../domain/Instant.ts"
import {
  AgeBand,
  COUNTED_AT_MOST,
  type OpenGroup,
  type QueueBacklog,
  type StatusSnapshot
} from "../services/ports/GatewayStatus.ts"
import type { Family, Labels } from "./Family.ts"

const MS_PER_SECOND = 1000
const atMost = `Counted up to ${COUNTED_AT_MOST}.`

/** How long a status is cached: scrapes within this time see the same one. Tests cannot wait for the next one. */
export const KeptMs = Context.Reference<number>("gateway/observability/KeptMs", { defaultValue: () => 1_000 })
/** How long reading the status may take; a scrape waits longer than a probe. */
const TIMEOUT_MS = 5_000
/** The same while commits wait for a standby: the connection that the status is read through may hang in such a commit. */
const STANDSTILL_TIMEOUT_MS = 500
const STANDSTILL_LOOK_MS = 200

interface Source {
  readonly read: Effect.Effect<StatusSnapshot, unknown>
  /** Why nothing can be read in time now; null where it can. */
  readonly standstill: Effect.Effect<string | null>
}

/** The status now; null where the database did not answer in time. */
export const picture = ({ read, standstill }: Source): Effect.Effect<StatusSnapshot | null> => {
  const inTime = Effect.map(Effect.exit(Effect.timeout(read, TIMEOUT_MS)), (exit) => (Exit.isSuccess(exit) ? exit.value : null))
  const whileStill = Effect.gen(function* () {
    while ((yield* standstill) === null) yield* Effect.sleep(STANDSTILL_LOOK_MS)
    return yield* Effect.as(Effect.sleep(STANDSTILL_TIMEOUT_MS), null)
  })
  return Effect.raceFirst(inTime, whileStill)
}

/** A status for every scrape: the database is read at most once a second, however many scrapers there are. */
export const pictures = (source: Source): Effect.Effect<Effect.Effect<StatusSnapshot | null>> =>
  Effect.flatMap(KeptMs, (keptMs) =>
    Effect.cachedWithTTL(
      picture(source),
      // A failure is not cached: the next scrape reads again.
      (exit) => (Exit.isSuccess(exit) && exit.value !== null ? keptMs : 0)
    )
  )

/** The gauges of a status. Without one, only gateway_database_up is returned: an old figure would be wrong. */
export const gauges = (seen: StatusSnapshot | null, providers: ReadonlyArray<string>): ReadonlyArray<Family> => [
  ...databaseUp(seen !== null),
  ...(seen === null
    ? []
    : [
        ...transactions(seen),
        ...queues(seen),
        ...money(seen),
        ofTenants(seen),
        ...checks(seen, providers),
        ...audit(seen),
        connections(seen),
        ...serverGauges(seen)
      ])
]

const databaseUp = (answered: boolean): ReadonlyArray<Family> => [
  {
    name: "gateway_database_up",
    help: "1 when the database answered this scrape, else 0.",
    samples: [[{}, answered ? 1 : 0]]
  }
]

/** The offset of this machine's clock; positive where it is ahead of the database's. */
export const clockSkew = (milliseconds: number): Family => ({
  name: "gateway_clock_skew_seconds",
  help: "How far the clock of this machine is ahead of the database's.",
  samples: [[{}, milliseconds / MS_PER_SECOND]]
})

/** Families in the text format of Prometheus. A family without samples is included, so that its name is known. */
export const familiesText = (families: ReadonlyArray<Family>): string => families.map(familyText).join("")

const familyText = ({ help, name, samples, type = "gauge" }: Family): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labelsText(labels)} ${value}`),
    ""
  ].join("\n")

const labelsText = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, "_")}"`)
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`
}

const ageSeconds = (at: Instant, since: Instant | null): number => (since === null ? 0 : Math.max(0, at - since) / MS_PER_SECOND)

const earliest = (moments: ReadonlyArray<Instant | null>): Instant | null =>
  moments.reduce<Instant | null>((first, at) => (at === null || (first !== null && first <= at) ? first : at), null)

const transactions = ({ at, open, reviews }: StatusSnapshot): ReadonlyArray<Family> => {
  const count = (group: Pick<OpenGroup, "kind" | "age">, of = (row: OpenGroup) => row.count): number =>
    open.reduce((sum, row) => (row.kind === group.kind && row.age === group.age ? sum + of(row) : sum), 0)
  const kinds = ["payout", "collection", "exchange"] as const
  return [
    {
      name: "gateway_transactions_open",
      help: `Transactions without a final status, by how long they have been open (less than this). ${atMost}`,
      samples: kinds.flatMap((kind) => AgeBand.literals.map((age) => [{ kind, age }, count({ kind, age })] as const))
    },
    {
      name: "gateway_transactions_acknowledged",
      help: "Those of the open ones whose alerts rest, because an operator acknowledged them.",
      samples: kinds.flatMap((kind) =>
        AgeBand.literals.map((age) => [{ kind, age }, count({ kind, age }, ({ acknowledged }) => acknowledged)] as const)
      )
    },
    {
      name: "gateway_transactions_unknown",
      help: `Open transactions of which the last news is none. ${atMost}`,
      samples: byProvider(open)
    },
    {
      name: "gateway_transactions_unknown_oldest_seconds",
      help: "How long ago the oldest transaction of unknown outcome was begun that no operator has acknowledged.",
      samples: providersOf(open).map((provider) => [
        { provider },
        ageSeconds(at, earliest(open.map((row) => (row.provider === provider ? row.oldestUnknownAt : null))))
      ])
    },
    { name: "gateway_reviews_open", help: `Transactions that need a person. ${atMost}`, samples: [[{}, reviews.count]] },
    {
      name: "gateway_reviews_acknowledged",
      help: "Those of them whose alerts rest, because an operator acknowledged them.",
      samples: [[{}, reviews.acknowledged]]
    },
    {
      name: "gateway_reviews_oldest_seconds",
      help: "How long ago the oldest transaction that needs a person was begun.",
      samples: [[{}, ageSeconds(at, reviews.oldestAt)]]
    }
  ]
}

const byProvider = (open: StatusSnapshot["open"]): Family["samples"] =>
  providersOf(open).map((provider) => [
    { provider },
    open.reduce((sum, row) => (row.provider === provider ? sum + row.unknown : sum), 0)
  ])

const providersOf = (open: StatusSnapshot["open"]): ReadonlyArray<string> => [...new Set(open.map(({ provider }) => provider))]

const queues = ({ at, endpointsFailing, endpointsSlow, inbox, outbox, pollsDueSince }: StatusSnapshot): ReadonlyArray<Family> => [
  {
    name: "gateway_polls_late_seconds",
    help: "How long the oldest due poll of an open transaction is late.",
    samples: [[{}, ageSeconds(at, pollsDueSince)]]
  },
  {
    name: "gateway_outbox_deliveries",
    help: `Webhook deliveries that wait, or that ended without success. ${atMost}`,
    samples: depth(outbox)
  },
  {
    name: "gateway_outbox_late_seconds",
    help: "How long the oldest due delivery is late, of the enabled endpoints that nothing is on its way to.",
    samples: [[{}, ageSeconds(at, outbox.oldestAt)]]
  },
  {
    name: "gateway_webhook_endpoints_failing",
    help: "Enabled webhook endpoints that have accepted nothing for a minute, and not at a second attempt.",
    samples: [[{}, endpointsFailing]]
  },
  {
    name: "gateway_webhook_endpoints_slow",
    help: "Enabled webhook endpoints that answer so slowly that a due webhook has waited for 90 seconds.",
    samples: [[{}, endpointsSlow]]
  },
  {
    name: "gateway_inbox_callbacks",
    help: `Callbacks that wait to be looked at, or that moved nothing. ${atMost}`,
    samples: depth(inbox)
  },
  {
    name: "gateway_inbox_late_seconds",
    help: "How long the oldest due callback is late.",
    samples: [[{}, ageSeconds(at, inbox.oldestAt)]]
  }
]

const depth = ({ due, parked }: QueueBacklog): Family["samples"] => [
  [{ state: "due" }, due],
  [{ state: "parked" }, parked]
]

const money = ({ floats }: StatusSnapshot): ReadonlyArray<Family> => [
  {
    name: "gateway_float_minor",
    help: "What all tenants hold together, in minor units.",
    samples: floats.flatMap(({ available, currency, mode, receivable, reserved }) =>
      Object.entries({ available, reserved, receivable }).map(
        ([account, amount]) => [{ mode, currency, account }, amount] as const
      )
    )
  }
]

/** Only the tenants of the setting are named, because each adds a few series. */
const ofTenants = ({ tenantFloats = [] }: StatusSnapshot): Family => ({
  name: "gateway_tenant_float_minor",
  help: "What the tenants of METRICS_FLOAT_TENANTS hold, in minor units.",
  samples: tenantFloats.flatMap(({ appId, available, currency, mode, receivable, reserved }) =>
    Object.entries({ available, reserved, receivable }).map(
      ([account, amount]) => [{ app_id: appId, mode, currency, account }, amount] as const
    )
  )
})

const checks = ({ checks: all }: StatusSnapshot, providers: ReadonlyArray<string>): ReadonlyArray<Family> => {
  const verified = all.filter(({ name }) => name === "ledger verify")
  const compared = all.filter(({ name }) => name === "reconcile")
  return [
    {
      name: "gateway_ledger_differences",
      help: "What the last ledger verify found, of all or of the changes since: the greater of the two.",
      samples: verified.length === 0 ? [] : [[{}, Math.max(...verified.map(({ differences }) => differences))]]
    },
    {
      name: "gateway_ledger_verified_timestamp_seconds",
      help: "When the ledger, or what changed in it, was last verified; 0 for never.",
      samples: [[{}, Math.max(0, ...verified.map(({ at }) => at)) / MS_PER_SECOND]]
    },
    {
      name: "gateway_ledger_whole_verified_timestamp_seconds",
      help: "When the last complete verification of the whole ledger began; 0 for never.",
      samples: [[{}, (verified.find(({ subject }) => subject === "")?.at ?? 0) / MS_PER_SECOND]]
    },
    {
      name: "gateway_reconcile_differences",
      help: "What the last reconcile of a provider found.",
      samples: compared.map(({ differences, subject }) => [{ provider: subject }, differences])
    },
    {
      name: "gateway_reconcile_timestamp_seconds",
      help: "When a provider was last reconciled; 0 for never.",
      samples: [...new Set([...providers, ...compared.map(({ subject }) => subject)])].map((provider) => [
        { provider },
        (compared.find(({ subject }) => subject === provider)?.at ?? 0) / MS_PER_SECOND
      ])
    }
  ]
}

/** This many hex digits of a hash make a whole number that every reader of metrics stores exactly. */
const HASH_DIGITS = 12

const audit = ({ auditHead: { authentic, hash, sequence } }: StatusSnapshot): ReadonlyArray<Family> => [
  { name: "gateway_audit_head_sequence", help: "How many rows the audit log has.", samples: [[{}, sequence]] },
  {
    name: "gateway_audit_head_hash",
    help: `The first ${HASH_DIGITS} hexadecimal digits of the newest row's hash, as a number.`,
    samples: [[{}, Number.parseInt(hash.slice(0, HASH_DIGITS) || "0", 16)]]
  },
  {
    name: "gateway_audit_log_broken",
    help: "1 when the end of the audit log is not one that a gateway wrote, else 0.",
    samples: [[{}, authentic ? 0 : 1]]
  }
]

const connections = ({ connections: states }: StatusSnapshot): Family => ({
  name: "gateway_database_connections",
  help: "Connections of every gateway process, by what they do.",
  samples: Object.entries(states).map(([state, count]) => [{ state }, count])
})

const serverGauges = ({ clock, database }: StatusSnapshot): ReadonlyArray<Family> => [
  {
    name: "gateway_clock_in_doubt",
    help: "1 while nothing is removed because the database's clock is in doubt, else 0.",
    samples: [[{}, clock.doubt === null ? 0 : 1]]
  },
  {
    name: "gateway_database_size_bytes",
    help: "What the database takes on disk, without the write-ahead log.",
    samples: [[{}, database.sizeBytes]]
  },
  {
    name: "gateway_database_server_connections",
    help: "Connections of all clients of the database server.",
    samples: [[{}, database.connections]]
  },
  {
    name: "gateway_database_server_connections_limit",
    help: "How many connections the server gives to clients.",
    samples: [[{}, database.connectionsLimit]]
  },
  {
    name: "gateway_database_commits_durable",
    help: "1 where what was committed survives a crash of the server by the settings that are in force, otherwise 0.",
    samples: database.commits.map(({ fsync, fullPageWrites, server, synchronousCommit, weakness }) => [
      { database_server: server ?? "socket", synchronous_commit: synchronousCommit, fsync, full_page_writes: fullPageWrites },
      weakness === null ? 1 : 0
    ])
  },
  {
    name: "gateway_database_archive_failing",
    help: "1 while the last try to archive the write-ahead log failed, otherwise 0; absent where nothing is archived.",
    samples: database.archive === null ? [] : [[{}, database.archive.isFailing ? 1 : 0]]
  },
  {
    name: "gateway_database_archive_behind_seconds",
    help: "For how long nothing was archived although something was written; absent where nothing is archived.",
    samples: database.archive === null ? [] : [[{}, database.archive.behindSeconds]]
  },
  { name: "gateway_database_standbys", help: "Standbys that are connected to the server.", samples: [[{}, database.standbys]] },
  {
    name: "gateway_database_replication_lag_seconds",
    help: "By how much the last standby is behind; absent where the role may not read it (pg_read_all_stats).",
    samples: database.lagSeconds === null ? [] : [[{}, database.lagSeconds]]
  },
  {
    name: "gateway_database_partitions_ahead_seconds",
    help: "For how long each table has partitions ahead.",
    samples: database.partitions.map(({ aheadSeconds, name }) => [{ table: name }, aheadSeconds])
  }
]
