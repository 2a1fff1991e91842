import { Clock, Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import type { Mode } from "../domain/Ids.ts"
import { type Instant, iso, isoOrNull } from "../domain/Instant.ts"
import { attention, elapsed } from "../services/Attention.ts"
import type { CommitSettings } from "../services/ports/DatabaseState.ts"
import {
  type AuditProtection,
  type ComparisonResult,
  GatewayStatus,
  type StatusSnapshot,
  type UnansweredTransaction
} from "../services/ports/GatewayStatus.ts"
import { ProviderRegistry, registeredAccounts } from "../services/ports/ProviderRegistry.ts"
import { ProviderSwitches, switchedOffTexts } from "../services/ports/ProviderSwitches.ts"
import { accountUsages, accountWarnings } from "../services/settlement/AccountUsage.ts"
import { help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { DataFolder } from "./DataFolder.ts"
import { printResult } from "./Output.ts"
import { settingsWithProviders } from "./Provider.ts"
import { managementFile, reachable } from "./ServedAddresses.ts"

/** The most transactions of unknown outcome that are named, and the most tenants of each kind. */
const NAMED = 5
/** The most rows that are counted for what each provider account is still needed for: `status` must not take minutes. */
const BY_ACCOUNT_AT_MOST = 200_000

const standingLayer = Layer.unwrap(Effect.map(settingsWithProviders, App.gatewayStatus)).pipe(Layer.provideMerge(App.logs))

export const status = Command.make("status", {}, () =>
  standing.pipe(Effect.provide(standingLayer), Effect.catchTag("DatabaseError", withoutDatabase), Effect.provide(App.logs))
).pipe(
  help(
    "Show on one screen what needs attention: what is open, unknown, waiting or owed, and what the last checks found. Open circuits are those of the gateway on this machine. What could not be asked is called unreachable; exit 1 where that is the database",
    ["gateway status", "Look first at needs_attention"]
  )
)

const switchedOff = Effect.flatMap(ProviderSwitches, ({ list }) => Effect.map(list, switchedOffTexts))

const standing = Effect.gen(function* () {
  const { byAccount, protection, read, tenants, unanswered } = yield* GatewayStatus
  const registry = yield* ProviderRegistry
  const picture = yield* read
  const { failing, owing, parked } = yield* tenants(NAMED)
  const node = yield* nodeHere(yield* App.settings)
  const databaseRole = yield* protection
  const swapped = accountWarnings(accountUsages(registry, yield* byAccount(BY_ACCOUNT_AT_MOST)))
  const registered = registeredAccounts(registry)
  const view = {
    at: iso(picture.at),
    needs_attention: attentionOf(picture, databaseRole, [...(yield* switchedOff), ...swapped, ...nodeAttention(node)]),
    database_role: { role: databaseRole.role, evidence_protected: databaseRole.holds },
    clock: {
      trusted_until: isoOrNull(picture.clock.trustedUntil),
      doubt: picture.clock.doubt
    },
    schema: { newer_than_this_program: picture.database.schema.newer, under_way: picture.database.schema.underWay },
    commits: picture.database.commits.map(commitsView),
    providers: providersView(picture, registered),
    open_by_age: openView(picture),
    node_here: node,
    oldest_unknown: (yield* unanswered(NAMED)).map((row) => unansweredView(row, picture.at)),
    reviews: {
      open: picture.reviews.count,
      acknowledged: picture.reviews.acknowledged,
      oldest: elapsed(picture.at, picture.reviews.oldestAt)
    },
    queues: [
      {
        queue: "outbox",
        due: picture.outbox.due,
        parked: picture.outbox.parked,
        late: elapsed(picture.at, picture.outbox.oldestAt)
      },
      {
        queue: "inbox",
        due: picture.inbox.due,
        parked: picture.inbox.parked,
        late: elapsed(picture.at, picture.inbox.oldestAt)
      }
    ],
    floats: picture.floats.map(({ available, currency, mode, receivable, reserved }) => ({
      mode,
      currency,
      available_minor: available,
      reserved_minor: reserved,
      receivable_minor: receivable
    })),
    webhooks_parked: parked.map(({ appId, ...row }) => ({ app_id: appId, ...row })),
    webhooks_failing: failing.map(({ appId, mode, name, since }) => ({
      app_id: appId,
      mode,
      name,
      since: iso(since),
      for: elapsed(picture.at, since)
    })),
    owing: owing.map(({ appId, currency, mode, receivable }) => ({
      app_id: appId,
      mode,
      currency,
      receivable_minor: receivable
    })),
    checks: picture.checks.map((check) => checkView(check, picture.at))
  }
  // It has to fit one screen.
  yield* printResult(view, undefined, {
    ...view,
    database_role: `${databaseRole.role}: evidence is ${databaseRole.holds ? "" : "not "}protected`,
    commits: picture.database.commits.map(commitsLine)
  })
})

/** Without anything from the database: the node on this machine may still report what it sees. */
const withoutDatabase = Effect.fnUntraced(function* ({ message }: { readonly message: string }) {
  const node = yield* nodeHere(yield* App.settings)
  const unasked = [
    "database_role",
    "clock",
    "schema",
    "commits",
    "providers",
    "open_by_age",
    "oldest_unknown",
    "reviews",
    "queues",
    "floats",
    "webhooks_parked",
    "webhooks_failing",
    "owing",
    "checks"
  ]
  yield* printResult({
    at: iso(yield* Clock.currentTimeMillis),
    needs_attention: [message, ...nodeAttention(node)],
    node_here: node,
    ...Object.fromEntries(unasked.map((name) => [name, UNREACHABLE]))
  })
  return yield* new CommandRefusal(message)
})

/** "nothing" when all is well. */
const attentionOf = (
  picture: StatusSnapshot,
  protection: AuditProtection,
  others: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const found = attention(picture, protection, others)
  return found.length === 0 ? ["nothing"] : found
}

const nodeAttention = ({ address, circuits_open: circuits }: NodeHere): ReadonlyArray<string> =>
  typeof circuits === "string"
    ? [`the node of this machine (${address}) is ${circuits}: what it holds back is not known`]
    : circuits.map((circuit) => `held back by this node: ${circuit}`)

const sum = <A>(rows: ReadonlyArray<A>, of: (row: A) => number): number => rows.reduce((total, row) => total + of(row), 0)

/** Registered accounts, and those of open transactions that can no longer be polled. */
const providersView = (
  { at, open }: StatusSnapshot,
  registered: ReadonlyArray<{ readonly provider: string; readonly mode: Mode }>
) => {
  const isRegistered = ({ mode, provider }: { readonly provider: string; readonly mode: Mode }) =>
    registered.some((account) => account.provider === provider && account.mode === mode)
  const accounts = [...registered, ...open.filter((row) => !isRegistered(row))]
  const names = new Map(accounts.map(({ mode, provider }) => [`${provider}/${mode}`, { provider, mode }]))
  return [...names.values()].map((account) => {
    const own = open.filter(({ mode, provider }) => provider === account.provider && mode === account.mode)
    const oldest = own.map(({ oldestAt }) => oldestAt).sort((a, b) => a - b)[0]
    return {
      ...account,
      registered: isRegistered(account),
      open: sum(own, ({ count }) => count),
      unknown: sum(own, ({ unknown }) => unknown),
      oldest: elapsed(at, oldest ?? null)
    }
  })
}

const commitsView = ({ fsync, fullPageWrites, server, synchronousCommit, weakness }: CommitSettings) => ({
  server,
  survive_a_crash: weakness === null,
  synchronous_commit: synchronousCommit,
  fsync,
  full_page_writes: fullPageWrites
})

const commitsLine = ({ fsync, fullPageWrites, server, synchronousCommit }: CommitSettings): string =>
  `${server}: synchronous_commit ${synchronousCommit}, fsync ${fsync}, full_page_writes ${fullPageWrites}`

const openView = ({ open }: StatusSnapshot) =>
  (["payout", "collection", "exchange"] as const).map((kind) => {
    const counted = (age: StatusSnapshot["open"][number]["age"]) =>
      sum(open, (row) => (row.kind === kind && row.age === age ? row.count : 0))
    return {
      kind,
      under_1m: counted("1m"),
      under_10m: counted("10m"),
      under_1h: counted("1h"),
      under_24h: counted("24h"),
      older: counted("older")
    }
  })

const unansweredView = (
  { acknowledgedUntil, appId, createdAt, heardAt, kind, mode, note, provider, reference }: UnansweredTransaction,
  at: Instant
) => ({
  reference,
  app_id: appId,
  kind,
  mode,
  provider,
  age: elapsed(at, createdAt),
  last_asked: elapsed(at, heardAt),
  note,
  acknowledged_until: acknowledgedUntil === null || acknowledgedUntil <= at ? null : iso(acknowledgedUntil)
})

const checkView = ({ at, differences, name, subject }: ComparisonResult, now: Instant) => ({
  check: name,
  subject: subject === "" ? null : subject,
  at: iso(at),
  ago: elapsed(now, at),
  differences
})

const NODE_TIMEOUT = "2 seconds"
const OPEN_CIRCUIT = /^gateway_provider_circuit_open\{provider="([^"]+)",mode="([^"]+)",operation="([^"]+)"[^}]*\} [1-9]/gm

/** For what could not be read; "none" would be an answer. */
const UNREACHABLE = "unreachable"

type NodeHere = Effect.Success<ReturnType<typeof nodeHere>>

/**
 * The state of the node on this machine, from its management port: the recorded address of a running node, or else the address
 * in the settings. Circuits belong to one process: those of other nodes are on their pages and in the alert.
 */
const nodeHere = Effect.fnUntraced(function* ({ dataDir, managementHost, managementPort }: App.Settings) {
  const running = yield* DataFolder.findProcess(managementFile(dataDir))
  const address = Option.match(running, {
    onNone: () => `http://${reachable(managementHost)}:${managementPort}`,
    onSome: ({ url }) => url
  })
  const fetchText = (path: string) =>
    Effect.tryPromise((signal) =>
      fetch(`${address}${path}`, { signal }).then(async (answer) => ({ ok: answer.ok, text: await answer.text() }))
    ).pipe(Effect.timeout(NODE_TIMEOUT), Effect.option)
  const ready = yield* fetchText("/readyz")
  const page = Option.filter(yield* fetchText("/metrics"), ({ ok }) => ok)
  return {
    address,
    readyz: Option.match(ready, { onNone: () => UNREACHABLE, onSome: ({ text }) => text.trim() }),
    circuits_open: Option.match(page, {
      onNone: () => UNREACHABLE,
      onSome: ({ text }) =>
        [...text.matchAll(OPEN_CIRCUIT)].map(([, provider, mode, operation]) => `${provider} ${mode} ${operation}`)
    })
  }
})
