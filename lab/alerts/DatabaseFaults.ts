import { setTimeout as pause } from "node:timers/promises"
import { THROWN_AWAY } from "../../src/persistence/connection/servers/Durability.ts"
import type { Fault } from "./Fault.ts"
import { payoutOf } from "./Requests.ts"
import { eventually, type Scene } from "./Scene.ts"
import { STANDBY, type Standby } from "./Standby.ts"
import type { Watch } from "./Watch.ts"

/** While nothing was delivered yet: the month that is dropped must be empty. */
export const partitionsMissing = ({ hold, sql }: Scene): Fault => {
  let release = async () => {}
  return {
    about: "a table loses its months, and no node can make them, because a session holds the lock, until it lets go",
    alerts: ["PartitionsMissing"],
    how: "real",
    begin: async () => {
      release = await hold("SELECT pg_advisory_lock(7003)")
      const months = await sql("SELECT child FROM month_partitions WHERE parent = 'delivery_attempts' AND to_at > now()")
      for (const { child } of months) await sql(`DROP TABLE ${child}`)
    },
    mend: () => release()
  }
}

export const clockInDoubt = ({ must, sql }: Scene): Fault => ({
  about: "nobody has vouched for the database's clock for eight days, until an operator confirms it",
  alerts: ["ClockInDoubt"],
  how: "set back",
  begin: async () => void (await sql("UPDATE clock_watch SET trusted_until = now() - interval '8 days'")),
  mend: async () => void (await must("clock", "confirm", "--time", new Date().toISOString(), "--reason", "drill"))
})

const LEFT_FREE = 8

export const connectionsLow = ({ hold, sql }: Scene): Fault => {
  const held: Array<() => Promise<void>> = []
  return {
    about: "somebody takes all but a few of the server's connections, until they are closed",
    alerts: ["DatabaseConnectionsLow"],
    how: "real",
    begin: async () => {
      const [row] =
        await sql(`SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - (SELECT sum(numbackends)::int FROM pg_stat_database) AS free`)
      for (let free = Number(row?.["free"]); free > LEFT_FREE; free--) held.push(await hold("SELECT 1"))
    },
    mend: async () => {
      for (const release of held) await release()
    }
  }
}

/** The drill's gateways are told that the database's disk has this size. */
export const DISK = "64MB"
const FILLED_WITH_BYTES = 60_000_000

export const diskFilling = ({ sql }: Scene): Fault => ({
  about: `a table grows until the database takes four fifths of its disk (of ${DISK}), until it is dropped`,
  alerts: ["DatabaseDiskFilling"],
  how: "real",
  begin: async () => {
    await sql("CREATE TABLE ballast (line text)")
    await sql("ALTER TABLE ballast ALTER line SET STORAGE EXTERNAL")
    await sql(`INSERT INTO ballast SELECT repeat('x', 100000) FROM generate_series(1, ${FILLED_WITH_BYTES / 100_000})`)
  },
  mend: async () => void (await sql("DROP TABLE ballast"))
})

const LAG_SECONDS = 60
const WRITE_EVERY_MS = 500

export const standbyFaults = (scene: Scene, standby: Standby, watch: Watch): ReadonlyArray<Fault> => [
  replicationBehind(scene, standby),
  standbyMissing(standby, watch),
  commitsWaiting(scene, standby)
]

const replicationBehind = ({ sql }: Scene, standby: Standby): Fault => {
  let writing: Promise<void> = Promise.resolve()
  const over = new AbortController()
  return {
    about: "a standby receives what is written and does not apply it, until it does",
    alerts: ["ReplicationBehind"],
    how: "real",
    withinSeconds: 2 * LAG_SECONDS,
    begin: async () => {
      await standby.sql("SELECT pg_wal_replay_pause()")
      writing = (async () => {
        while (!over.signal.aborted) {
          await sql("SELECT pg_logical_emit_message(true, 'drill', 'a commit')")
          await pause(WRITE_EVERY_MS)
        }
      })()
    },
    mend: async () => {
      await standby.sql("SELECT pg_wal_replay_resume()")
      over.abort()
      await writing
    }
  }
}

const IN_FLIGHT = 8

/** What became of the requests that were under way when the standby died; for people. */
export const inFlight: Array<string> = []

const standbyMissing = (standby: Standby, { value }: Watch): Fault => ({
  about: "a standby dies that no commit waits for, until it is back",
  alerts: ["StandbyMissing"],
  how: "real",
  begin: async () => {
    // What was never seen is missed by nobody.
    await eventually(
      () => value("max(gateway_database_standbys)"),
      (standbys) => standbys === 1
    )
    await standby.kill()
  },
  mend: standby.start
})

