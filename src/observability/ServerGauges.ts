import type { StatusSnapshot } from "../services/ports/GatewayStatus.ts"
import type { Family } from "./Family.ts"

/** How the database's server stands. */
export const serverGauges = ({ clock, database }: StatusSnapshot): ReadonlyArray<Family> => [
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
