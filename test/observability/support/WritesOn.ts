import { setTimeout as pause } from "node:timers/promises"
import { StandardStreams } from "../../../src/observability/StandardStreams.ts"

// As a gateway does whose log is on a full disk: it writes, waits, and writes again.
StandardStreams.surviveFullDisk(process.stderr)
for (let line = 0; line < 3; line++) {
  console.error(`line ${line}`)
  await pause(5)
}
console.log("still there")