const commitsWaiting = ({ sql, tenant }: Scene, standby: Standby): Fault => ({
  about: "the synchronous standby dies, until it is back",
  alerts: ["CommitsWaiting"],
  how: "real",
  // Scrapes are late while the first commits hang, and the time in which they may be late is shortened as well. Where the status can be read
  // through a connection that does not hang, the missing standby is seen, too.
  beside: ["InternalErrors", "GatewayDown", "DatabaseDown", "StandbyMissing", "NotReady", "DatabaseSlow"],
  begin: async () => {
    const payer = await tenant("waiting", 1_000_000)
    await sql(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`)
    await sql("SELECT pg_reload_conf()")
    await eventually(
      () => sql("SELECT sync_state FROM pg_stat_replication"),
      ([row]) => row?.["sync_state"] === "sync"
    )
    for (let sent = 0; sent < IN_FLIGHT; sent++) {
      const from = performance.now()
      void payer.post("/v1/payouts", payoutOf("1000", 1_000 + sent)).then((answer) => {
        const said = answer === undefined ? "no answer" : `${answer.status} ${answer.body.error?.code ?? ""}`.trimEnd()
        inFlight.push(`${said} after ${((performance.now() - from) / 1000).toFixed(1)} s`)
      })
      await pause(10)
    }
    await standby.kill()
  },
  mend: standby.start
})

/** A server that died has forgotten when it last archived, and counts from its start. */
export const archiveFailing = ({ sql, stage }: Scene): Fault => {
  const restarted = async () => {
    await stage.actors[3].kill()
    await stage.actors[3].start()
  }
  const archivedBy = async (command: string) => {
    await sql(`ALTER SYSTEM SET archive_command = '${command}'`)
    await sql("SELECT pg_reload_conf()")
  }
  return {
    about: "the command that archives the write-ahead log fails, until it does not",
    alerts: ["ArchiveFailing", "ArchiveBehind"],
    how: "real",
    beside: ["InternalErrors", "CommitsWaiting", "DatabaseDown", "StandbyMissing", "NotReady", "DatabaseSlow"],
    begin: async () => {
      await sql("ALTER SYSTEM SET archive_mode = on")
      await sql("ALTER SYSTEM SET archive_timeout = 1")
      await archivedBy("false")
      await restarted()
      await sql("SELECT pg_switch_wal()")
    },
    mend: async () => {
      await archivedBy("true")
      await sql("SELECT pg_switch_wal()")
    },
    after: async () => {
      for (const name of ["archive_mode", "archive_timeout", "archive_command"]) await sql(`ALTER SYSTEM RESET ${name}`)
      await restarted()
    }
  }
}

/** A server of a test that came into use, the only one that such a gateway works with: elsewhere its sessions commit durably, or none is used. */
export const commitsNotDurable = ({ sql, stage }: Scene): Fault => {
  const restarted = async () => {
    await stage.actors[3].kill()
    await stage.actors[3].start()
  }
  return {
    about:
      "a server that is named as one that a test throws away commits before it has written, until it is started as any other",
    alerts: ["CommitsNotDurable"],
    how: "real",
    beside: ["InternalErrors", "CommitsWaiting", "DatabaseDown", "StandbyMissing", "NotReady", "DatabaseSlow"],
    begin: async () => {
      await sql(`ALTER SYSTEM SET cluster_name = '${THROWN_AWAY}'`)
      await sql("DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END$$")
      await restarted()
    },
    mend: async () => {
      await sql("ALTER SYSTEM RESET cluster_name")
      await sql("DO $$BEGIN EXECUTE format('ALTER DATABASE %I RESET synchronous_commit', current_database()); END$$")
      await restarted()
    }
  }
}

/** Ends what the drill's other faults hold. */
export const databaseDown = ({ stage, tenant }: Scene): Fault => ({
  about: "PostgreSQL is killed, until it is started again",
  alerts: ["DatabaseDown"],
  how: "real",
  // Withheld while the database is down, and told afterwards where a request came meanwhile.
  beside: ["InternalErrors", "CommitsWaiting", "NotReady", "DatabaseSlow"],
  begin: async () => {
    const reader = await tenant("unlucky")
    await stage.actors[3].kill()
    await reader.get("/v1/float")
  },
  mend: () => stage.actors[3].start()
})

export const gatewayDown = ({ stage }: Scene): Fault => ({
  about: "a gateway is killed, until it is started again",
  alerts: ["GatewayDown"],
  how: "real",
  begin: () => stage.actors[1].kill(),
  mend: () => stage.actors[1].start()
})
