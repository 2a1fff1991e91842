import { readFileSync } from "node:fs"
import { bugs } from "./Bugs.ts"

for (const b of bugs)
  for (const e of b.edits) {
    const n = readFileSync(process.argv[2] + "/" + e.file, "utf8").split(e.text).length - 1
    if (n !== 1) console.log(b.name, e.file, n)
  }
console.log(bugs.length, "bugs checked")
