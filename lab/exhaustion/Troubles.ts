import { connect, type Socket } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { readiness, type Trouble } from "./Judged.ts"

// Troubles, one after the other. Each begins with a whole system, and has mended what it did when it ends.

const MEGABYTE = 1024 * 1024

/** The database's disk has no room for half a minute: neither for tables nor for the log of what was written. */
const FULL_MS = 30_000
const FILLED_EVERY_MS = 500
/** By then each gateway says that it gets no requests. */
const NOTICED_WITHIN_MS = 8_000

const databaseFull: Trouble = {
  name: "database disk full",
  play: async ({ disk, server, stage }) => {
    const from = server.said().length
    await disk.fill()
    const began = performance.now()
    const passed = () => performance.now() - began
    const ready: Array<string> = []
    while (passed() < FULL_MS) {
      await disk.fill()
      for (const { url } of stage.managements) {
        const { status } = await readiness(url)
        if (passed() > NOTICED_WITHIN_MS && status === 200) ready.push(`${url} said ${status} after ${Math.round(passed())} ms`)
      }
      await pause(FILLED_EVERY_MS)
    }
    const wasUp = await server.isUp()
    await disk.empty()
    const said = server.said(from)
    return {
      figures: { was_up: wasUp, no_space: count(said, /No space left on device/g), panics: count(said, /PANIC:/g) },
      faults: ready
    }
  }
}

const stall = (seconds: number): Trouble => ({
  name: `database disk stalled ${seconds} s`,
  play: async ({ disk }) => {
    await disk.stall(seconds)
    return { figures: {}, faults: [] }
  }
})

const LOG_FULL_MS = 20_000
const LOOKS = 20

const logFull: Trouble = {
  name: "log disk full",
  play: async ({ log, logDisk }) => {
    const limit = performance.now() + LOG_FULL_MS
    while (performance.now() < limit) {
      await logDisk.fill()
      await pause(FILLED_EVERY_MS)
    }
    await logDisk.empty()
    const counts = () => [...log().matchAll(/the log could not be written for a while[^\n]*"lines":(\d+)/g)]
    for (let look = 0; counts().length === 0 && look < LOOKS; look++) await pause(FILLED_EVERY_MS)
    const lines = counts().reduce((sum, [, count]) => sum + Number(count), 0)
    return { figures: { lines_lost: lines }, faults: lines === 0 ? ["the log does not say what it lost"] : [] }
  }
}

const UNREAD_MS = 20_000

const logUnread: Trouble = {
  name: "log unread",
  play: async ({ reader, stage }, { crowd }) => {
    const [, second] = stage.gateways
    const [, management] = stage.managements
    reader.stop()
    try {
      // Enough lines to fill any pipe.
      await crowd(20, second, UNREAD_MS)
      const { status } = await readiness(management.url)
      return { figures: { readyz: status }, faults: status === 200 ? [] : [`/readyz said ${status} while nobody read the log`] }
    } finally {
      reader.go()
    }
  }
}

const FAILS_MS = 5_000
const BACK_BY_ITSELF_MS = 20_000

const writeErrors: Trouble = {
  name: "write errors",
  play: async ({ server }) => {
    const from = server.said().length
    for (const what of ["writes", "syncs"] as const) {
      await server.fail(what)
      await pause(FAILS_MS)
      await server.fail(null)
      await pause(FAILS_MS)
    }
    // Where its own recovery met the error, PostgreSQL 18.4 was seen to wait for ever: a person restarts it (docs/runbooks/database-down.md).
    const isByHand = !(await server.answers(BACK_BY_ITSELF_MS))
    if (isByHand) await server.crash()
    server.begin()
    const said = server.said(from)
    return {
      figures: { errors: count(said, /Input\/output error/g), panics: count(said, /PANIC:/g), restarted_by_hand: isByHand },
      faults: /Input\/output error/.test(said) ? [] : ["no write failed"]
    }
  }
}

const MEMORY_BOUND = 512 * MEGABYTE
const USUAL_MS = 10_000
const CROWD_MS = 30_000
const CROWD = 400

const memory: Trouble = {
  name: "memory",
  endsGateways: true,
  play: async (scene, { asked, crowd }) => {
    const usual = asked()
    await pause(USUAL_MS)
    const usualRate = (asked() - usual) / (USUAL_MS / 1000)
    await scene.limitMemory(MEMORY_BOUND)
    const sent = await crowd(CROWD, scene.stage.gateways[0], CROWD_MS)
    const { met, mostBytes } = scene.memory()
    await scene.limitMemory(null)
    const rate = sent / (CROWD_MS / 1000)
    return {
      figures: {
        usual_requests_a_second: Math.round(usualRate),
        requests_a_second: Math.round(rate),
        most_megabytes: Math.round(mostBytes / MEGABYTE),
        bound_met: met
      },
      faults: []
    }
  }
}

const HANDLES_MS = 20_000
/** So many more than it has. */
const HANDLES_LEFT = 4
const HANDLES_AT_FIRST = 16_384

const handles: Trouble = {
  name: "file handles",
  play: async ({ gateways: [one], stage }, { crowd }) => {
    const open = await one.handles()
    await one.limitHandles(open + HANDLES_LEFT)
    try {
      await crowd(30, stage.gateways[0], HANDLES_MS)
      return { figures: { open, bound: open + HANDLES_LEFT, most: await one.handles() }, faults: [] }
    } finally {
      await one.limitHandles(HANDLES_AT_FIRST)
    }
  }
}

const CONNECTIONS = 10_000
const A_SOURCE = 1_000
const IDLE_MS = 20_000

const connections: Trouble = {
  name: "connections",
  play: async ({ gateways: [one], stage }, { crowd }) => {
    const [first] = stage.gateways
    const sockets: Array<Socket> = []
    let closed = 0
    try {
      for (let made = 0; made < CONNECTIONS; made++) {
        const port = Number(new URL(first.url).port)
        const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.1.${1 + Math.floor(made / A_SOURCE)}` })
        socket.on("error", () => undefined).once("close", () => closed++)
        // Some ask, a byte at a time, and never to an end.
        if (made % 2 === 0) socket.once("connect", () => socket.write("POST /v1/payouts HTTP/1.1\r\nHost: "))
        sockets.push(socket)
        if (made % 100 === 0) await pause(10)
      }
      const sent = await crowd(5, first, IDLE_MS)
      return { figures: { connections: CONNECTIONS, handles: await one.handles(), closed, sent_meanwhile: sent }, faults: [] }
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  }
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

export const troubles: Readonly<Record<string, Trouble>> = {
  full: databaseFull,
  "stall-5": stall(5),
  "stall-60": stall(60),
  "log-full": logFull,
  "log-unread": logUnread,
  "write-errors": writeErrors,
  memory,
  handles,
  connections
}
