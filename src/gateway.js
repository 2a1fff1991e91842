import { enableCompileCache } from "node:module"

// Node opens its debugger at this signal, and whoever reaches that reads every secret in memory. `--disable-sigusr1` says the same to Node 22.14 and
// newer from its first instant on; this holds however the program is started.
process.on("SIGUSR1", () => undefined)

// What did not change since the last time is neither translated nor compiled again: half of a command's time. Only JavaScript can say so:
// one file of TypeScript before it would load the translator, 20 MB that stay in memory.
enableCompileCache()

// A tenant's commands are a package of their own, which needs none of the gateway.
const tenantCommands = ["login", "payout", "collection", "listen", "trigger"]
const command = process.argv.slice(2).find((word) => !word.startsWith("-"))
await import(tenantCommands.includes(command ?? "") ? "../clients/cli/src/main.ts" : "./main.ts")
