import { globSync } from "node:fs"
import { defineConfig } from "vitest/config"

const { MUTATION_TESTS = "test/domain" } = process.env
const include = MUTATION_TESTS.split(",").map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`))

/** The tests that one part of the mutation run is judged by, one after another in one process. */
export default defineConfig({
  test: {
    globalSetup: ["test/support/Postgres.ts"],
    setupFiles: ["test/support/PropertySeed.ts"],
    // To load everything again for each file is most of the time that a mutant takes.
    isolate: globSync(include).some((file) => file.endsWith("Isolated.test.ts")),
    // A mutant that hangs is ended by Stryker, which knows how long its tests took; a test of a busy machine is not.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    include
  }
})
