#!/usr/bin/env node
import process from "node:process"
import { run } from "./Program.ts"

const stop = new AbortController()
// The second one ends the process at once, should putting things back take too long.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => stop.abort())
// A reader that has gone, as `head` goes, stops the command as well: it puts back what it has borrowed.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => stop.abort())

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  isTerminal: process.stdout.isTTY,
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  ...(process.stderr.isTTY ? { overwrite: (text: string) => void process.stderr.write(`\r\u001b[2K${text}`) } : {}),
  signal: stop.signal
})
