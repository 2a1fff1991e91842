import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { expect } from "vitest"
import { run as runCommand } from "../../clients/cli/src/Program.ts"
import { Stack, type tenantOn } from "../support/Stack.ts"

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

type Variables = Readonly<Record<string, string | undefined>>

/** Runs one command line in this process, with exactly these environment variables, until it ends or is stopped. */
export const command = (variables: Variables, isTerminal: boolean, ...args: ReadonlyArray<string>) =>
  Effect.promise(async (signal) => {
    const output: Array<string> = []
    const errors: Array<string> = []
    const out = (line: string) => void output.push(line)
    const err = (line: string) => void errors.push(line)
    const code = await runCommand(args, { environment: variables, isTerminal, out, err, signal })
    return { code, output: output.join("\n"), errors: errors.join("\n") }
  })

/** A person at a machine of their own: an empty configuration folder and a tenant's key. */
export const givenPerson = Effect.fnUntraced(function* (tenant: Tenant, mode: string | undefined = tenant.mode) {
  const { gateway } = yield* Stack
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-tenant-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true }))
  )
  const { apiKey, appId, keyId, secret } = tenant.key
  const key = { app_id: appId, key_id: keyId, api_key: apiKey, signing_secret: secret, ...(mode === undefined ? {} : { mode }) }
  const keyFile = join(folder, "key.json")
  yield* Effect.promise(() => writeFile(keyFile, JSON.stringify(key)))
  const variables = { XDG_CONFIG_HOME: folder }
  const run = (...args: ReadonlyArray<string>) => command(variables, false, ...args)
  const result = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args, "--json"), ({ code, errors, output }) => {
      expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" })
      return JSON.parse(output)
    })
  const login = run("login", "--url", gateway.url, "--key", keyFile)
  return { folder, keyFile, variables, run, result, login, gateway }
})
