import { defineConfig } from "vitest/config"

const { MUTATION_TESTS = "test/domain" } = process.env
const include = MUTATION_TESTS.split(",").map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`))

/** The tests that one part of the mutation run is judged by, one after another in one process. */
export default defineConfig({
  test: {
    globalSetup: ["test/support/Postgres.ts"],
    setupFiles: ["test/support/PropertySeed.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    include
  }
})
