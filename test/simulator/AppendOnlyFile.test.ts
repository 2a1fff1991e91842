import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAppendOnlyFile } from "../../src/simulator/AppendOnlyFile.ts"

it.live("restricts a file that an older program left readable by others, and keeps its content", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-append-only-file-"))),
      (made) => Effect.promise(() => rm(made, { recursive: true }))
    )
    const file = join(folder, "calls.jsonl")
    yield* Effect.promise(() => writeFile(file, "one\n").then(() => chmod(file, 0o644)))
    const { lines } = yield* openAppendOnlyFile(file, false)
    expect(lines).toEqual(["one"])
    expect((yield* Effect.promise(() => stat(file))).mode & 0o777).toBe(0o600)
  }).pipe(Effect.scoped)
)
