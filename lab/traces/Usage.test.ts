import { execFile } from "node:child_process"
import { resolve } from "node:path"
import { expect, it } from "vitest"

const run = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: unknown; readonly out: string; readonly errors: string }>((done) =>
    execFile(process.execPath, [resolve(import.meta.dirname, "main.ts"), ...args], { timeout: 300_000 }, (error, out, errors) =>
      done({ code: error === null ? 0 : error.code, out, errors })
    )
  )

it("npm run traces says how it is called: asked for on standard output, and behind a mistake on standard error", async () => {
  expect(await run("--help")).toEqual({ code: 0, out: expect.stringMatching(/^usage: npm run traces -- /), errors: "" })
  const mistaken = await run("--refrence", "R")
  expect(mistaken).toMatchObject({ code: 2, out: "" })
  expect(mistaken.errors).toMatch(/--refrence[^]*\nusage: npm run traces -- /)
  expect(mistaken.errors).not.toContain("at parseArgs")
})
