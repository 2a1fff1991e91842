import { relative } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const TESTS = ["test/**/*.test.ts", "lab/**/*.test.ts"]
/** Tests that replace a module, listen to the console or read what the whole process counts: each has a process of its own. */
const ISOLATED = ["test/**/*Isolated.test.ts", "lab/**/*Isolated.test.ts"]
/**
 * Tests of `npm run test:long`. The name says so where one waits for other programs (browsers, proxies, Prometheus, compilers, processes,
 * a disk), plays for long (laboratories, stories, crowds), or holds one rule against everything (every ending at every provider). Rules of
 * money, of signing, of idempotency and of routing are never such.
 */
const LONG = ["test/**/*.long.test.ts", "lab/**/*.long.test.ts"]

/** What takes the longest, so that none of them is left alone at the end. */
const first = [
  "test/commands/Demo.long.test.ts",
  "lab/hostile/gateway/HostileGateway.long.test.ts",
  "test/console/Browser.long.test.ts",
  "test/deploy/BehindProxies.long.test.ts",
  "lab/releases/MixedReleases.long.test.ts",
  "lab/hostile/HostileWire.long.test.ts",
  "test/scenarios/payouts/EveryProviderEndings.long.test.ts",
  "test/scenarios/failures/Pressure.long.test.ts",
  "test/commands/Start.long.test.ts",
  "test/providers/contract/Contract.test.ts",
  "test/scenarios/failures/CrashPoints.test.ts",
  "test/scenarios/payouts/EveryProvider.test.ts",
  "test/scenarios/collections/CollectionEndings.test.ts",
  "test/scenarios/payouts/PayoutEndings.test.ts",
  "test/scenarios/collections/TakenBack.test.ts",
  "test/scenarios/routing/FailoverCrashes.test.ts",
  "test/persistence/ledger/MoneySteps.test.ts",
  "lab/simulation/ShortStories.test.ts"
]

class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      if (project.name === "isolated") return -1
      const at = first.indexOf(relative(import.meta.dirname, moduleId))
      return at < 0 ? first.length : at
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

const bounds = {
  // For what never comes; a machine that does much else takes ten times as long for what does.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  setupFiles: ["test/support/PropertySeed.ts", "test/support/SentStatements.ts"],
  // Node loads the modules as it does for a gateway, and shares what it has compiled with those that the tests start.
  experimental: { viteModuleRunner: process.features.typescript === false }
}

export default defineConfig({
  test: {
    globalSetup: ["test/support/Postgres.ts"],
    pool: "forks",
    // One more than the cores that it has to do with: many tests wait for something, and what waits for a processor runs into time limits.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    silent: "passed-only",
    projects: [
      { test: { ...bounds, name: "isolated", include: ISOLATED } },
      // Files of one process, one after another, share the modules that it has loaded: loading them for each is a third of the run.
      { test: { ...bounds, name: "together", include: TESTS, exclude: [...ISOLATED, ...LONG], isolate: false } },
      { test: { ...bounds, name: "long", include: LONG } }
    ]
  }
})
