import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/Postgres.ts"],
    pool: "forks",
    // One more than the cores that it has to do with: many tests wait for something.
    maxWorkers: 3,
    fileParallelism: true,
    testTimeout: 30_000,
    hookTimeout: 60_000
  }
})
