import { spawnSync } from "node:child_process"
import { it } from "vitest"
import { citusUrl } from "./CitusDatabase.ts"

/** `it` where the program is on this machine; elsewhere the test is skipped and counted. The one place that may skip a test. */
export const itWith = (program: string, ...args: ReadonlyArray<string>): ReturnType<typeof it.skipIf> =>
  it.skipIf(spawnSync(program, args, { stdio: "ignore" }).status !== 0)

/** `it` on a cluster (docs/testing.md); elsewhere the test is skipped and counted. */
export const itOnCitus: ReturnType<typeof it.skipIf> = it.skipIf(citusUrl === undefined)
