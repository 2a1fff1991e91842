import { enableCompileCache } from "node:module"

// What did not change since the last time is neither translated nor compiled again: half of a command's time. Only JavaScript can say so:
// one file of TypeScript before it would load the translator, 20 MB that stay in memory.
enableCompileCache()

await import("./main.ts")
