import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { expect } from "vitest"
import { Stack, type tenantOn } from "../support/Stack.ts"
import { gateway as command } from "./Gateway.ts"

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

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
  const run = (...args: ReadonlyArray<string>) => command(variables, ...args)
  const result = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args, "--json"), ({ code, errors, output }) => {
      expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" })
      return JSON.parse(output)
    })
  const login = run("login", "--url", gateway.url, "--key", keyFile)
  return { folder, keyFile, variables, run, result, login, gateway }
})
