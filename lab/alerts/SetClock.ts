import { readFileSync } from "node:fs"

// Loaded before a gateway of the drill (NODE_OPTIONS): its time of day is off by as many milliseconds as a file says, as on a machine whose clock
// somebody sets. What passes and what is slept stays as it is.

const LOOKED_EVERY_MS = 200

const file = process.env["CLOCK_OFF_FILE"]
const right = Date.now
let offMs = 0

const look = () => {
  try {
    offMs = Number(readFileSync(file ?? "", "utf8")) || 0
  } catch {
    offMs = 0
  }
}

if (file !== undefined) {
  Date.now = () => right() + offMs
  setInterval(look, LOOKED_EVERY_MS).unref()
}
